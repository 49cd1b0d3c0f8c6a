#pragma once

#include "scenarios/evidence/evidence.hpp"

namespace spillway::evidence {

/// A program that nvidia-smi lists beside the memory of a card.
struct GpuProcess {
  std::string name;             ///< "Xorg": without folder and arguments
  bool draws = false;           ///< of type G or C+G; others compute only
  std::optional<double> bytes;  ///< none: the driver does not say, as on Windows
};

/// Memory of one card when its file was written.
struct GpuMemory {
  std::string card;                             ///< "NVIDIA GeForce RTX 4090"
  std::string bus;                              ///< as nvidia-smi writes it; "": not said
  std::optional<double> total, reserved, used;  ///< bytes; the driver keeps `reserved` of `total`
  bool has_display = false;                     ///< a screen shows what lies in it
  std::vector<GpuProcess> processes;

  /// A desktop has some of it: a screen is on, or a program that draws is listed.
  bool serves_desktop() const;
  /// What a desktop holds, which stays so while a training runs: all that is in use but what
  /// processes that compute hold, since the list leaves out some of a desktop's memory. Where one
  /// of those has no number, what programs that draw hold by the list; 0: no desktop.
  ///   Source  nvidia-smi(1): Used is what active contexts have allocated, Type "C", "G" or "C+G"
  double held_by_desktop() const;
};

/// "Xorg" of "/usr/lib/xorg/Xorg :0" and "explorer.exe" of "C:\Windows\explorer.exe".
std::string program_name(std::string_view path);

/// What a machine file has of the cards' memory: of the smallest, and reserved of the one that has
/// most reserved or held by a desktop. Memory of processes that compute is named and not counted:
/// they may be over when a training starts.
void put_memory(const std::vector<GpuMemory>& cards, Evidence& into);

}  // namespace spillway::evidence
