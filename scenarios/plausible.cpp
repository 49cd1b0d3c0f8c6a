#include "scenarios/plausible.hpp"

#include <fmt/format.h>

#include "scenarios/contradictions.hpp"
#include "scenarios/description/quantity.hpp"

namespace spillway::scenarios {

using description::Bytes;
using description::BytesPerSecond;
using description::Complaint;

namespace {

constexpr double MB = 1e6, TB = 1e12, TiB = 1ull << 40;

/// Counts that are refused above, by the path of their knob.
constexpr std::pair<std::string_view, std::uint64_t> largest_counts[] = {
    {"machine.nodes", 100'000},           {"machine.gpu.count", 1024},
    {"machine.storage.NAME.count", 1000}, {"training.micro_batch", 100'000},
    {"training.sequence", 16ull << 20},   {"training.gradient_accumulation", 100'000},
    {"run.warmup_steps", 1000},
};

/// The complaints about one scenario. Lower ends leave room for machines that are played slowly.
class Ranges {
 public:
  explicit Ranges(const LocatedJson& written) : written_(written) {}

  /// 0 stands for what a machine has not, or has without limit.
  template <class Q>
  void quantity(const std::string& path, Q value, double least, double most) {
    const auto number = static_cast<double>(value.value());
    if (number == 0 || (number >= least && number <= most)) return;
    using Rep = typename Q::rep;
    complain(path, description::to_text(value),
             fmt::format("between {} and {}", description::to_text(Q(static_cast<Rep>(least))),
                         description::to_text(Q(static_cast<Rep>(most)))));
  }
  void count(const std::string& path, std::uint64_t value, std::uint64_t most) {
    if (value > most) complain(path, std::to_string(value), fmt::format("at most {}", most));
  }
  std::vector<Complaint> take() { return std::move(complaints_); }

 private:
  void complain(const std::string& path, const std::string& value, const std::string& range) {
    complaints_.push_back(
        placed_in(written_, {"", 0, 0, path, value + " is beyond what exists",
                             "write " + range + "; a unit or a zero may have slipped"}));
  }
  const LocatedJson& written_;
  std::vector<Complaint> complaints_;
};

void check_machine(const description::MachineFile& machine, Ranges& ranges) {
  ranges.count("machine.nodes", machine.nodes, *largest_count("machine.nodes"));
  ranges.count("machine.gpu.count", machine.gpu.count, *largest_count("machine.gpu.count"));
  ranges.quantity("machine.gpu.memory", machine.gpu.memory, MB, 4 * TiB);
  ranges.quantity("machine.gpu.memory_rate", machine.gpu.memory_rate, MB, 200 * TB);
  for (const auto& [type, rate] : machine.gpu.compute)
    ranges.quantity("machine.gpu.compute." + type, rate, 1e6, 1e17);
  const description::PcieSpec& pcie = machine.pcie;
  ranges.quantity("machine.pcie.h2d", pcie.h2d, MB / 10, 10 * TB);
  ranges.quantity("machine.pcie.d2h", pcie.d2h, MB / 10, 10 * TB);
  ranges.quantity("machine.host.memory", machine.host.memory, MB, 256 * TiB);
  ranges.quantity("machine.host.memory_rate", machine.host.memory_rate, MB, 100 * TB);
  ranges.quantity("machine.host.adam", machine.host.adam, 1e3, 1e13);
  for (const description::StorageSpec& storage : machine.storage) {
    const std::string path = "machine.storage." + storage.name + ".";
    ranges.count(path + "count", storage.count, *largest_count("machine.storage.NAME.count"));
    ranges.quantity(path + "read", storage.read, MB / 100, 10 * TB);
    ranges.quantity(path + "write", storage.write, MB / 100, 10 * TB);
    if (storage.kind == description::StorageKind::ssd)
      ranges.quantity(path + "capacity", storage.capacity, MB, 2000 * TB);
  }
}

}  // namespace

std::optional<std::uint64_t> largest_count(std::string_view knob) {
  for (const auto& [path, most] : largest_counts)
    if (path == knob) return most;
  return std::nullopt;
}

std::vector<Complaint> implausible(const description::Scenario& scenario,
                                   const LocatedJson& written) {
  Ranges ranges(written);
  check_machine(scenario.machine, ranges);
  const description::Training& training = scenario.training;
  const std::pair<const char*, std::uint64_t> counts[] = {
      {"training.micro_batch", training.micro_batch},
      {"training.sequence", training.sequence},
      {"training.gradient_accumulation", training.gradient_accumulation},
      {"run.warmup_steps", scenario.run.warmup_steps}};
  for (const auto& [path, value] : counts) ranges.count(path, value, *largest_count(path));
  if (scenario.model.is_object())
    for (const char* key : {"num_hidden_layers", "n_layer", "num_layers"})
      if (scenario.model.contains(key) && scenario.model[key].is_number_unsigned())
        ranges.count(std::string("model.") + key, scenario.model[key].get<std::uint64_t>(), 2000);
  return ranges.take();
}

}  // namespace spillway::scenarios
