#include "gui/model/knob.hpp"

#include "reports/words/human.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace spillway::gui {

namespace {

// Cards as boards take them, memory and drives as they are sold, the rest in powers of two.
constexpr std::array card_counts = {1, 2, 4, 8};
constexpr std::array memory_sizes = {8,   16,  24,  32,  48,   64,   96,   128,  192,
                                     256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};
constexpr std::array drive_counts = {0, 1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::array contexts = {256,   512,   1024,   2048,   4096,   8192,   16384,
                                 32768, 65536, 131072, 262144, 524288, 1048576};
constexpr std::array batches = {1, 2, 4, 8, 16, 32, 64, 128};

std::string counted(std::uint64_t count, const char* what) {
  return reports::human_count(count) + " " + what + (count == 1 ? "" : "s");
}

void set_cards(Question& question, std::uint64_t count) {
  if (question.data * question.tensor * question.pipeline == question.box.gpus &&
      question.tensor * question.pipeline == 1)
    question.data = count;
  question.box.gpus = count;
}

constexpr Knob all[] = {
    {"memory", "Host memory", memory_sizes, true, false, true, false,
     [](const Question& q) { return q.box.memory_gib; },
     [](Question& q, std::uint64_t value) { q.box.memory_gib = value; },
     [](std::uint64_t value) { return reports::human_count(value) + " GiB"; }},
    {"gpus", "Cards", card_counts, true, true, true, false,
     [](const Question& q) { return q.box.gpus; }, set_cards,
     [](std::uint64_t value) { return counted(value, "card"); }},
    {"drives", "Drives", drive_counts, true, false, true, false,
     [](const Question& q) { return q.box.drives; },
     [](Question& q, std::uint64_t value) { q.box.drives = value; },
     [](std::uint64_t value) { return counted(value, "drive"); }},
    {"sequence", "Context", contexts, false, false, false, false,
     [](const Question& q) { return q.sequence; },
     [](Question& q, std::uint64_t value) { q.sequence = value; },
     [](std::uint64_t value) { return reports::human_count(value); }},
    {"micro_batch", "Micro-batch", batches, false, false, false, true,
     [](const Question& q) { return q.micro_batch; },
     [](Question& q, std::uint64_t value) { q.micro_batch = value; },
     [](std::uint64_t value) { return reports::human_count(value); }},
    {"accumulation", "Gradient accumulation", batches, false, false, false, true,
     [](const Question& q) { return q.gradient_accumulation; },
     [](Question& q, std::uint64_t value) { q.gradient_accumulation = value; },
     [](std::uint64_t value) { return reports::human_count(value); }},
};

}  // namespace

bool Knob::open_in(const Question& question) const {
  const bool of_parts = question.machine.empty() && question.machine_file.is_null();
  return (!of_box || of_parts) && !(searched && question.searches());
}

int Knob::nearest(std::uint64_t value) const {
  const auto distance = [&](int step) {  // none of something is half of one
    return std::abs(std::log2(std::max(0.5, static_cast<double>(step)) /
                              std::max(0.5, static_cast<double>(value))));
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (distance(steps[i]) < distance(steps[best])) best = i;
  return static_cast<int>(best);
}

int Knob::beside(std::uint64_t value, bool above) const {
  const auto at = static_cast<std::int64_t>(value);
  if (above) {
    const auto next = std::upper_bound(steps.begin(), steps.end(), at);
    return next == steps.end() ? std::max(static_cast<int>(at), steps.back()) : *next;
  }
  const auto not_below = std::lower_bound(steps.begin(), steps.end(), at);
  return not_below == steps.begin() ? std::min(static_cast<int>(at), steps.front())
                                    : *std::prev(not_below);
}

std::span<const Knob> knobs() { return all; }

const Knob& knob(const char* field) {
  const auto found = std::find_if(std::begin(all), std::end(all), [&](const Knob& one) {
    return std::strcmp(one.field, field) == 0;
  });
  return *found;
}

}  // namespace spillway::gui
