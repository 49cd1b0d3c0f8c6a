#pragma once

#include "scenarios/description/mixed_traffic.hpp"
#include "scenarios/description/scenario.hpp"
#include "sim/slc_cache.hpp"
#include "strategies/machine/kernel.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace spillway::sim {

/// Where a transfer runs: SimGrid knows the links between the two hosts.
struct Path {
  simgrid::s4u::Host* from = nullptr;
  simgrid::s4u::Host* to = nullptr;
  double weight = 0;      ///< share of what is short, where others get 1; 0: as they
  std::size_t level = 0;  ///< at which it crosses device time
};

/// Levels of a storage's device time: reads, writes, writes past a full SLC cache.
inline constexpr std::size_t levels_of_storage = 3;

/// Transfers in flight on something simplex, by level. All get one rate (max-min), so that each
/// keeps the device busy in proportion to the inverse of its level's rate.
struct Mix {
  double at_half = 1;            ///< mixed_efficiency
  std::vector<double> rates;     ///< bytes per second
  std::vector<int> in_flight{};  ///< as many as rates

  /// Of the device time, what reads and writes reach together now.
  double efficiency() const;
};

/// One rank's way to one storage.
struct StorageAccess {
  Path read, write;
  Path direct_read, direct_write;      ///< to and from GPU memory; empty without GPUDirect
  Path slow_write, slow_direct_write;  ///< past a full `cache`
  SlcCache* cache = nullptr;           ///< null: all writes are equally fast
  Mix* storage = nullptr;
  Mix* process = nullptr;  ///< null where one process reaches all of the storage
};

/// A machine as SimGrid sees it: links, and the pairs of hosts between which transfers run.
///   storage   device time, simplex: r/R + w/W <= efficiency of the mix; where that passes 1,
///             each way also keeps to its own rate
///   PCIe      a link each way and GPU, pageable copies through a slower one before it
///   cores     device time: the classes of CPU work share it, each at its own rate
///   DRAM      one link under all of these; left out where their rates together cannot fill it
///   GPUs      that share the host: a stream holds a core while it is busy, copies too
///   network   a link per GPU and way, behind its PCIe
///   nodes     that differ, each with stages of a pipeline: cores, DRAM and storages for each
///   alike     ranks that each stands for: it has its part of what all of them share, as equal
///             requests get equal parts, and passes on to itself what the next one would get
class Platform {
 public:
  /// `scenario` outlives it, and its machine has no nodes but those in use; an engine must exist.
  Platform(const description::Scenario& scenario, std::uint32_t ranks, std::uint32_t alike = 1);
  Platform(const Platform&) = delete;

  const StorageAccess& storage(strategies::StorageId storage, strategies::Rank rank) const {
    return storages_[storage.index].by_rank[rank.index];
  }
  /// Occupies the storage as a read of so many bytes would, and nothing else.
  Path near_storage(strategies::StorageId storage) const { return storages_[storage.index].inside; }
  Path to_gpu(strategies::Rank rank, bool pageable) const {
    return pageable ? gpus_[rank.index].in_pageable : gpus_[rank.index].in_pinned;
  }
  Path to_host(strategies::Rank rank, bool pageable) const {
    return pageable ? gpus_[rank.index].out_pageable : gpus_[rank.index].out_pinned;
  }
  /// GPU to GPU, from != to: of one node, or of two that are next to each other in rank order or
  /// hold the same place in their stages.
  Path peer(strategies::Rank from, strategies::Rank to) const {
    return {gpus_[from.index].sends, gpus_[to.index].receives};
  }
  /// Not all ways from one GPU of a node to another are alike.
  bool has_socket_links() const { return !socket_links_.empty(); }
  /// GPU to its like on the next node. Nodes are equal: what leaves here arrives there as the same
  /// arrives here, so that the way out of the one and into the other are this GPU's own.
  Path other_node(strategies::Rank rank) const { return gpus_[rank.index].other_node; }
  /// A CPU kernel and the bytes that it moves on its path: its DRAM traffic.
  ///   elements > 0 for `adam`, whose rate counts parameters: it may move 1..64 whole bytes a
  ///   parameter
  struct CpuPath {
    Path path;
    double bytes;
  };
  CpuPath cpu(const strategies::CpuKernel& kernel, strategies::Rank rank);
  /// One kernel more, or less, that all cores of `rank`'s team work on.
  void count_team(strategies::Rank rank, int by);
  /// Memory to memory on the host: twice its bytes of traffic.
  Path host_copy(strategies::Rank rank) const { return nodes_[node_of(rank)].memcpy; }
  /// The same by the rank's one thread, between its memory and the page cache.
  Path cached_copy(strategies::Rank rank) const { return cached_[rank.index]; }

  /// Training has gone on for hours: drives have no more room to write fast than its steps leave
  /// them.
  void fill_caches(double now_s) {
    for (SlcCache& cache : caches_)
      if (caches_start_full_) cache.fill(now_s);
  }

