#pragma once

#include "scenarios/description/io_engine.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::description {

/// How memory-bound kernels between the GEMMs are charged: `included` when `gpu.compute` is a rate
/// achieved over whole passes (a paper's TFLOPS, an MFU), `separate` when it is the rate of the
/// GEMMs alone.
enum class ElementwiseCost { included, separate };
template <>
inline constexpr auto names_of<ElementwiseCost> = in_order("included", "separate");

/// Side of a matrix product from which on it reaches `gpu.compute`.
inline constexpr double matrix_reference = 2048;

/// What a matrix product of so many rows by a square matrix reaches.
struct ProductRate {
  std::uint64_t tokens = 0;  ///< its rows
  std::uint64_t width = 0;   ///< of others: the harmonic mean of their inner width and columns
  double share = 0;          ///< of `gpu.compute`
  auto operator<=>(const ProductRate&) const = default;
};

struct GpuSpec {
  std::uint64_t count = 1;  ///< per node
  Bytes memory;
  std::map<std::string, FlopsPerSecond>
      compute;  ///< achieved, by element type: fp16, bf16, tf32, fp32
  std::map<std::string, FlopsPerSecond> peak;  ///< data sheet's dense peak, optional
  BytesPerSecond memory_rate;
  bool gpudirect = false;
  bool shares_host = false;  ///< host device: kernels and copies use the host's cores and DRAM
  ElementwiseCost elementwise = ElementwiseCost::included;
  Seconds launch;  ///< overhead per kernel
  /// Side at which a matrix product reaches half of the rate that it would have without end, where
  /// `compute` is the rate at matrix_reference (product_share); 0: all reach `compute`.
  double matrix_half = 0;
  /// Measured shares by shape, all of `tokens` with all of `width`; empty: as matrix_half says.
  std::vector<ProductRate> products;
  Bytes context;                            ///< GPU memory of context and libraries
  std::optional<BytesPerSecond> peer_rate;  ///< GPU to GPU inside the node, per GPU and direction
  /// False: what goes to another GPU of the node is copied to host memory and on, in chunks.
  bool peer_access = true;
  /// Products in 8 bits read their operands along any dimension, so that no copy is needed
  /// transposed: of NVIDIA's, Blackwell's data centre cards.
  bool fp8_any_layout = false;
  std::optional<ParamsPerSecond> adam;  ///< measured rate of a GPU Adam
  /// Achieved by attention, forward and backward together, by element type as `compute`; the scores
  /// that a causal mask hides do not count. A type that is absent: attention goes at `compute`.
  std::map<std::string, FlopsPerSecond> attention;
  /// Achieved by kernels that sum over the rows of a tensor beside their own work (backward passes
  /// of norms), each array counted once; absent: memory_rate.
  std::optional<BytesPerSecond> reduction;
  /// Achieved by kernels that put tokens in the order of their experts and back; absent:
  /// memory_rate.
  std::optional<BytesPerSecond> permute;
  Bytes reserve;  ///< of `memory`, left to the desktop, the driver and fragmentation

  /// What a run may take; 0: unlimited.
  Bytes usable() const;
  std::uint64_t lanes = 0;  ///< of PCI Express that a card takes; 0: not stated
  bool one_memory = false;  ///< GPU and host share host.memory; gpu.memory is the same memory
};

struct PcieSpec {
  BytesPerSecond h2d, d2h;
  BytesPerSecond pageable_h2d, pageable_d2h;
  std::optional<BytesPerSecond> link;  ///< cap on all traffic of one GPU together, each way
  Seconds latency;
};

struct HostSpec {
  Bytes memory;
  BytesPerSecond memory_rate;
  std::uint64_t cores = 1;
  ParamsPerSecond adam;  ///< per node, fp32 states
  /// The same of Lion; absent: see adams_of_lion.
  std::optional<ParamsPerSecond> lion;
  /// Per node, achieved by products of the CPU, by element type as GpuSpec::compute; a type that is
  /// absent: it multiplies nothing.
  std::map<std::string, FlopsPerSecond> compute;
  BytesPerSecond convert;  ///< per node, bytes read + written
  BytesPerSecond
      check_chained;  ///< per rank, bytes of tensor traffic (20 B per element of an fp32 buffer)
  BytesPerSecond check_fused;  ///< per node, bytes read
  /// One thread that is the first to write pages which the system has just given it.
  BytesPerSecond first_touch;
  BytesPerSecond page_cache;  ///< one thread that copies between the page cache and its memory
  /// Shares of free memory that the page cache may hold unwritten: from here on it writes, and
  /// beyond this who writes waits. Linux: vm.dirty_background_ratio, vm.dirty_ratio.
  double dirty_background = 0, dirty_limit = 0;
  Seconds launch;        ///< of the thread that launches a GPU's kernels, for each
  Seconds module_hooks;  ///< of the same, for each module of a pass whose weights ZeRO-3 gathers
  /// Of the rates of one team with all cores, what 2, 4 and 8 teams of the ranks reach together.
  std::map<std::string, double> team_rates;
  /// The same of any number; between two of the table on the line, beyond its last as the last.
  double team_share(double teams) const;
  /// Elements of Adam that take as long as one of Lion, in whose update it touches `bytes`, and in
  /// Adam's `by_adam`: by `lion`, or without it by those bytes, as DRAM limits both.
  double adams_of_lion(double bytes, double by_adam) const;
  Bytes process_base;       ///< first rank
  Bytes process_base_next;  ///< each further rank
  Bytes runtime_base;       ///< once a node
  Bytes reserve;            ///< of `memory`, left to the system and what else runs on it

