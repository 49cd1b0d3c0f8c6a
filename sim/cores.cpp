#include "scenarios/description/errors.hpp"
#include "sim/platform.hpp"

#include <algorithm>
#include <cmath>

/// The cores of a node: CPU work, and the streams of GPUs that are the host's own threads.
namespace spillway::sim {

using strategies::Rank;

namespace {

// Levels of the cores: one for each class of CPU work, one for a thread of its own and for each
// kind of copy by a thread, then Adam at 1, 2, .. bytes a parameter.
constexpr std::size_t convert_level = 0, fused_level = 1, chained_level = 2, memcpy_level = 3,
                      thread_level = 4, h2d_level = 5, d2h_level = 6, slow_h2d_level = 7,
                      slow_d2h_level = 8, touch_level = 9, cached_level = 10, product_level = 11,
                      adam_level = 12;
constexpr std::size_t adam_levels = 64;

/// Bytes per second of copies alone on their thread.
struct CopyRates {
  double h2d, d2h, slow_h2d, slow_d2h;
};

CopyRates copy_rates(const description::PcieSpec& pcie) {
  double h2d = pcie.h2d.value(), d2h = pcie.d2h.value();
  if (pcie.link) {
    h2d = std::min(h2d, pcie.link->value());
    d2h = std::min(d2h, pcie.link->value());
  }
  return {h2d, d2h, std::min(h2d, pcie.pageable_h2d.value()),
          std::min(d2h, pcie.pageable_d2h.value())};
}

}  // namespace

void Platform::build_cpu(Zone* zone, std::uint32_t node) {
  NodeLinks& own = nodes_[node];
  const description::HostSpec& host = machine_.host;
  const double cores = static_cast<double>(host.cores);
  std::vector<double> levels(adam_level + adam_levels);
  levels[convert_level] = host.convert.value();
  levels[fused_level] = host.check_fused.value();
  levels[chained_level] = host.check_chained.value() * cores;
  levels[memcpy_level] = host.memory_rate.value();
  levels[product_level] = product_rate_;
  levels[touch_level] = host.first_touch.value() * cores;
  levels[cached_level] = 2 * host.page_cache.value() * cores;
  const CopyRates copies = copy_rates(machine_.pcie);
  levels[thread_level] = thread_rate() * cores;
  levels[h2d_level] = copies.h2d * cores;
  levels[d2h_level] = copies.d2h * cores;
  levels[slow_h2d_level] = copies.slow_h2d * cores;
  levels[slow_d2h_level] = copies.slow_d2h * cores;
  for (std::size_t bytes = 1; bytes <= adam_levels; ++bytes)
    levels[adam_level + bytes - 1] = host.adam.value() * static_cast<double>(bytes);
  for (double& level : levels) level /= alike_;
  own.cores = device_time(node_title(node, "cores"), levels);
  if (!host.team_rates.empty())  // nodes_ stays as it is from now on
    own.cores->set_sharing_policy(
        Link::SharingPolicy::NONLINEAR, [this, &own](double capacity, int) {
          return capacity * machine_.host.team_share(alike_ * own.busy_teams);
        });
  own.cores->seal();
  own.adam = timed(zone, {own.cores, own.dram}, adam_level);
  own.convert = timed(zone, {own.cores, own.dram}, convert_level);
  own.fused = timed(zone, {own.cores, own.dram}, fused_level);
  own.memcpy = timed(zone, {own.cores, own.dram}, memcpy_level);
  own.products = timed(zone, {own.cores}, product_level);
  add_threads(chained_, zone, node, "check", host.check_chained.value(), chained_level);
  add_threads(touched_, zone, node, "touch", host.first_touch.value(), touch_level);
  if (engine_ == description::IoEngine::buffered)
    add_threads(cached_, zone, node, "page cache", 2 * host.page_cache.value(), cached_level);
  if (!shares_host()) return;
  own.convert.weight = weight_of(host.convert.value());
  own.fused.weight = weight_of(host.check_fused.value());
}

/// A thread each rank of the node, on one core, at most at that rate.
void Platform::add_threads(std::vector<Path>& paths, Zone* zone, std::uint32_t node,
                           const char* name, double bytes_per_s, std::size_t level) {
  for (std::uint32_t rank = node * ranks_per_node_; rank < ranks_; ++rank) {
    if (node_of(Rank{rank}) != node) break;
    Link* thread = link(std::string(name) + std::to_string(rank), bytes_per_s);
    paths.push_back(timed(zone, {nodes_[node].cores, thread, nodes_[node].dram}, level));
    if (shares_host()) paths.back().weight = weight_of(bytes_per_s);
  }
}

/// What is short is shared so that all that compete slow down alike, as threads do that a scheduler
/// gives equal turns: CPU work has one on every core.
double Platform::weight_of(double alone_bytes_per_s) const {
  return std::max(alone_bytes_per_s, 1.0) / thread_rate();
}

/// A copy holds a core for as long as it takes alone, and reads and writes DRAM.
void Platform::build_streams(Zone* zone) {
  for (NodeLinks& node : nodes_) {
    node.thread = timed(zone, {node.cores}, thread_level);
    node.traffic = path(zone, {node.dram});
  }
  const CopyRates rates = copy_rates(machine_.pcie);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const NodeLinks& node = nodes_[node_of(Rank{rank})];
    const auto copy = [&](std::vector<Link*> links, std::size_t level, double alone) {
      links.insert(links.begin(), node.cores);
      links.insert(links.end(), {node.dram, node.dram});
      Path made = timed(zone, links, level);
      made.weight = weight_of(alone);
      return made;
    };
    GpuLinks& gpu = gpus_[rank];
    gpu.in_pinned = copy({gpu.in, gpu.all_in}, h2d_level, rates.h2d);
    gpu.in_pageable = copy({gpu.slow_in, gpu.in, gpu.all_in}, slow_h2d_level, rates.slow_h2d);
    gpu.out_pinned = copy({gpu.all_out, gpu.out}, d2h_level, rates.d2h);
    gpu.out_pageable = copy({gpu.all_out, gpu.out, gpu.slow_out}, slow_d2h_level, rates.slow_d2h);
  }
}

