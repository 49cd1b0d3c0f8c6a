#include "strategies/run/memory_summary.hpp"

#include "reports/result/control.hpp"
#include "strategies/run/reserves.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using description::Bytes;

class MemorySummary {
 public:
  MemorySummary(Machine& machine, const description::Scenario& scenario, const Filled& filled,
                result::Result& result)
      : machine_(machine),
        scenario_(scenario),
        filled_(filled),
        result_(result),
        host_(fullest_host()),
        drives_(fullest_storages(true)) {}

  void add_peaks() {
    add_peak(result_.gpu, fullest_gpu(), "gpu", Purpose::gpu_rounding);
    add_peak(result_.host, host_, "host", Purpose::pinned_rounding);
    const auto& storages = machine_.topology().storages;
    const std::uint32_t remote = fullest_storages(false);
    for (std::uint32_t i = 0; i < storages.size(); ++i)
      if (storages[i].node == (storages[i].wears ? drives_ : remote))
        add_peak(storages[i].wears ? result_.ssd : result_.remote,
                 machine_.storage_tier(StorageId{i}), "ssd", std::nullopt);
  }

  void add_capacities() {
    const description::MachineFile& machine = scenario_.machine;
    if (machine_.ledger().capacity(0) > 0) {
      result_.gpu.capacity = machine.gpu.memory.value();
      result_.gpu.reserve = machine.gpu.reserve.value();
    }
    if (machine_.ledger().capacity(host_) > 0) {
      result_.host.capacity = machine.host.memory.value();
      result_.host.reserve = machine.host.reserve.value();
    }
    result_.ssd.capacity = capacity_of_storages(true);
    result_.remote.capacity = capacity_of_storages(false);
  }

  /// A GPU that is full of what a run cannot do without; what a plan filled has room by its plan.
  void note_full_gpu() {
    constexpr double nearly = 0.98;
    const std::uint64_t usable = scenario_.machine.gpu.usable().value();
    const bool planned = filled_.gpu_peak || plans_steps(scenario_.strategy.system) ||
                         moves_by_plan(scenario_.strategy.activations.policy);
    if (!result_.feasible() || result_.gpu.capacity == 0 || planned ||
        static_cast<double>(result_.gpu.total) < nearly * static_cast<double>(usable))
      return;
    result_.notes.push_back(text::filled(
        "GPU memory is full but for {}: gaps in what the allocator holds, longer samples or "
        "another program may not fit; a larger machine.gpu.reserve asks for settings with more "
        "room",
        {text::memory(usable - std::min(usable, result_.gpu.total))}));
  }