  /// What a run may take; 0: unlimited.
  Bytes usable() const;
  /// Places of its board: cards under "card", drives under their form ("m2", "u2"). What has no
  /// entry has no limit.
  std::map<std::string, std::uint64_t> slots;
  std::uint64_t lanes = 0;    ///< of PCI Express behind those places; 0: not stated, no limit
  std::uint64_t sockets = 1;  ///< processors; the cards are divided among them in their order
  /// Of what goes from cards of one socket to those of another, each way; absent: no limit.
  std::optional<BytesPerSecond> socket_rate;
};

/// The reserve of a machine file that states none: 4 GiB or 5 % of the memory, whichever is more,
/// and at most half.
Bytes default_host_reserve(Bytes memory);
/// The same of a GPU: 300 MiB, at most half; nothing where GPUs are a share of the host's memory.
Bytes default_gpu_reserve(const GpuSpec& gpu);

/// What a drive is rated for, and what its write amplification follows from.
struct EnduranceSpec {
  Bytes rated;                      ///< host writes under the rating's workload, per drive; TBW
  std::optional<double> dwpd;       ///< the same as drive writes a day over the warranty
  std::optional<Seconds> warranty;  ///< years of 365 days
  double rating_waf = 1;            ///< write amplification the rating assumes
  std::optional<double> waf;        ///< of the workload; absent: follows from its writes
  double over_provisioning = 0;     ///< (flash - capacity) / capacity
  Bytes erase_block;                ///< what the drive fills and erases as a whole, over its chips
  Bytes mapping_unit;               ///< what the drive maps; less of it is padded
  Bytes held;                       ///< data of others that lies on the drive
  /// By the host before this run, to each drive its own, in any order and without those on which
  /// nothing was: StorageSpec::written_before.
  std::vector<Bytes> written;
  bool trimmed = true;      ///< the drive is told which blocks are free
  Seconds retention;        ///< how long data must last after power-off
  Seconds rated_retention;  ///< what the rating assumes
};

enum class StorageKind { ssd, remote };
template <>
inline constexpr auto names_of<StorageKind> = in_order("ssd", "remote");

/// Of one drive that updates what lies on it: one thing after the other.
struct NearStorageSpec {
  BytesPerSecond read, write;
  ParamsPerSecond adam;
  Seconds start;  ///< of each sub-group, before its states are read
};
/// Flash that is first written with one bit a cell, and moved to denser cells when the drive idles.
struct SlcCacheSpec {
  Bytes size;                   ///< per drive
  BytesPerSecond folded_write;  ///< per drive, while the cache is full; also how fast it empties
};

struct StorageSpec {
  std::string name;
  StorageKind kind = StorageKind::ssd;
  std::uint64_t count = 1;
  Bytes capacity;              ///< per drive; 0: unlimited (remote)
  BytesPerSecond read, write;  ///< per drive
  std::optional<BytesPerSecond> array_read, array_write;
  /// r/R + w/W where reads and writes each take half of its time; mixed_traffic has the rest.
  double mixed_efficiency = 1;
  std::map<std::string, double> process_efficiency;  ///< by io_engine, default 1
  Seconds latency;
  Seconds file_overhead;            ///< per file written by the `file` engine
  std::vector<std::uint64_t> gpus;  ///< private to these GPUs; empty: all
  bool shared_by_nodes = false;
  std::string device;  ///< storages of one device share its time; empty: it has its own
  std::optional<EnduranceSpec> endurance;
  std::optional<NearStorageSpec> near_storage;
  std::optional<SlcCacheSpec> slc_cache;
  std::string form;                 ///< of the slot that a drive takes; empty: not stated
  std::uint64_t lanes = 0;          ///< of PCI Express that a drive takes; 0: not stated
  std::optional<double> price_usd;  ///< of a drive; absent: prices_usd.ssd

