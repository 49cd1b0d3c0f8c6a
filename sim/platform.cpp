#include "sim/platform.hpp"

#include "sim/engine.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/run/endurance.hpp"

#include <algorithm>
#include <optional>
#include <simgrid/kernel/routing/NetPoint.hpp>

namespace spillway::sim {

namespace s4u = simgrid::s4u;
using strategies::Rank;

double folded_write_rate(const description::StorageSpec& storage) {
  return storage.slc_cache ? strategies::lasting_write(storage) : 0;
}

ArrayRates array_rates(const description::MachineFile& machine, std::uint32_t storage) {
  const description::StorageSpec& spec = machine.storage[storage];
  const double share = 1.0 / static_cast<double>(spec.sharers(machine.nodes));
  return {spec.total_read().value() * share, spec.total_write().value() * share};
}

bool dram_can_bind(const description::MachineFile& machine, std::uint64_t ranks,
                   description::IoEngine engine) {
  double demand = 0;
  for (std::uint32_t i = 0; i < machine.storage.size(); ++i) {
    const ArrayRates rates = array_rates(machine, i);
    demand += std::max(rates.read, rates.write);
  }
  demand += static_cast<double>(ranks) * (machine.pcie.h2d.value() + machine.pcie.d2h.value());
  const description::HostSpec& host = machine.host;
  constexpr double adam_bytes =
      28;  // 14 read and 14 written a parameter: mixed precision, fp32 states
  const double threads = static_cast<double>(std::min(ranks, host.cores));
  if (engine == description::IoEngine::buffered) demand += 2 * threads * host.page_cache.value();
  demand += std::max({adam_bytes * host.adam.value(), host.convert.value(),
                      host.check_fused.value(), threads * host.check_chained.value()});
  return demand > host.memory_rate.value();
}

Platform::Platform(const description::Scenario& scenario, std::uint32_t ranks, std::uint32_t alike)
    : machine_(scenario.machine),
      ranks_(ranks),
      ranks_per_node_(static_cast<std::uint32_t>(scenario.node_ranks())),
      ranks_of_a_stage_(ranks / static_cast<std::uint32_t>(scenario.parallel.pipeline)),
      alike_(alike),
      engine_(scenario.strategy.io_engine),
      product_rate_(strategies::cpu_compute_rate(scenario)),
      workers_by_way_(scenario.strategy.workers_by_way()),
      // training has gone on for hours; a stream of requests begins on a drive at rest
      caches_start_full_(!scenario.run.io_bench) {
  root_ = s4u::create_full_zone("root");
  box_ = s4u::create_full_zone("box");
  box_->set_parent(root_);
  nodes_.resize(description::divide_up(ranks_, ranks_per_node_));
  const std::uint64_t of_a_node = std::uint64_t{std::min(ranks_, ranks_per_node_)} * alike;
  if (shares_host() || dram_can_bind(machine_, of_a_node, engine_))
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
      nodes_[node].dram =
          link(node_title(node, "dram"), machine_.host.memory_rate.value() / alike_);
  gpus_.resize(ranks_);
  storages_.resize(nodes_.size() * machine_.storage.size());
  for (std::uint32_t i = 0; i < storages_.size(); ++i) build_storage(i);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    // a zone each: SimGrid's table of routes grows with the square of a zone's hosts
    Zone* zone = s4u::create_full_zone("rank" + std::to_string(rank));
    zone->set_parent(root_);
    build_gpu(zone, rank);
    for (std::uint32_t i = 0; i < storages_.size(); ++i)
      if (node_of_storage(i) == node_of(Rank{rank})) build_access(zone, i, rank);
  }
  if (ranks_ * alike > 1) {
    Zone* zone = s4u::create_full_zone("peers");
    zone->set_parent(root_);
    build_peers(zone);
  }
  teams_.resize(ranks_);
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) build_cpu(box_, node);
  if (shares_host()) build_streams(box_);
  root_->seal();
}

/// Of one node as it stands; of several with its number.
std::string Platform::node_title(std::uint32_t node, const char* what) const {
  return nodes_.size() == 1 ? what : "node" + std::to_string(node) + " " + what;
}