  /// Kernels, copies and collectives of its GPUs are work of the host's threads.
  bool shares_host() const { return machine_.gpu.shares_host; }
  /// A thread of its own: it holds a core for `bytes / thread_rate()`, and is bound by that rate.
  Path thread(strategies::Rank rank) const { return nodes_[node_of(rank)].thread; }
  double thread_rate() const { return std::max(machine_.host.memory_rate.value(), 1.0); }
  /// DRAM traffic beside a thread.
  Path traffic(strategies::Rank rank) const { return nodes_[node_of(rank)].traffic; }

 private:
  using Link = simgrid::s4u::Link;
  using Zone = simgrid::s4u::NetZone;
  /// What the ranks of a node share.
  struct NodeLinks {
    Link *dram = nullptr, *cores = nullptr;
    Path adam, convert, fused, memcpy, products, thread, traffic;
    int busy_teams = 0;  ///< ranks whose team has kernels in flight
  };
  struct StorageLinks {
    Link* device = nullptr;
    std::vector<Link*> ways;  ///< by level of the device, where a mix is faster than either way
    std::size_t level = 0;    ///< of its reads on the device; writes follow, then folded writes
    Mix* mix = nullptr;
    SlcCache* cache = nullptr;
    Path inside;
    std::vector<StorageAccess> by_rank;
  };
  struct GpuLinks {
    Link *in = nullptr, *out = nullptr;  ///< copies
    Link *all_in = nullptr,
         *all_out = nullptr;  ///< everything that crosses the slot; null: not capped
    Link *slow_in = nullptr, *slow_out = nullptr;  ///< pageable copies
    Path in_pinned, in_pageable, out_pinned, out_pageable, other_node;
    Link *nic_in = nullptr, *nic_out = nullptr;  ///< null on a single node
    simgrid::s4u::Host *sends = nullptr, *receives = nullptr;
  };

  Link* link(const std::string& name, double bytes_per_s);
  Link* device_time(const std::string& name, const std::vector<double>& bytes_per_s);
  Link* mixed_time(const std::string& name, Mix& mix, double part);
  std::vector<Link*> ways_of(const std::string& name, const Mix& mix, double part);
  Path path(Zone* zone, std::vector<Link*> links);
  Path timed(Zone* zone, std::vector<Link*> links, std::size_t level);
  void build_gpu(Zone* zone, std::uint32_t rank);
  std::uint32_t node_of(strategies::Rank rank) const { return rank.index / ranks_per_node_; }
  std::uint32_t node_of_storage(std::uint32_t storage) const {
    return storage / static_cast<std::uint32_t>(machine_.storage.size());
  }
  /// Its place in machine.storage.
  std::uint32_t entry_of(std::uint32_t storage) const {
    return storage % static_cast<std::uint32_t>(machine_.storage.size());
  }
  std::string node_title(std::uint32_t node, const char* what) const;
  void build_storage(std::uint32_t storage);
  void build_device(std::uint32_t first);
  void build_access(Zone* zone, std::uint32_t storage, std::uint32_t rank);
  void build_peers(Zone* zone);
  void add_peer_route(Zone* zone, std::uint32_t from, std::uint32_t to,
                      const std::vector<Link*>& out, const std::vector<Link*>& in, Link* between);
  Link* between_sockets(std::uint32_t from, std::uint32_t to);
  bool meet(std::uint32_t from, std::uint32_t to) const;
  void build_cpu(Zone* zone, std::uint32_t node);
  void add_threads(std::vector<Path>& paths, Zone* zone, std::uint32_t node, const char* name,
                   double bytes_per_s, std::size_t level);
  void build_streams(Zone* zone);
  double weight_of(double alone_bytes_per_s) const;

  double process_share(std::uint32_t storage) const;

  const description::MachineFile& machine_;  ///< outlives the platform
  std::uint32_t ranks_, ranks_per_node_, ranks_of_a_stage_;
  double alike_;  ///< ranks that each stands for
  description::IoEngine engine_;
  double product_rate_;  ///< of the CPU, FLOPs per second
  bool workers_by_way_;  ///< a process reads with some, and writes with others
  Zone* root_ = nullptr;
  Zone* box_ = nullptr;
  std::vector<NodeLinks> nodes_;
  std::vector<int> teams_;              ///< by rank: its team's kernels in flight
  std::vector<StorageLinks> storages_;  ///< of all nodes, as Topology::storages
  std::vector<GpuLinks> gpus_;
  std::map<std::string, Link*> socket_links_;  ///< by node and the two sockets
  std::deque<Mix> mixes_;  ///< addresses stay: SimGrid's callbacks and operations hold them
  std::deque<SlcCache> caches_;
  bool caches_start_full_;
  std::vector<Path> chained_, touched_, cached_;  ///< by rank
  int next_host_ = 0;
};

/// Rates of an array as one node sees it: a file system shared by n nodes, all in use, gives each
/// 1/n.
struct ArrayRates {
  double read, write;  ///< bytes per second
};
/// Of all drives once their `slc_cache` is full, bytes per second.
double folded_write_rate(const description::StorageSpec& storage);
ArrayRates array_rates(const description::MachineFile& machine, std::uint32_t storage);

/// False when SSDs, PCIe and CPU work at full rate together stay below the node's memory rate.
///   Host copies are not counted: they alone could always fill it, and are short
bool dram_can_bind(const description::MachineFile& machine, std::uint64_t ranks,
                   description::IoEngine engine = description::IoEngine::file);

}  // namespace spillway::sim
