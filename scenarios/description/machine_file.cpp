#include "scenarios/description/machine_file.hpp"

#include "scenarios/description/json_fields.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::description {

namespace {

using nlohmann::json;

template <class Io, class Spec>
void gpu_fields(Io& io, Spec& gpu) {
  io("count", gpu.count);
  io("memory", gpu.memory);
  io.map("compute", gpu.compute);
  io.map("peak", gpu.peak);
  io.map("attention", gpu.attention);
  io("memory_rate", gpu.memory_rate);
  io.optional("reduction", gpu.reduction);
  io.optional("permute", gpu.permute);
  io("gpudirect", gpu.gpudirect);
  io("shares_host", gpu.shares_host);
  io("elementwise", gpu.elementwise);
  io("launch", gpu.launch);
  io("matrix_half", gpu.matrix_half);
  io("context", gpu.context);
  io.optional("peer_rate", gpu.peer_rate);
  io("peer_access", gpu.peer_access);
  io("fp8_any_layout", gpu.fp8_any_layout);
  io.optional("adam", gpu.adam);
  io("reserve", gpu.reserve);
  io("lanes", gpu.lanes);
  io("one_memory", gpu.one_memory);
}

template <class Io, class Spec>
void pcie_fields(Io& io, Spec& pcie) {
  io("h2d", pcie.h2d);
  io("d2h", pcie.d2h);
  io("pageable_h2d", pcie.pageable_h2d);
  io("pageable_d2h", pcie.pageable_d2h);
  io.optional("link", pcie.link);
  io("latency", pcie.latency);
}

template <class Io, class Spec>
void host_fields(Io& io, Spec& host) {
  io("memory", host.memory);
  io("memory_rate", host.memory_rate);
  io("cores", host.cores);
  io("adam", host.adam);
  io.optional("lion", host.lion);
  io.map("compute", host.compute);
  io("convert", host.convert);
  io("check_chained", host.check_chained);
  io("check_fused", host.check_fused);
  io("first_touch", host.first_touch);
  io("page_cache", host.page_cache);
  io("dirty_background", host.dirty_background);
  io("dirty_limit", host.dirty_limit);
  io("launch", host.launch);
  io("module_hooks", host.module_hooks);
  io.map("team_rates", host.team_rates);
  io("process_base", host.process_base);
  io("process_base_next", host.process_base_next);
  io("runtime_base", host.runtime_base);
  io("reserve", host.reserve);
  io.map("slots", host.slots);
  io("lanes", host.lanes);
  io("sockets", host.sockets);
  io.optional("socket_rate", host.socket_rate);
}

template <class Io, class Spec>
void endurance_fields(Io& io, Spec& endurance) {
  io("rated", endurance.rated);
  io.optional("dwpd", endurance.dwpd);
  io.optional("warranty", endurance.warranty);
  io("rating_waf", endurance.rating_waf);
  io.optional("waf", endurance.waf);
  io("over_provisioning", endurance.over_provisioning);
  io("erase_block", endurance.erase_block);
  io("mapping_unit", endurance.mapping_unit);
  io("held", endurance.held);
  io("written", endurance.written);
  io("trimmed", endurance.trimmed);
  io("retention", endurance.retention);
  io("rated_retention", endurance.rated_retention);
}

template <class Io, class Spec>
void storage_fields(Io& io, Spec& storage) {
  io("name", storage.name);
  io("kind", storage.kind);
  io("count", storage.count);
  io("capacity", storage.capacity);
  io("read", storage.read);
  io("write", storage.write);
  io.optional("array_read", storage.array_read);
  io.optional("array_write", storage.array_write);
  io("mixed_efficiency", storage.mixed_efficiency);
  io.map("process_efficiency", storage.process_efficiency);
  io("latency", storage.latency);
  io("file_overhead", storage.file_overhead);
  io("gpus", storage.gpus);
  io("shared_by_nodes", storage.shared_by_nodes);
  io("device", storage.device);
  io("form", storage.form);
  io("lanes", storage.lanes);
  io.optional("price_usd", storage.price_usd);
}

template <class Io, class Spec>
void near_fields(Io& io, Spec& near) {
  io("read", near.read);
  io("write", near.write);
  io("adam", near.adam);
  io("start", near.start);
}

template <class Io, class Spec>
void cache_fields(Io& io, Spec& cache) {
  io("size", cache.size);
  io("folded_write", cache.folded_write);
}

template <class Io, class Spec>
void network_fields(Io& io, Spec& network) {
  io("per_gpu", network.per_gpu);
  io.optional("intra_node_per_gpu", network.intra_node_per_gpu);
  io("latency", network.latency);
}

template <class Io, class Spec>
void price_fields(Io& io, Spec& prices) {
  io("server", prices.server);
  io("gpu", prices.gpu);
  io("ssd", prices.ssd);
  io("dram_per_gib", prices.dram_per_gib);
  io.optional("gpu_hour", prices.gpu_hour);
  io.optional("kwh", prices.kwh);
}

template <class Io, class Spec>
void power_fields(Io& io, Spec& power) {
  io("gpu", power.gpu);
  io("gpu_waiting", power.gpu_waiting);
  io("host", power.host);
  io("ssd", power.ssd);
}

/// `products` as people write it: "<tokens>x<width>" -> share.
json products_json(const GpuSpec& gpu) {
  json object = json::object();
  for (const ProductRate& product : gpu.products)
    object[std::to_string(product.tokens) + "x" + std::to_string(product.width)] = product.share;
  return object;
}

void read_products(const json& object, GpuSpec& gpu) {
  gpu.products.clear();
  for (const auto& [shape, share] : object.items())
    gpu.products.push_back(
        {std::stoull(shape), std::stoull(shape.substr(shape.find('x') + 1)), share.get<double>()});
  std::sort(gpu.products.begin(), gpu.products.end());
}

json storage_json(const StorageSpec& storage) {
  json object;
  FieldWriter write(object);
  storage_fields(write, storage);
  if (storage.gpus.empty()) object.erase("gpus");
  if (storage.device.empty()) object.erase("device");
  if (storage.form.empty()) object.erase("form");
  if (storage.lanes == 0) object.erase("lanes");
  if (storage.capacity == Bytes{}) object.erase("capacity");
  if (storage.endurance) {
    FieldWriter endurance(object["endurance"]);
    endurance_fields(endurance, *storage.endurance);
  }
  if (storage.near_storage) {
    FieldWriter near(object["near_storage"]);
    near_fields(near, *storage.near_storage);
  }
  if (storage.slc_cache) {
    FieldWriter cache(object["slc_cache"]);
    cache_fields(cache, *storage.slc_cache);
  }
  return object;
}

/// Gives fields that the object leaves out their defaults and says so in `sources`.
class Defaults {
 public:
  Defaults(const json& object, std::string prefix, MachineFile& machine)
      : object_(object), prefix_(std::move(prefix)), machine_(machine) {}