/// A plain link. A rate that the machine file leaves at 0 would divide by zero in SimGrid: 1 B/s
/// instead.
Platform::Link* Platform::link(const std::string& name, double bytes_per_s) {
  Link* made = box_->create_link(name, std::max(bytes_per_s, 1.0) / unit_bytes);
  made->seal();
  return made;
}

double Mix::efficiency() const {
  double reads = 0, all = 0;
  for (std::size_t level = 0; level < rates.size(); ++level) {
    const double busy = in_flight[level] / rates[level];
    all += busy;
    if (level % levels_of_storage == 0) reads += busy;
  }
  return all > 0 ? description::efficiency_of_mix(at_half, reads / all) : 1;
}

/// Something whose time is shared, whoever uses it at whatever rate: a WIFI link, where a transfer
/// weighs the inverse of its level. It can only be first or last on a route.
Platform::Link* Platform::device_time(const std::string& name,
                                      const std::vector<double>& bytes_per_s) {
  Zone* zone = s4u::create_wifi_zone(name + " zone");
  zone->set_parent(root_);
  std::vector<double> levels;
  for (const double rate : bytes_per_s) levels.push_back(std::max(rate, 1.0) / unit_bytes);
  Link* made = zone->create_link(name, levels);
  return made;
}

/// The same of which there is less, or more, while reads and writes mix.
///   part  of its rates that there is
Platform::Link* Platform::mixed_time(const std::string& name, Mix& mix, double part) {
  std::vector<double> levels;
  for (double& rate : mix.rates) levels.push_back(part * (rate = std::max(rate, 1.0)));
  mix.in_flight.resize(mix.rates.size());
  Link* made = device_time(name, levels);
  if (mix.at_half != 1)
    made->set_sharing_policy(Link::SharingPolicy::NONLINEAR,
                             [&mix](double capacity, int) { return capacity * mix.efficiency(); });
  made->seal();
  return made;
}

/// A mix that is faster than either way leaves time to a way whose partner is held up elsewhere:
/// links that keep each to its own rate, by level.
std::vector<Platform::Link*> Platform::ways_of(const std::string& name, const Mix& mix,
                                               double part) {
  std::vector<Link*> ways(mix.rates.size());
  if (mix.at_half <= 1) return ways;
  for (std::size_t level = 0; level < ways.size(); ++level)
    ways[level] = link(name + " way" + std::to_string(level), part * mix.rates[level]);
  return ways;
}

/// A new pair of hosts with these links between them; those that are null are not there.
Path Platform::path(Zone* zone, std::vector<Link*> links) {
  const std::string number = std::to_string(next_host_++);
  const Path made{zone->create_host("a" + number, 1.0), zone->create_host("b" + number, 1.0)};
  std::vector<s4u::LinkInRoute> route;
  for (Link* each : links)
    if (each) route.emplace_back(each);
  zone->add_route(made.from->get_netpoint(), made.to->get_netpoint(), nullptr, nullptr, route,
                  false);
  return made;
}

/// The same over `device_time` links, at one of their levels.
Path Platform::timed(Zone* zone, std::vector<Link*> links, std::size_t level) {
  Path made = path(zone, links);
  made.level = level;
  for (Link* each : links)
    if (each && each->get_sharing_policy() == Link::SharingPolicy::WIFI)
      for (const s4u::Host* host : {made.from, made.to})
        each->set_host_wifi_rate(host, static_cast<int>(level));
  return made;
}

void Platform::build_gpu(Zone* zone, std::uint32_t rank) {
  GpuLinks& gpu = gpus_[rank];
  const description::PcieSpec& pcie = machine_.pcie;
  const std::string name = "gpu" + std::to_string(rank);
  gpu.in = link(name + " h2d", pcie.h2d.value());
  gpu.out = link(name + " d2h", pcie.d2h.value());
  if (pcie.link) {
    gpu.all_in = link(name + " in", pcie.link->value());
    gpu.all_out = link(name + " out", pcie.link->value());
  }
  gpu.slow_in = link(name + " pageable h2d", pcie.pageable_h2d.value());
  gpu.slow_out = link(name + " pageable d2h", pcie.pageable_d2h.value());
  Link* dram = nodes_[node_of(Rank{rank})].dram;
  if (!shares_host()) {
    gpu.in_pinned = path(zone, {dram, gpu.in, gpu.all_in});
    gpu.in_pageable = path(zone, {dram, gpu.slow_in, gpu.in, gpu.all_in});
    gpu.out_pinned = path(zone, {gpu.all_out, gpu.out, dram});
    gpu.out_pageable = path(zone, {gpu.all_out, gpu.out, gpu.slow_out, dram});
  }
  if (machine_.nodes > 1) {
    gpu.nic_out = link(name + " nic", machine_.network.per_gpu.value());
    gpu.nic_in = link(name + " nic in", machine_.network.per_gpu.value());
    gpu.other_node = path(zone, {gpu.all_out, gpu.out, gpu.nic_out, gpu.in, gpu.all_in});
  }
}

