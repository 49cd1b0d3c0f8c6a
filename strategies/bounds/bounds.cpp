#include "strategies/bounds/bounds.hpp"

#include "strategies/machine/setup.hpp"
#include "strategies/run/endurance.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

/// `amount / rate`; nothing takes no time, and without a rate there is no bound.
double seconds(double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate : 0; }

/// Of products in the shape that suits the GPU best, or of attention.
double most_flops(const description::Scenario& scenario) {
  double products = fastest_rate(scenario);
  for (const description::ProductRate& shape : scenario.machine.gpu.products)
    products = std::max(products, shape.share * fastest_rate(scenario));
  return std::max(products, attention_rate(scenario));
}

/// Adds up the phases of a step: what one phase issued may run in the next, so only their sum has a
/// bound.
class Sums {
 public:
  Sums(const Demand& demand, const description::Scenario& scenario)
      : demand_(demand),
        scenario_(scenario),
        machine_(scenario.machine),
        nodes_(simulated_nodes(scenario)) {}

  Bounds bounds() const {
    Bounds bounds;
    const std::size_t ranks = demand_.phases[0].ranks.size();
    for (std::size_t rank = 0; rank < ranks; ++rank) add_rank(bounds, rank);
    for (std::size_t i = 0; i < machine_.storage.size(); ++i) {
      double busiest = 0;
      for (std::uint64_t node = 0; node < nodes_; ++node)
        busiest = std::max(busiest, storage(node, i, static_cast<double>(ranks_of_a_node(ranks))));
      bounds.storages.push_back(busiest);
    }
    bounds.cpu = cpu(static_cast<double>(ranks));
    bounds.host_memory = seconds(host_traffic() / each(), machine_.host.memory_rate.value());
    return bounds;
  }

 private:
  /// At most: the last node may have fewer.
  std::size_t ranks_of_a_node(std::size_t ranks) const {
    return nodes_ == 1 ? ranks : scenario_.node_ranks();
  }
  double each() const { return static_cast<double>(nodes_); }

  /// Of something in all phases.
  template <class Part>
  double sum(Part part) const {
    double total = 0;
    for (const PhaseDemand& phase : demand_.phases) total += static_cast<double>(part(phase));
    return total;
  }

  void add_rank(Bounds& bounds, std::size_t index) const {
    const auto of = [&](auto member) {
      return sum([&](const PhaseDemand& phase) { return phase.ranks[index].*member; });
    };
    const description::GpuSpec& gpu = machine_.gpu;
    const double launch = gpu.launch.value();
    // a bound may not say whose rate is the higher one
    const double memory = std::max({gpu.memory_rate, gpu.reduction.value_or(gpu.memory_rate),
                                    gpu.permute.value_or(gpu.memory_rate)})
                              .value();
    const bool separate = gpu.elementwise == description::ElementwiseCost::separate;
    const double bytes =
        of(&RankDemand::other_bytes) + (separate ? of(&RankDemand::pass_bytes) : 0);
    const double flops = of(&RankDemand::flops);
    const bool adam = scenario_.training.has_plain_adam();
    const double update = adam && gpu.adam ? seconds(of(&RankDemand::updated), gpu.adam->value())
                                           : seconds(of(&RankDemand::update_bytes), memory);
    const double compute = (flops > 0 ? flops / most_flops(scenario_) : 0) +
                           seconds(bytes, memory) + update + of(&RankDemand::kernels) * launch;
    const double side =
        seconds(of(&RankDemand::side_bytes), memory) + of(&RankDemand::side_kernels) * launch;
    bounds.gpu = std::max({bounds.gpu, compute, side});
    const description::PcieSpec& pcie = machine_.pcie;
    const double up = of(&RankDemand::pageable_h2d), down = of(&RankDemand::pageable_d2h);
    // a member of a ring or tree gets as much as it sends
    const double collectives = of(&RankDemand::to_nodes) + pcie_peers(of(&RankDemand::to_peers));
    const double handed = of(&RankDemand::handed_to_nodes);  // others hand it as much, or less
    bounds.h2d =
        std::max({bounds.h2d, seconds(of(&RankDemand::h2d) + up + collectives, pcie.h2d.value()),
                  seconds(up, pcie.pageable_h2d.value())});
    bounds.d2h = std::max(
        {bounds.d2h, seconds(of(&RankDemand::d2h) + down + collectives + handed, pcie.d2h.value()),
         seconds(down, pcie.pageable_d2h.value())});
    bounds.network = std::max(bounds.network, seconds(of(&RankDemand::to_nodes) + handed,
                                                      machine_.network.per_gpu.value()));
  }

  /// Of bytes to GPUs of the same node, what goes through PCIe: all, where they have no other way.
  double pcie_peers(double bytes) const { return machine_.peers_use_pcie() ? bytes : 0; }

  /// One after the other, or as far at once as the best mix allows.
  double both_ways(double read_s, double write_s) const {
    return std::max({(read_s + write_s) / machine_.best_mix(), read_s, write_s});
  }

  bool buffered() const { return scenario_.strategy.io_engine == description::IoEngine::buffered; }

