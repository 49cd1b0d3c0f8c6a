#include "scenarios/evidence/gpu_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

namespace spillway::evidence {

namespace {

using text::filled;

text::Text memory_words(double bytes) {
  return text::memory(static_cast<std::uint64_t>(bytes), text::Origin::measured);
}

/// What listed processes that draw, or that compute, hold together.
double listed(const GpuMemory& card, bool draws) {
  double sum = 0;
  for (const GpuProcess& one : card.processes)
    if (one.draws == draws) sum += one.bytes.value_or(0);
  return sum;
}

bool has_silent_computing(const GpuMemory& card) {
  return std::any_of(card.processes.begin(), card.processes.end(),
                     [](const GpuProcess& one) { return !one.draws && !one.bytes; });
}

/// What nobody but the driver can have again while a training runs.
double taken(const GpuMemory& card) { return card.reserved.value_or(0) + card.held_by_desktop(); }

/// "Xorg 1.46 GiB, gnome-shell 210 MiB and 2 more": the largest first, and what the list misses.
text::Text holders(const GpuMemory& card) {
  std::vector<GpuProcess> drawing;
  for (const GpuProcess& one : card.processes)
    if (one.draws) drawing.push_back(one);
  std::stable_sort(drawing.begin(), drawing.end(), [](const auto& one, const auto& other) {
    return one.bytes.value_or(0) > other.bytes.value_or(0);
  });
  constexpr std::size_t most_named = 3;
  text::Text words;
  for (std::size_t i = 0; i < std::min(most_named, drawing.size()); ++i) {
    words += (i > 0 ? ", " : "") + drawing[i].name;
    if (drawing[i].bytes) words += filled(" {}", {memory_words(*drawing[i].bytes)});
  }
  if (drawing.size() > most_named)
    words += fmt::format(" and {} more", drawing.size() - most_named);
  if (drawing.empty()) return "a screen is on, and no program that draws is listed";
  const double rest = card.held_by_desktop() - listed(card, true);
  if (rest > 0 && listed(card, true) > 0)
    words += filled("; {} more are in use and belong to no process that is listed",
                    {memory_words(rest)});
  return words;
}

/// Names the desktop that is counted, and how a training can have its memory.
text::Text desktop_note(const GpuMemory& card, std::size_t cards) {
  text::Text words =
      filled("a desktop holds {} of {}", {memory_words(card.held_by_desktop()), card.card});
  if (cards > 1)
    words += fmt::format("{}{}, the most of {} cards, and a machine file has one reserve for all",
                         card.bus.empty() ? "" : " at ", card.bus, cards);
  words += filled(
      " ({}): it stays held while a training runs, so gpu.reserve has it beside what the driver "
      "keeps. A training gets it where nothing draws on this card: without a desktop (Linux: sudo "
      "systemctl isolate multi-user.target), or with the screen at another card or at the "
      "processor's own graphics; then calibrate again",
      {holders(card)});
  return words;
}

/// A desktop of which the file does not tell what it holds.
text::Text unknown_desktop_note(const GpuMemory& card) {
  return filled(
      "a desktop draws on {}, and how much of its memory that holds does not follow from the file: "
      "nothing is counted for it; close what computes there and calibrate again, or write what "
      "stays held as gpu.reserve",
      {card.card});
}

/// Names what is in use and not counted.
void note_computing(const std::vector<GpuMemory>& cards, Evidence& into) {
  constexpr double context = 256.0 * (1 << 20);  // less is no context of a program
  std::vector<std::string> names;
  double held = 0, unlisted = 0;
  bool is_silent = false;
  for (const GpuMemory& card : cards) {
    for (const GpuProcess& one : card.processes)
      if (!one.draws && std::find(names.begin(), names.end(), one.name) == names.end())
        names.push_back(one.name);
    held += listed(card, false);
    is_silent |= has_silent_computing(card);
    if (!card.serves_desktop() && card.reserved && card.used)
      unlisted = std::max(unlisted, *card.used - listed(card, false));
  }
  if (held > 0)
    into.notes.push_back(filled(
        "processes that compute held {} of GPU memory when the file was written ({}): not counted, "
        "as they may be over when a training starts; while they run it has so much less",
        {memory_words(held), fmt::format("{}", fmt::join(names, ", "))}));
  else if (is_silent)
    into.notes.push_back(fmt::format(
        "processes computed on the GPU when the file was written ({}), and the file does not say "
        "how much memory they held: not counted, as they may be over when a training starts",
        fmt::join(names, ", ")));
  else if (unlisted >= context)
    into.notes.push_back(filled(
        "{} of a card's memory were in use, and neither a process nor a screen is listed with them "
        "(inside a container nvidia-smi lists no processes): not counted; while they are in "
        "use a training has so much less",
        {memory_words(unlisted)}));
}

}  // namespace

bool GpuMemory::serves_desktop() const {
  return has_display || std::any_of(processes.begin(), processes.end(),
                                    [](const GpuProcess& one) { return one.draws; });
}

double GpuMemory::held_by_desktop() const {
  if (!serves_desktop()) return 0;
  const double drawing = listed(*this, true);
  if (!used || has_silent_computing(*this)) return drawing;
  return std::max(drawing, *used - listed(*this, false));
}

std::string program_name(std::string_view path) {
  if (path.starts_with('[')) return std::string(path);  // "[Insufficient Permissions]"
  if (const std::size_t folder = path.rfind('\\'); folder != std::string_view::npos)
    return std::string(path.substr(folder + 1));
  path = path.substr(0, path.find(' '));
  return std::string(path.substr(path.rfind('/') + 1));
}

void put_memory(const std::vector<GpuMemory>& cards, Evidence& into) {
  std::optional<double> total;
  const GpuMemory* fullest = nullptr;
  for (const GpuMemory& card : cards) {
    if (card.total) total = std::min(total.value_or(*card.total), *card.total);
    if (!card.reserved && card.held_by_desktop() == 0) continue;
    if (!fullest || taken(card) > taken(*fullest)) fullest = &card;
  }
  if (total) into.readings.push_back({"gpu.memory", "bytes", *total, "what the driver gives out"});
  if (fullest) {
    const double held = fullest->held_by_desktop();
    std::string how = "what the driver keeps of it";
    if (held > 0) how += words(filled(" and a desktop holds, {}", {memory_words(held)}));
    into.readings.push_back({"gpu.reserve", "bytes", taken(*fullest), how});
    if (held > 0) into.notes.push_back(desktop_note(*fullest, cards.size()));
  }
  const auto silent = std::find_if(cards.begin(), cards.end(), [](const GpuMemory& card) {
    return card.serves_desktop() && card.held_by_desktop() == 0;
  });
  if (silent != cards.end()) into.notes.push_back(unknown_desktop_note(*silent));
  note_computing(cards, into);
}

}  // namespace spillway::evidence