double Platform::process_share(std::uint32_t storage) const {
  return machine_.storage[entry_of(storage)].share_of(engine_);
}

/// Storages of one device are paths to the same drives: one link of device time, each at the rates
/// that it reaches alone.
void Platform::build_storage(std::uint32_t storage) {
  const description::StorageSpec& spec = machine_.storage[entry_of(storage)];
  StorageLinks& links = storages_[storage];
  if (!links.device) build_device(storage);
  links.inside = timed(box_, {links.device, links.ways[links.level]}, links.level);
  links.by_rank.resize(ranks_);
  for (StorageAccess& access : links.by_rank) {
    access.storage = links.mix;
    access.cache = spec.slc_cache ? links.cache : nullptr;
  }
}

/// Of `storage`, and of all others of its node that name the same device: mix and cache are the
/// first one's.
void Platform::build_device(std::uint32_t first) {
  const description::StorageSpec& spec = machine_.storage[entry_of(first)];
  Mix& mix = mixes_.emplace_back(Mix{spec.mixed_efficiency, {}});
  std::vector<std::uint32_t> members;
  std::vector<double>& levels = mix.rates;
  for (std::uint32_t i = first; i < storages_.size(); ++i) {
    if (node_of_storage(i) != node_of_storage(first)) break;
    const description::StorageSpec& other = machine_.storage[entry_of(i)];
    const bool same = i == first || (!spec.device.empty() && other.device == spec.device);
    if (!same) continue;
    const ArrayRates rates = array_rates(machine_, entry_of(i));
    storages_[i].level = levels.size();
    levels.insert(levels.end(), {rates.read, rates.write, folded_write_rate(other)});
    members.push_back(i);
  }
  const std::string name = "storage" + std::to_string(first);
  Link* device = mixed_time(name, mix, 1 / alike_);
  const std::vector<Link*> ways = ways_of(name, mix, 1 / alike_);
  SlcCache* cache = nullptr;
  if (spec.slc_cache) {
    const double drives = static_cast<double>(spec.count) / alike_;
    cache =
        &caches_.emplace_back(drives * static_cast<double>(spec.slc_cache_size().value()),
                              drives * spec.slc_cache->folded_write.value(), caches_start_full_);
  }
  for (const std::uint32_t i : members) {
    storages_[i].device = device;
    storages_[i].ways = ways;
    storages_[i].mix = &mix;
    storages_[i].cache = cache;
  }
}

void Platform::build_access(Zone* zone, std::uint32_t storage, std::uint32_t rank) {
  Link* device = storages_[storage].device;
  const std::vector<Link*>& ways = storages_[storage].ways;
  StorageAccess& access = storages_[storage].by_rank[rank];
  const std::size_t read = storages_[storage].level, write = read + 1, folded = read + 2;
  Link *process = nullptr, *dram = nodes_[node_of(Rank{rank})].dram;
  std::vector<Link*> own(ways.size());  // the process's
  const double share = process_share(storage);
  const ArrayRates rates = array_rates(machine_, entry_of(storage));
  const std::string name = "storage" + std::to_string(storage) + " process" + std::to_string(rank);
  if (share < 1 && workers_by_way_) {
    own[read] = link(name + " loads", rates.read * share);
    own[write] = own[folded] = link(name + " stores", rates.write * share);
  } else if (share < 1) {
    Mix& mix = mixes_.emplace_back(Mix{machine_.storage[entry_of(storage)].mixed_efficiency,
                                       std::vector<double>(ways.size())});
    // levels are numbered as the device's
    mix.rates[read] = rates.read * share;
    mix.rates[write] = mix.rates[folded] = rates.write * share;
    process = mixed_time(name, mix, 1);
    own = ways_of(name, mix, 1);
    access.process = &mix;
  }
  access.read = timed(zone, {device, ways[read], dram, own[read], process}, read);
  access.write = timed(zone, {process, own[write], dram, ways[write], device}, write);
  if (access.cache)
    access.slow_write = timed(zone, {process, own[folded], dram, ways[folded], device}, folded);
  if (!machine_.gpu.gpudirect) return;
  const GpuLinks& gpu = gpus_[rank];
  Link* in = gpu.all_in ? gpu.all_in : gpu.in;
  access.direct_read = timed(zone, {device, ways[read], in, own[read], process}, read);
  Link* out = gpu.all_out ? gpu.all_out : gpu.out;
  access.direct_write = timed(zone, {process, own[write], out, ways[write], device}, write);
  if (access.cache)
    access.slow_direct_write =
        timed(zone, {process, own[folded], out, ways[folded], device}, folded);
}