  /// Of `nodes` nodes, those that share one set of its drives, and how many sets there are.
  std::uint64_t sharers(std::uint64_t nodes) const { return shared_by_nodes ? nodes : 1; }
  std::uint64_t sets(std::uint64_t nodes) const { return shared_by_nodes ? 1 : nodes; }

  /// What one drive takes on average when each step writes `volume` to it and leaves it alone for
  /// `idle`: at `write` what its cache has emptied meanwhile, the rest at `slc_cache.folded_write`.
  BytesPerSecond sustained_write(Bytes volume, Seconds idle) const;
  BytesPerSecond total_read() const;   ///< min(count x read, array_read)
  BytesPerSecond total_write() const;  ///< min(count x write, array_write)
  /// What a run has of each drive: all but `endurance.held`; 0: unlimited.
  Bytes room() const;
  Bytes total_room() const { return room() * count; }
  /// What the host wrote to each of its drives before this run, the most first. Drives beyond those
  /// that `endurance.written` tells of are new; of fewer those stay on which least was written.
  std::vector<Bytes> written_before() const;
  /// Of `slc_cache`, per drive: a byte in cells of one bit takes the room of three in those of
  /// three bits, so that a drive on which much lies has less of it; 0 without one.
  Bytes slc_cache_size() const;
  /// Of what the array gives, what one process reaches by `engine`.
  double share_of(IoEngine engine) const;
};

struct NetworkSpec {
  BytesPerSecond per_gpu;
  std::optional<BytesPerSecond> intra_node_per_gpu;
  Seconds latency;
};

struct Prices {
  double server = 0, gpu = 0, ssd = 0, dram_per_gib = 0;
  std::optional<double> gpu_hour;  ///< rent of one card with its share of the machine
  std::optional<double> kwh;       ///< at the plug
};

/// What a node takes from the plug while it trains, W.
struct Power {
  double gpu = 0;          ///< one card that computes
  double gpu_waiting = 0;  ///< one card that waits with a context open
  double host = 0;         ///< all but cards and drives
  double ssd = 0;          ///< one drive
};

/// A box or cluster: data with units and provenance (FORMATS, "Machine"). Absent optional numbers
/// are filled with their defaults when the file is read; `sources` then says `default: ...` for
/// them.
struct MachineFile {
  std::string name;
  std::uint64_t nodes = 1;
  GpuSpec gpu;
  PcieSpec pcie;
  HostSpec host;
  std::vector<StorageSpec> storage;
  NetworkSpec network;
  std::optional<Prices> prices_usd;
  std::optional<Power> power;
  std::map<std::string, std::string> sources;  ///< dotted path -> "paper|datasheet|...: where"
  std::map<std::string, std::string> dates;    ///< dotted path of a price -> "2026-06-03"
  /// Which parts of the catalogue it was put together from: "gpu", "host", "storage.<name>".
  std::map<std::string, std::string> bought;
  /// What `spillway machine` shows it by: a shipped name or a file; "" where it is part of another
  /// document. Its JSON is the same wherever it was read, and has none.
  std::string shown_by;

  std::uint64_t gpus() const { return nodes * gpu.count; }
  /// What is said of GPUs inside a node: gpu.peer_rate, else network.intra_node_per_gpu.
  std::optional<BytesPerSecond> peer_rate() const {
    return gpu.peer_rate ? gpu.peer_rate : network.intra_node_per_gpu;
  }
  /// Whether what goes from GPU to GPU of a node takes PCIe.
  bool peers_use_pcie() const { return !gpu.peer_access || !peer_rate(); }
  /// The socket of a card of a node; all have one where nothing limits what passes between sockets.
  std::uint64_t socket_of(std::uint64_t card) const {
    return host.socket_rate ? card % gpu.count * host.sockets / gpu.count : 0;
  }
  /// The most that r/R + w/W comes to on any of its storages; 1 where no mix is a gain.
  double best_mix() const;
  /// Total price: server + GPUs + drives (+ DRAM where priced by GiB); absent without prices_usd.
  std::optional<double> price() const;
};

/// JSON as people write it: quantities with units, absent options left out.
void to_json(nlohmann::json& json, const MachineFile& machine);
/// Reads a complete, schema-checked machine object into an empty `machine`. Optional numbers that
/// are absent get their defaults, each with an entry "default: ..." in `sources`.
///   Throws  nlohmann::json::exception or std::invalid_argument when the schema was not checked
void from_json(const nlohmann::json& json, MachineFile& machine);

}  // namespace spillway::description
