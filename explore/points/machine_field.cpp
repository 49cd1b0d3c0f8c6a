#include "explore/points/machine_field.hpp"

#include "scenarios/description/json_fields.hpp"

#include <map>
#include <vector>

namespace spillway::explore {

using namespace description;
using nlohmann::json;

namespace {

template <class T>
T read(const json& value) {
  return Written<T>::read(value);
}

/// A setter of a member of one part of the machine.
template <class Part, class T>
std::function<SetField(const json&)> field(Part MachineFile::*part, T Part::*member) {
  return [part, member](const json& value) -> SetField {
    const T number = read<T>(value);
    return [part, member, number](MachineFile& machine) { machine.*part.*member = number; };
  };
}

template <class Part, class T>
std::function<SetField(const json&)> field(Part MachineFile::*part,
                                           std::optional<T> Part::*member) {
  return [part, member](const json& value) -> SetField {
    const T number = read<T>(value);
    return [part, member, number](MachineFile& machine) { machine.*part.*member = number; };
  };
}

bool follows_by_default(const MachineFile& machine, const std::string& path) {
  const auto source = machine.sources.find(path);
  return source != machine.sources.end() && source->second.starts_with("default:");
}

/// Memory, and the reserve that follows from it where the file of `machine` has none.
std::optional<SetField> memory_setter(const MachineFile& machine, const std::string& path,
                                      const json& value) {
  if (path == "gpu.memory")
    return [memory = read<Bytes>(value),
            follows = follows_by_default(machine, "gpu.reserve")](MachineFile& changed) {
      changed.gpu.memory = memory;
      if (follows) changed.gpu.reserve = default_gpu_reserve(changed.gpu);
    };
  if (path == "host.memory")
    return [memory = read<Bytes>(value),
            follows = follows_by_default(machine, "host.reserve")](MachineFile& changed) {
      changed.host.memory = memory;
      if (follows) changed.host.reserve = default_host_reserve(memory);
    };
  return std::nullopt;
}

using Fields = std::map<std::string, std::function<SetField(const json&)>>;

const Fields& machine_fields() {
  static const Fields fields = {
      {"gpu.reserve", field(&MachineFile::gpu, &GpuSpec::reserve)},
      {"gpu.memory_rate", field(&MachineFile::gpu, &GpuSpec::memory_rate)},
      {"gpu.launch", field(&MachineFile::gpu, &GpuSpec::launch)},
      {"gpu.peer_rate", field(&MachineFile::gpu, &GpuSpec::peer_rate)},
      {"gpu.adam", field(&MachineFile::gpu, &GpuSpec::adam)},
      {"gpu.permute", field(&MachineFile::gpu, &GpuSpec::permute)},
      {"gpu.reduction", field(&MachineFile::gpu, &GpuSpec::reduction)},
      {"pcie.h2d", field(&MachineFile::pcie, &PcieSpec::h2d)},
      {"pcie.d2h", field(&MachineFile::pcie, &PcieSpec::d2h)},
      {"pcie.pageable_h2d", field(&MachineFile::pcie, &PcieSpec::pageable_h2d)},
      {"pcie.pageable_d2h", field(&MachineFile::pcie, &PcieSpec::pageable_d2h)},
      {"pcie.link", field(&MachineFile::pcie, &PcieSpec::link)},
      {"pcie.latency", field(&MachineFile::pcie, &PcieSpec::latency)},
      {"host.reserve", field(&MachineFile::host, &HostSpec::reserve)},
      {"host.memory_rate", field(&MachineFile::host, &HostSpec::memory_rate)},
      {"host.cores", field(&MachineFile::host, &HostSpec::cores)},
      {"host.adam", field(&MachineFile::host, &HostSpec::adam)},
      {"host.convert", field(&MachineFile::host, &HostSpec::convert)},
      {"host.check_chained", field(&MachineFile::host, &HostSpec::check_chained)},
      {"host.check_fused", field(&MachineFile::host, &HostSpec::check_fused)},
      {"host.socket_rate", field(&MachineFile::host, &HostSpec::socket_rate)},
      {"network.per_gpu", field(&MachineFile::network, &NetworkSpec::per_gpu)},
      {"network.intra_node_per_gpu",
       field(&MachineFile::network, &NetworkSpec::intra_node_per_gpu)},
      {"network.latency", field(&MachineFile::network, &NetworkSpec::latency)},
  };
  return fields;
}

/// A setter of a member of the storage of that name.
template <class T, class Held>
std::function<SetField(const std::string&, const json&)> storage_field(Held StorageSpec::*member) {
  return [member](const std::string& name, const json& value) -> SetField {
    const T number = read<T>(value);
    return [name, member, number](MachineFile& machine) {
      for (StorageSpec& storage : machine.storage)
        if (storage.name == name) storage.*member = number;
    };
  };
}

using StorageFields =
    std::map<std::string, std::function<SetField(const std::string&, const json&)>>;

const StorageFields& storage_fields() {
  static const StorageFields fields = {
      {"count", storage_field<std::uint64_t>(&StorageSpec::count)},
      {"capacity", storage_field<Bytes>(&StorageSpec::capacity)},
      {"read", storage_field<BytesPerSecond>(&StorageSpec::read)},
      {"write", storage_field<BytesPerSecond>(&StorageSpec::write)},
      {"array_read", storage_field<BytesPerSecond>(&StorageSpec::array_read)},
      {"array_write", storage_field<BytesPerSecond>(&StorageSpec::array_write)},
      {"mixed_efficiency", storage_field<double>(&StorageSpec::mixed_efficiency)},
      {"latency", storage_field<Seconds>(&StorageSpec::latency)},
      {"file_overhead", storage_field<Seconds>(&StorageSpec::file_overhead)},
  };
  return fields;
}

/// Rates by element type; of the training's own types one may stand in for another.
std::optional<SetField> compute_setter(const MachineFile& machine, const std::string& type,
                                       const json& value) {
  for (const char* other : {"fp16", "bf16", "fp32"})
    if (follows_by_default(machine, std::string("gpu.compute.") + other)) return std::nullopt;
  const auto rate = read<FlopsPerSecond>(value);
  return [type, rate](MachineFile& changed) { changed.gpu.compute[type] = rate; };
}

SetField attention_setter(const std::string& type, const json& value) {
  const auto rate = read<FlopsPerSecond>(value);
  return [type, rate](MachineFile& changed) { changed.gpu.attention[type] = rate; };
}

std::function<SetField(const json&)> price_field(double Prices::*member) {
  return [member](const json& value) -> SetField {
    const double number = value.get<double>();
    return [member, number](MachineFile& machine) { (*machine.prices_usd).*member = number; };
  };
}

const Fields& price_fields() {
  static const Fields fields = {{"server", price_field(&Prices::server)},
                                {"gpu", price_field(&Prices::gpu)},
                                {"ssd", price_field(&Prices::ssd)},
                                {"dram_per_gib", price_field(&Prices::dram_per_gib)}};
  return fields;
}

/// Numbers that follow from `path` where the machine file does not have them.
std::vector<std::string> followers(const std::string& path) {
  static const std::map<std::string, std::vector<std::string>> known = {
      {"pcie.h2d", {"network.per_gpu"}},
      {"pcie.d2h", {"network.per_gpu", "pcie.pageable_d2h", "pcie.pageable_h2d"}},
      {"pcie.pageable_d2h", {"pcie.pageable_h2d"}},
      {"host.memory_rate", {"host.adam", "host.convert", "host.check_chained", "host.check_fused"}},
      {"network.per_gpu", {"network.intra_node_per_gpu"}},
      {"gpu.peer_rate", {"network.intra_node_per_gpu"}}};
  if (const auto found = known.find(path); found != known.end()) return found->second;
  if (path.starts_with("storage.") && path.ends_with(".capacity"))
    return {path.substr(0, path.size() - 8) + "endurance.rated"};
  return {};
}

std::optional<SetField> storage_setter(const MachineFile& machine, const std::string& rest,
                                       const json& value) {
  const std::size_t dot = rest.find('.');
  const std::string name = rest.substr(0, dot);
  const auto field = storage_fields().find(dot == std::string::npos ? "" : rest.substr(dot + 1));
  if (field == storage_fields().end()) return std::nullopt;
  for (const StorageSpec& storage : machine.storage)
    if (storage.name == name) return field->second(name, value);
  return std::nullopt;
}

}  // namespace

std::optional<SetField> field_setter(const MachineFile& machine, const std::string& path,
                                     const json& value) {
  const std::string prefix = "machine.";
  if (!path.starts_with(prefix)) return std::nullopt;
  const std::string own = path.substr(prefix.size());
  for (const std::string& follower : followers(own))
    if (follows_by_default(machine, follower)) return std::nullopt;
  if (auto memory = memory_setter(machine, own, value)) return memory;
  if (own.starts_with("gpu.compute.")) return compute_setter(machine, own.substr(12), value);
  if (own.starts_with("gpu.attention.")) return attention_setter(own.substr(14), value);
  if (own.starts_with("storage.")) return storage_setter(machine, own.substr(8), value);
  if (own.starts_with("prices_usd.")) {
    const auto field = price_fields().find(own.substr(11));
    if (field == price_fields().end() || !machine.prices_usd) return std::nullopt;
    return field->second(value);
  }
  const auto field = machine_fields().find(own);
  if (field == machine_fields().end()) return std::nullopt;
  return field->second(value);
}

}  // namespace spillway::explore