  /// Of all drives or of all remote storages of a node; 0, unlimited, where one of them is.
  std::uint64_t capacity_of_storages(bool wear) const {
    const auto& storages = machine_.topology().storages;
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < storages.size(); ++i) {
      if (storages[i].wears != wear || storages[i].node > 0) continue;
      const std::uint64_t one = storages[i].capacity.value();
      if (one == 0) return 0;
      sum += one;
    }
    return sum;
  }

  void add_needs() {
    result::NeededBytes& needed = result_.needed.emplace();
    std::uint64_t gpu = 0;
    for (std::uint32_t rank = 0; rank < machine_.topology().ranks; ++rank)
      gpu = std::max(gpu, least(rank));
    if (filled_.gpu_peak && !grew(fullest_gpu())) gpu = std::min(gpu, *filled_.gpu_peak);
    const std::uint64_t host = machine_.topology().one_memory ? least_of_both() : least(host_);
    needed.gpu = gpu_memory_with(Bytes(gpu), scenario_.machine).value();
    needed.host = host_memory_with(Bytes(host - std::min(host, filled_.host + overflowing())),
                                   scenario_.machine)
                      .value();
    needed.ssd = least_of_storages(drives_, true);
  }

 private:
  std::uint32_t fullest_gpu() const {
    std::uint32_t fullest = 0;
    for (std::uint32_t rank = 1; rank < machine_.topology().ranks; ++rank)
      if (machine_.ledger().peak_bytes(rank) > machine_.ledger().peak_bytes(fullest))
        fullest = rank;
    return fullest;
  }

  /// Of the node that needs most of its host memory.
  std::uint32_t fullest_host() const {
    std::uint32_t fullest = machine_.host_tier();
    for (std::uint32_t rank = 1; rank < machine_.topology().ranks; ++rank)
      if (const std::uint32_t tier = machine_.host_tier(Rank{rank}); least(tier) > least(fullest))
        fullest = tier;
    return fullest;
  }

  /// The drives, or the remote storages, of a node together.
  std::uint64_t least_of_storages(std::uint32_t node, bool wear) const {
    const auto& storages = machine_.topology().storages;
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < storages.size(); ++i)
      if (storages[i].wears == wear && storages[i].node == node)
        sum += least(machine_.storage_tier(StorageId{i}));
    return sum;
  }

  /// The node that needs most of them.
  std::uint32_t fullest_storages(bool wear) const {
    std::uint32_t fullest = 0;
    for (std::uint32_t node = 1; node < machine_.topology().simulated_nodes(); ++node)
      if (least_of_storages(node, wear) > least_of_storages(fullest, wear)) fullest = node;
    return fullest;
  }

  void add_peak(result::PeakBytes& peak, std::uint32_t tier, std::string_view tier_name,
                std::optional<Purpose> rounding_purpose) {
    Peak fullest = machine_.ledger().peak(tier);
    peak.total += machine_.peak_on_node(tier);
    if (tier >= machine_.topology().ranks) add_alike(fullest, tier == host_);
    peak.phase = std::string(to_string(fullest.phase));
    std::uint64_t rounding = 0;
    for (const result::PeakEntry& entry : fullest.entries) {
      peak.by_purpose[entry.purpose] += entry.count * entry.asked_bytes;
      rounding += entry.count * (entry.charged_bytes - entry.asked_bytes);
      peak.entries.push_back(entry);
      peak.entries.back().setting =
          result::setting_of(tier_name, entry.purpose, result_.scenario, entry.count);
    }
    if (rounding_purpose && rounding)
      peak.by_purpose[std::string(to_string(*rounding_purpose))] += rounding;
  }

  /// Entries of the ranks that each of the ledger stands for, in the ledger's order, and on the
  /// host what their processes take.
  void add_alike(Peak& peak, bool on_host) const {
    const auto alike = machine_.topology().alike;
    if (alike == 1) return;
    const std::vector<result::PeakEntry> of_one = std::exchange(peak.entries, {});
    for (std::uint32_t rank = 0; rank < alike; ++rank) {
      for (result::PeakEntry entry : of_one) {
        entry.rank = rank;
        peak.entries.push_back(std::move(entry));
      }
      if (on_host) add_bases(peak, rank);
    }
    std::stable_sort(peak.entries.begin(), peak.entries.end(),
                     [](const result::PeakEntry& a, const result::PeakEntry& b) {
                       return a.count * a.charged_bytes > b.count * b.charged_bytes;
                     });
  }

  void add_bases(Peak& peak, std::uint32_t rank) const {
    const description::HostSpec& host = scenario_.machine.host;
    const auto add = [&](Purpose purpose, Bytes bytes) {
      if (bytes.value())
        peak.entries.push_back({rank, std::string(to_string(purpose)), 1, bytes.value(),
                                bytes.value(), false, std::string(to_string(result::Phase::init)),
                                false, ""});
    };
    add(Purpose::process_base, rank == 0 ? host.process_base : host.process_base_next);
    if (rank == 0) add(Purpose::runtime_base, host.runtime_base);
  }

  bool grew(std::uint32_t tier) const {
    return machine_.capacity(tier) > machine_.ledger().capacity(tier);
  }

  /// A tier that grew needs what it has by now: room that a plan asked for is not all filled.
  std::uint64_t least(std::uint32_t tier) const {
    return grew(tier) ? machine_.capacity(tier) : machine_.peak_on_node(tier);
  }

  /// Of memory that GPUs and host share: the sum of their peaks, which may lie apart in time, as
  /// far as that is more than there is.
  std::uint64_t least_of_both() const {
    if (grew(host_)) return machine_.capacity(host_);
    std::uint64_t sum = machine_.ledger().peak_bytes(host_);
    for (std::uint32_t rank = 0; rank < machine_.topology().ranks; ++rank)
      if (machine_.host_tier(Rank{rank}) == host_) sum += machine_.ledger().peak_bytes(rank);
    const std::uint64_t there = machine_.capacity(host_);
    return there == 0 ? sum : std::min(sum, there);
  }

  /// What a plan keeps in host memory where the same plan went on to the drives: it took all the
  /// room there was, and would do with less.
  std::uint64_t overflowing() const {
    if (grew(host_) || !result_.plan.is_object() ||
        result_.plan.value("bytes_to_ssd", std::uint64_t{0}) == 0)
      return 0;
    std::uint64_t bytes = 0;
    for (const result::PeakEntry& entry : result_.host.entries)
      if (entry.purpose == to_string(Purpose::host_pool) ||
          entry.purpose == to_string(Purpose::swapped_activations))
        bytes += entry.count * entry.charged_bytes;
    return bytes;
  }

  Machine& machine_;
  const description::Scenario& scenario_;
  const Filled& filled_;
  result::Result& result_;
  std::uint32_t host_;    ///< tier of the node that needs most
  std::uint32_t drives_;  ///< the node whose drives need most
};

}  // namespace

void add_memory(Machine& machine, const description::Scenario& scenario, const Filled& filled,
                result::Result& result) {
  MemorySummary summary(machine, scenario, filled, result);
  if (result.feasible() || machine.tiers_grow()) {
    summary.add_peaks();
    summary.add_needs();
  }
  summary.add_capacities();
  summary.note_full_gpu();
}

}  // namespace spillway::strategies