  template <class T>
  void operator()(const char* key, T& field, T value, const char* reason) const {
    if (object_.contains(key)) return;
    field = value;
    machine_.sources[prefix_ + key] = std::string("default: ") + reason;
  }
  /// The same of a number that follows anew from the others when a resolved machine is read again
  /// with changes.
  template <class T>
  void again(const char* key, T& field, T value, const char* reason) const {
    const auto source = machine_.sources.find(prefix_ + key);
    const bool stated = object_.contains(key) && (source == machine_.sources.end() ||
                                                  !source->second.starts_with("default: "));
    if (stated) return;
    field = value;
    machine_.sources[prefix_ + key] = std::string("default: ") + reason;
  }

 private:
  const json& object_;
  std::string prefix_;
  MachineFile& machine_;
};

template <class Rate>
Rate share(Rate rate, double numerator, double denominator) {
  return Rate(rate.value() * numerator / denominator);
}

void read_compute(MachineFile& machine) {
  auto& compute = machine.gpu.compute;
  const auto stands_in = [&](const char* missing, const char* present, const char* reason) {
    if (compute.contains(missing) || !compute.contains(present)) return;
    compute[missing] = compute[present];
    machine.sources[std::string("gpu.compute.") + missing] = std::string("default: ") + reason;
  };
  stands_in("bf16", "fp16", "as fp16");
  stands_in("fp16", "bf16", "as bf16");
  stands_in("fp32", "tf32", "fp32 training multiplies in TF32");
}

/// With it, GPT-2's products of 768 x 768 and 768 x 3072 with 16,384 tokens reach 0.59 and 0.72 of
/// `compute`: of 0.5 to 0.8 of a card's peak, the 0.35 to 0.55 that public trainings of that model
/// reach on an A100 (nanoGPT).
constexpr double usual_matrix_half = 384;

void read_gpu(const json& object, MachineFile& machine) {
  GpuSpec& gpu = machine.gpu;
  FieldReader read(object);
  gpu_fields(read, gpu);
  read_compute(machine);
  const Defaults fill(object, "gpu.", machine);
  fill("count", gpu.count, std::uint64_t{1}, "one GPU");
  fill("gpudirect", gpu.gpudirect, false, "without GPUDirect Storage");
  fill("shares_host", gpu.shares_host, false, "a device with memory of its own");
  fill("elementwise", gpu.elementwise, ElementwiseCost::included,
       "gpu.compute is a rate achieved over whole passes");
  fill("launch", gpu.launch, Seconds(0), "inside gpu.compute");
  fill("matrix_half", gpu.matrix_half, gpu.shares_host ? 0 : usual_matrix_half,
       gpu.shares_host ? "a processor multiplies small matrices as fast"
                       : "assumed for cards: 768 wide, products reach 0.6 to 0.8 of compute");
  if (const json* products = read.find("products")) read_products(*products, gpu);
  fill("context", gpu.context, gpu.shares_host ? Bytes(0) : Bytes(1ull << 29),
       gpu.shares_host
           ? "the host device has no context"
           : "0.5 GiB, a CUDA context whose libraries load kernels when used (12.2 on)");
  fill.again("reserve", gpu.reserve, default_gpu_reserve(gpu),
             gpu.shares_host || gpu.one_memory
                 ? "a share of the host's memory, which has a reserve of its own"
                 : "300 MiB for desktop, driver and fragmentation, assumed");
}

void read_pcie(const json& object, MachineFile& machine) {
  PcieSpec& pcie = machine.pcie;
  FieldReader read(object);
  pcie_fields(read, pcie);
  const Defaults fill(object, "pcie.", machine);
  fill("pageable_d2h", pcie.pageable_d2h, std::min(pcie.d2h, BytesPerSecond(8.2e9)),
       "8.2 GB/s as fitted on one testbed, at most pcie.d2h");
  fill("pageable_h2d", pcie.pageable_h2d, pcie.pageable_d2h, "as pcie.pageable_d2h");
  fill("latency", pcie.latency, Seconds(10e-6), "10 us");
}

/// What threads of the host cost a training beside its kernels.
void read_threads(const Defaults& fill, MachineFile& machine) {
  HostSpec& host = machine.host;
  fill("first_touch", host.first_touch, BytesPerSecond(2.5e9),
       "2.5 GB/s, assumed: a fault and a page that is cleared for each 4 KiB");
  fill("page_cache", host.page_cache, BytesPerSecond(3e9),
       "3 GB/s: of 32 files at once, read or written past free memory, Linux moves 80 to 115 GB/s "
       "(Axboe, patches of RWF_UNCACHED, 2024)");
  fill("dirty_background", host.dirty_background, 0.1, "vm.dirty_background_ratio of Linux");
  fill("dirty_limit", host.dirty_limit, std::max(0.2, host.dirty_background),
       "vm.dirty_ratio of Linux, at least host.dirty_background");
  const bool shares = machine.gpu.shares_host;
  fill("launch", host.launch, Seconds(0),
       shares ? "kernels are calls of the host"
              : "inside gpu.compute; PyTorch's thread takes about 5 us for an operator, assumed, "
                "which shows where kernels are shorter");
  fill(
      "module_hooks", host.module_hooks, Seconds(shares ? 0 : 500e-6),
      shares
          ? "no hooks of Python"
          : "500 us: hooks in Python before and after a module, which look for its weights, gather "
            "and free them: at most that on the H100 of mlp_offload_t1, 1 ms as fitted on steps of "
            "DeepSpeed with four others");
}

void read_host(const json& object, MachineFile& machine) {
  HostSpec& host = machine.host;
  FieldReader read(object);
  host_fields(read, host);
  const double rate = host.memory_rate.value();
  const Defaults fill(object, "host.", machine);
  fill("cores", host.cores, std::uint64_t{1}, "one core");
  fill("adam", host.adam, ParamsPerSecond(rate / 112),
       "28 B per parameter at a quarter of host.memory_rate");
  fill("convert", host.convert, share(host.memory_rate, 1, 10), "0.1 x host.memory_rate");
  fill("check_chained", host.check_chained, share(host.memory_rate, 7, 100),
       "0.07 x host.memory_rate");
  fill("check_fused", host.check_fused, share(host.memory_rate, 47, 100),
       "0.47 x host.memory_rate");
  read_threads(fill, machine);
  fill("process_base", host.process_base, quantity_from<Bytes>("1.67 GiB"),
       "interpreter, libraries and context of the first rank, fitted on one testbed");
  fill("process_base_next", host.process_base_next, quantity_from<Bytes>("1.89 GiB"),
       "the same of each further rank, fitted on one testbed");
  fill("runtime_base", host.runtime_base, Bytes(0), "nothing beyond the process bases");
  fill.again("reserve", host.reserve, default_host_reserve(host.memory),
             "4 GiB or 5 % of host.memory for the system, whichever is more, at most half; "
             "assumed");
}

Bytes writes_of(double dwpd, Bytes capacity, Seconds warranty) {
  constexpr double day_s = 86400;
  return Bytes(static_cast<std::uint64_t>(
      std::llround(dwpd * static_cast<double>(capacity.value()) * warranty.value() / day_s)));
}

void read_endurance(const json& object, StorageSpec& storage, MachineFile& machine) {
  EnduranceSpec& endurance = storage.endurance.emplace();
  FieldReader read(object);
  endurance_fields(read, endurance);
  const Defaults fill(object, "storage." + storage.name + ".endurance.", machine);
  fill("rating_waf", endurance.rating_waf, 1.0, "the rating counts host writes only");
  if (endurance.dwpd && endurance.warranty)
    fill("rated", endurance.rated,
         writes_of(*endurance.dwpd, storage.capacity, *endurance.warranty),
         "dwpd x capacity x 365 x years of warranty");
  fill("over_provisioning", endurance.over_provisioning, 0.0737,
       "flash counted in GiB behind a capacity in GB");
  fill("erase_block", endurance.erase_block, Bytes(1u << 30),
       "assumed 1 GiB, a block of 16 MiB on each of 64 planes");
  fill("mapping_unit", endurance.mapping_unit, Bytes(4096), "4 KiB, as most drives map");
  fill("held", endurance.held, Bytes(0), "nothing else lies on the drive");
  fill("written", endurance.written, {}, "the drives are new");
  if (const json* written = read.find("written"); written && !written->is_array())
    endurance.written.resize(storage.count, endurance.written.front());
  std::erase(endurance.written, Bytes{});
  fill("trimmed", endurance.trimmed, true, "free space is trimmed");
  const Seconds three_years(3 * 365 * 86400.0);
  fill("rated_retention", endurance.rated_retention, three_years, "3 years");
  fill("retention", endurance.retention, endurance.rated_retention, "as rated_retention");
}

void read_near_storage(const json& object, StorageSpec& storage, MachineFile& machine) {
  NearStorageSpec& near = storage.near_storage.emplace();
  FieldReader read(object);
  near_fields(read, near);
  const Defaults fill(object, "storage." + storage.name + ".near_storage.", machine);
  fill("start", near.start, Seconds(1e-3),
       "1 ms, assumed: a thread begins, four files are opened and a kernel is launched for each "
       "sub-group, as Smart-Infinity's code does");
}

StorageSpec read_storage(const json& object, MachineFile& machine) {
  StorageSpec storage;
  FieldReader read(object);
  storage_fields(read, storage);
  const Defaults fill(object, "storage." + storage.name + ".", machine);
  fill("kind", storage.kind, StorageKind::ssd, "an SSD");
  fill("count", storage.count, std::uint64_t{1}, "one drive");
  if (storage.kind == StorageKind::remote)
    fill("capacity", storage.capacity, Bytes(0), "unlimited");
  fill("mixed_efficiency", storage.mixed_efficiency, 1.0,
       "reads and writes share the drive evenly");
  const bool remote = storage.kind == StorageKind::remote;
  fill("latency", storage.latency, Seconds(remote ? 1e-3 : 85e-6), remote ? "1 ms" : "85 us");
  fill("file_overhead", storage.file_overhead, Seconds(0), "nothing");
  fill("shared_by_nodes", storage.shared_by_nodes, false, "each node has its own");
  if (const json* endurance = read.find("endurance")) read_endurance(*endurance, storage, machine);
  if (const json* near = read.find("near_storage")) read_near_storage(*near, storage, machine);
  if (const json* cache = read.find("slc_cache")) {
    FieldReader fields(*cache);
    cache_fields(fields, storage.slc_cache.emplace());
  }
  return storage;
}

void read_power(const json& object, MachineFile& machine) {
  FieldReader read(object);
  Power& power = machine.power.emplace();
  power_fields(read, power);
  constexpr double waiting = 0.25;
  const Defaults fill(object, "power.", machine);
  fill("gpu_waiting", power.gpu_waiting, waiting * power.gpu,
       "assumed a quarter of power.gpu: clocks stay up while a context is open");
}

void read_network(const json& object, MachineFile& machine) {
  FieldReader read(object);
  network_fields(read, machine.network);
  const Defaults fill(object, "network.", machine);
  fill("per_gpu", machine.network.per_gpu, std::min(machine.pcie.h2d, machine.pcie.d2h),
       "through the host, as pcie");
  fill("latency", machine.network.latency, Seconds(10e-6), "10 us");
  const auto source = machine.sources.find("network.per_gpu");
  const bool given = source == machine.sources.end() || !source->second.starts_with("default: ");
  // one node has no others to reach: its network is the one between its GPUs, where these reach
  // each other at all
  if (machine.nodes == 1 && given && !machine.gpu.peer_rate && machine.gpu.peer_access &&
      !machine.network.intra_node_per_gpu) {
    machine.network.intra_node_per_gpu = machine.network.per_gpu;
    machine.sources["network.intra_node_per_gpu"] = "default: as network.per_gpu, on one node";
  }
}

}  // namespace

