#pragma once

#include "reports/text/text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What people have measured or logged already, read into numbers of a machine file and of runs.
namespace spillway::evidence {

/// A number of a machine file that a file tells.
struct Reading {
  std::string path;  ///< "pcie.h2d"; of a drive without its storage's name: "storage.read"
  std::string unit;  ///< bytes bytes_per_s flops_per_s s share count
  double value = 0;
  std::string how;             ///< what was measured: "randread of 1 MiB, 4 jobs of depth 32"
  std::uint64_t together = 1;  ///< drives of one storage that did so at the same time, each
};

/// What fio measured of writes alone. A drive that writes its first bytes faster, to a cache, was
/// slower from some byte on: then the rate is a mean.
struct TimedWrites {
  double rate = 0;                                 ///< bytes per second of one drive
  double seconds = 0;                              ///< 0: the file does not say
  double before_s = 0;                             ///< that it wrote already, and nobody counted
  std::string how;                                 ///< as Reading::how
  std::uint64_t together = 1;                      ///< as Reading::together
  double bytes() const { return rate * seconds; }  ///< to one drive
};

/// Bytes per second and lane, each way, of PCI Express from its first generation on: transfers by
/// their encoding. Nothing of a generation that is not known.
///   Source  PCI-SIG, PCI Express Base Specification 6.0: 8b/10b to the second, 128b/130b to the
///           fifth, flits (242 of 256 bytes) of the sixth
std::optional<double> rate_of_lane(double generation);

/// Hardware that does less than it is rated for.
struct Shortfall {
  std::string what;  ///< "PCI Express lanes of NVIDIA GeForce RTX 4090"
  std::string unit;  ///< as Reading::unit, or W, MT/s
  double rated = 0, found = 0;
  std::string remedy;  ///< what a person can look at
};

/// The link of a card with fewer lanes, or of an older generation, than the card could have.
struct NarrowLink {
  std::string why;             ///< "8 of 16 PCI Express lanes of NVIDIA GeForce RTX 4090"
  double share = 1;            ///< what it carries, of the link that the card could have
  std::optional<double> most;  ///< bytes per second, each way; of a known generation
};

/// What the driver lets cards draw: of several the mean.
struct PowerLimit {
  double watts = 0;
  double usual = 0;   ///< watts without a setting of the user's
  std::string cards;  ///< "2 x NVIDIA GeForce RTX 4090"
  std::string how;    ///< as Reading::how
};

/// What an NVMe drive says of itself.
struct DriveWear {
  std::string model;            ///< "" where the file does not say
  double bytes_written = 0;     ///< by the host, since the drive was made
  unsigned percent_used = 0;    ///< of its endurance, whole percent; 255 stands for all above 254
  std::optional<double> hours;  ///< powered on
};

/// Steps of one training, as its program logged them. Medians, where a number was logged often.
struct LoggedRun {
  std::string program;                  ///< "DeepSpeed"
  std::uint64_t logged = 0;             ///< steps, or lines about some, that were read
  std::optional<double> step_s;         ///< a step of all micro-batches
  std::optional<double> samples_per_s;  ///< of all ranks
  std::optional<double> tokens_per_s;   ///< of all ranks
  std::optional<double> samples_per_s_of_rank, tokens_per_s_of_rank;  ///< of one GPU
  std::optional<double> gpu_bytes;   ///< most that one GPU's allocator gave out
  std::optional<double> host_bytes;  ///< most that the node used, all programs together
  std::vector<std::pair<std::string, double>> phases_s;  ///< as the program names them
  /// From one step to the next by the times at which its lines were written: with data loading and
  /// all else that the program's rates and timers leave out.
  std::optional<double> stamped_step_s;
  std::optional<double> batch;         ///< samples of a step, of all ranks
  std::optional<double> micro_batch;   ///< samples that a GPU takes at once
  std::optional<double> accumulation;  ///< micro-batches of a step
  /// Shares by which step_s and samples_per_s may be off, since the program rounds what it prints.
  double step_rounding = 0, samples_rounding = 0;
};

/// One file.
struct Evidence {
  std::string file;
  std::string kind;     ///< what it is: "fio 3.33"
  std::string storage;  ///< of the machine file, that a person named with it; "": none
  std::vector<Reading> readings;
  std::vector<TimedWrites> writes;  ///< of fio: all that "storage.write" is the fastest of
  double mixed_bytes = 0;  ///< of fio: the most that a mix of reads and writes wrote to a drive
  std::vector<Shortfall> shortfalls;
  std::optional<NarrowLink> link;  ///< of several cards the one that carries least
  std::optional<PowerLimit> power;
  std::vector<LoggedRun> runs;
  std::optional<DriveWear> drive;
  std::vector<text::Text> notes;  ///< what it says and no number follows from, and why
  std::string card;               ///< what the driver calls the GPUs, if all are alike
};

/// Reads `written`: a path, or "STORAGE=path", which says of which storage of the machine file it
/// is. Known are
///   fio (JSON, with or without lines of text around it), smartctl and nvme smart-log (JSON, text),
///   nvidia-smi -q (text, XML), lscpu (text, JSON), dmidecode -t memory, hwloc's XML, logs of
///   DeepSpeed and Megatron-LM, trainer_state.json and output of Hugging Face's Trainer, traces of
///   PyTorch's profiler, tables (CSV) of runs
///   Throws  ScenarioError: one line that says what the file is instead, or what misses in it
Evidence read_evidence(const std::string& written);

}  // namespace spillway::evidence