  /// The page cache may hold what is read, and what is written is written later.
  double storage(std::size_t node, std::size_t entry, double ranks) const {
    const std::size_t index = node * machine_.storage.size() + entry;
    const auto of = [&](auto member) {
      return sum([&](const PhaseDemand& phase) { return phase.storages[index].*member; });
    };
    const description::StorageSpec& spec = machine_.storage[entry];
    const double nodes = static_cast<double>(spec.sharers(scenario_.nodes_in_use()));
    const double share = spec.share_of(scenario_.strategy.io_engine);
    const double read = seconds(of(&StorageDemand::read), spec.total_read().value()) * nodes;
    const double written = of(&StorageDemand::written) * nodes;
    const double processes = both_ways(read, seconds(written, spec.total_write().value())) /
                             std::min(1.0, ranks * share);
    double inside = 0;
    if (spec.near_storage) {
      const description::NearStorageSpec& near = *spec.near_storage;
      const double drives = static_cast<double>(spec.count);
      inside = seconds(of(&StorageDemand::inside_read), drives * near.read.value()) +
               seconds(of(&StorageDemand::elements), drives * near.adam.value()) +
               seconds(of(&StorageDemand::inside_written), drives * near.write.value());
    }
    if (buffered()) return inside;
    return std::max(processes, both_ways(inside + read, seconds(written, lasting_write(spec))));
  }

  double traffic(CpuWork work) const {
    return sum([&](const PhaseDemand& phase) {
      return phase.cpu_traffic[static_cast<std::size_t>(work)];
    });
  }

  ///   ranks  of all nodes
  double cpu(double ranks) const {
    const description::HostSpec& host = machine_.host;
    double adam = sum([](const PhaseDemand& phase) {
      return phase.cpu_elements[static_cast<std::size_t>(CpuWork::adam)];
    });
    if (!scenario_.strategy.optimizer.wait) adam = 0;  // steps end without it
    const double chained = host.check_chained.value();
    const double check = traffic(CpuWork::check_chained);
    const double cores = static_cast<double>(host.cores);
    const double shared =
        seconds(adam, host.adam.value()) +
        seconds(
            traffic(CpuWork::convert) + traffic(CpuWork::initialize) + traffic(CpuWork::checkpoint),
            host.convert.value()) +
        seconds(traffic(CpuWork::check_fused), host.check_fused.value()) +
        seconds(check, chained * cores) +
        seconds(traffic(CpuWork::add) + traffic(CpuWork::scale) + traffic(CpuWork::products) +
                    2 * sum([](const PhaseDemand& phase) { return phase.host_copies; }),
                host.memory_rate.value());
    // of one thread a rank each
    const double threads =
        std::max({seconds(check, chained * ranks),
                  seconds(traffic(CpuWork::touch), host.first_touch.value() * ranks),
                  buffered() ? seconds(files(), host.page_cache.value() * ranks) : 0});
    double best = 1;  // of any number of ranks at once
    for (const auto& [teams, share] : host.team_rates) best = std::max(best, share);
    return std::max(shared / best / each(), threads);
  }

  /// What is read and written.
  double files() const {
    return sum([](const PhaseDemand& phase) {
      std::uint64_t bytes = 0;
      for (const StorageDemand& storage : phase.storages) bytes += storage.read + storage.written;
      return bytes;
    });
  }

  /// Without copies inside host memory, which may run faster than the rest together.
  double host_traffic() const {
    const bool staged = !machine_.gpu.peer_access && !machine_.gpu.shares_host;
    double bytes = 0;
    for (std::size_t work = 0; work < cpu_work_count; ++work)
      if (scenario_.strategy.optimizer.wait || static_cast<CpuWork>(work) != CpuWork::adam)
        bytes += traffic(static_cast<CpuWork>(work));
    for (const PhaseDemand& phase : demand_.phases) {
      for (const RankDemand& rank : phase.ranks)
        bytes += static_cast<double>(rank.h2d + rank.d2h + rank.pageable_h2d + rank.pageable_d2h +
                                     (staged ? 2 * rank.to_peers : 0));
    }
    // by way of the page cache all is copied once more, and may be there already
    if (scenario_.strategy.io_engine != description::IoEngine::gds)
      bytes += (buffered() ? 2 : 1) * files();
    return bytes;
  }

  const Demand& demand_;
  const description::Scenario& scenario_;
  const description::MachineFile& machine_;
  std::uint64_t nodes_;  ///< that are simulated
};

}  // namespace

double Bounds::step() const {
  double longest = std::max({gpu, h2d, d2h, cpu, host_memory, network});
  for (const double storage : storages) longest = std::max(longest, storage);
  return longest;
}

Bounds bounds_of(const Demand& demand, const description::Scenario& scenario) {
  return Sums(demand, scenario).bounds();
}

// What a stage hands back does not wait for the last gradients of weights that it computes, a third
// of its last layer's products: two layers are left out, of few layers a third of all.
double pipeline_seconds(const Demand& demand, const description::Scenario& scenario,
                        const std::vector<std::size_t>& layers) {
  const description::Parallel& parallel = scenario.parallel;
  const std::size_t stages = layers.size(), ranks = demand.phases[0].ranks.size();
  if (stages < 2 || stages != parallel.pipeline || ranks % stages > 0) return 0;
  if (parallel.splits_backward() || parallel.pieces() > 1) return 0;
  const auto micro_batches = static_cast<double>(scenario.training.gradient_accumulation);
  double before = 0, most = 0;  // FLOPs
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double own = 0;
    for (const PhaseDemand& phase : demand.phases) {
      const RankDemand& rank = phase.ranks[stage * (ranks / stages)];
      own += rank.flops - rank.recompute_flops;
    }
    most = std::max(most, before + own);
    const double sure = std::max(2.0 / 3, 1 - 2 / static_cast<double>(layers[stage]));
    before += own / micro_batches * sure;
  }
  return most > 0 ? most / most_flops(scenario) : 0;
}

}  // namespace spillway::strategies