void Platform::count_team(Rank rank, int by) {
  const bool before = teams_[rank.index] > 0;
  teams_[rank.index] += by;
  nodes_[node_of(rank)].busy_teams += (teams_[rank.index] > 0) - before;
}

Platform::CpuPath Platform::cpu(const strategies::CpuKernel& kernel, Rank rank) {
  const double traffic = static_cast<double>(kernel.traffic);
  const NodeLinks& node = nodes_[node_of(rank)];
  switch (kernel.work) {
    case strategies::CpuWork::convert:
    case strategies::CpuWork::initialize:
    case strategies::CpuWork::checkpoint:
      return {node.convert, traffic};
    case strategies::CpuWork::add:
    case strategies::CpuWork::scale:
      return {node.memcpy, traffic};
    case strategies::CpuWork::products: {
      // what takes longer alone: DRAM, or the cores, which then leave it room
      ENSURE(product_rate_ > 0, "the machine has no rate for products of the CPU");
      const bool read = kernel.flops / product_rate_ < traffic / machine_.host.memory_rate.value();
      return read ? CpuPath{node.memcpy, traffic} : CpuPath{node.products, kernel.flops};
    }
    case strategies::CpuWork::check_fused:
      return {node.fused, traffic};
    case strategies::CpuWork::check_chained:
      return {chained_[rank.index], traffic};
    case strategies::CpuWork::touch:
      return {touched_[rank.index], traffic};
    case strategies::CpuWork::adam:
      break;
  }
  const double elements = static_cast<double>(kernel.elements);
  const double bytes = std::clamp(std::round(traffic / elements), 1.0, double{adam_levels});
  // the weight is read when a transfer starts, so one pair of hosts serves every level
  for (const simgrid::s4u::Host* host : {node.adam.from, node.adam.to})
    node.cores->set_host_wifi_rate(host, static_cast<int>(adam_level + bytes) - 1);
  Path path = node.adam;
  if (shares_host()) path.weight = weight_of(machine_.host.adam.value() * bytes);
  return {path, elements * bytes};
}

}  // namespace spillway::sim