void to_json(json& object, const MachineFile& machine) {
  object = json{{"name", machine.name}, {"nodes", machine.nodes}, {"storage", json::array()}};
  FieldWriter gpu(object["gpu"]);
  gpu_fields(gpu, machine.gpu);
  if (!machine.gpu.products.empty()) object["gpu"]["products"] = products_json(machine.gpu);
  if (machine.gpu.lanes == 0) object["gpu"].erase("lanes");
  if (!machine.gpu.one_memory) object["gpu"].erase("one_memory");
  if (machine.gpu.peer_access) object["gpu"].erase("peer_access");
  if (!machine.gpu.fp8_any_layout) object["gpu"].erase("fp8_any_layout");
  FieldWriter pcie(object["pcie"]);
  pcie_fields(pcie, machine.pcie);
  FieldWriter host(object["host"]);
  host_fields(host, machine.host);
  if (machine.host.lanes == 0) object["host"].erase("lanes");
  if (machine.host.sockets == 1) object["host"].erase("sockets");
  for (const StorageSpec& storage : machine.storage)
    object["storage"].push_back(storage_json(storage));
  FieldWriter network(object["network"]);
  network_fields(network, machine.network);
  if (machine.prices_usd) {
    FieldWriter prices(object["prices_usd"]);
    price_fields(prices, *machine.prices_usd);
    // nothing costs nothing: a drive that is added to this brings its own price
    if (machine.storage.empty() && machine.prices_usd->ssd == 0) object["prices_usd"].erase("ssd");
  }
  if (machine.power) {
    FieldWriter power(object["power"]);
    power_fields(power, *machine.power);
  }
  object["sources"] = machine.sources;
  if (!machine.dates.empty()) object["dates"] = machine.dates;
  if (!machine.bought.empty()) object["bought"] = machine.bought;
}

void from_json(const json& object, MachineFile& machine) {
  FieldReader read(object);
  read("name", machine.name);
  read("nodes", machine.nodes);
  read("sources", machine.sources);
  read("dates", machine.dates);
  read("bought", machine.bought);
  read_gpu(object.at("gpu"), machine);
  read_pcie(object.at("pcie"), machine);
  read_host(object.at("host"), machine);
  if (const json* storages = read.find("storage"))
    for (const json& storage : *storages) machine.storage.push_back(read_storage(storage, machine));
  const json* network = read.find("network");
  read_network(network ? *network : json::object(), machine);
  if (const json* found = read.find("prices_usd")) {
    json prices = *found;
    if (machine.storage.empty()) prices.emplace("ssd", 0.0);
    FieldReader fields(prices);
    price_fields(fields, machine.prices_usd.emplace());
  }
  if (const json* power = read.find("power")) read_power(*power, machine);
}

}  // namespace spillway::description