void Platform::build_peers(Zone* zone) {
  const std::optional<description::BytesPerSecond> rate = machine_.peer_rate();
  // a thread does it for GPUs that share the host
  const bool staged = !machine_.gpu.peer_access && !shares_host();
  std::vector<std::vector<Link*>> out(ranks_), in(ranks_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    GpuLinks& gpu = gpus_[rank];
    const std::string name = "peer" + std::to_string(rank);
    gpu.sends = zone->create_host(name + " sends", 1.0);
    gpu.receives = zone->create_host(name + " receives", 1.0);
    Link* staging = staged ? nodes_[node_of(Rank{rank})].dram : nullptr;
    if (machine_.peers_use_pcie()) {
      out[rank] = {gpu.out, gpu.all_out, staging};
      in[rank] = {staging, gpu.all_in, gpu.in};
    }
    if (rate) {
      out[rank].push_back(link(name + " out", rate->value()));
      in[rank].push_back(link(name + " in", rate->value()));
    }
  }
  for (std::uint32_t from = 0; from < ranks_; ++from)
    for (std::uint32_t to = 0; to < ranks_; ++to) {
      const GpuLinks &sender = gpus_[from], &receiver = gpus_[to];
      if (from == to && alike_ == 1) continue;
      if (node_of(Rank{from}) == node_of(Rank{to}))
        add_peer_route(zone, from, to, out[from], in[to], between_sockets(from, to));
      else if (meet(from, to))
        add_peer_route(zone, from, to, {sender.out, sender.all_out, sender.nic_out},
                       {receiver.nic_in, receiver.all_in, receiver.in}, nullptr);
    }
}

/// What all cards of the sender's socket share on their way to the receiver's; null inside one.
Platform::Link* Platform::between_sockets(std::uint32_t from, std::uint32_t to) {
  const std::uint64_t sender = machine_.socket_of(from % ranks_per_node_);
  const std::uint64_t receiver = machine_.socket_of(to % ranks_per_node_);
  if (sender == receiver) return nullptr;
  const std::string name = "node" + std::to_string(node_of(Rank{from})) + " socket" +
                           std::to_string(sender) + " to " + std::to_string(receiver);
  Link*& shared = socket_links_[name];
  if (!shared) shared = link(name, machine_.host.socket_rate->value());
  return shared;
}

/// Whether ranks of two nodes send to each other: in a ring of all ranks, or from stage to stage.
///   Without the others a route for each pair of a large machine is not made
bool Platform::meet(std::uint32_t from, std::uint32_t to) const {
  return (from + 1) % ranks_ == to || from % ranks_of_a_stage_ == to % ranks_of_a_stage_;
}

void Platform::add_peer_route(Zone* zone, std::uint32_t from, std::uint32_t to,
                              const std::vector<Link*>& out, const std::vector<Link*>& in,
                              Link* between) {
  std::vector<s4u::LinkInRoute> route;
  for (const auto& links : {out, std::vector{between}, in})
    for (Link* each : links)
      if (each) route.emplace_back(each);
  zone->add_route(gpus_[from].sends->get_netpoint(), gpus_[to].receives->get_netpoint(), nullptr,
                  nullptr, route, false);
}

}  // namespace spillway::sim
