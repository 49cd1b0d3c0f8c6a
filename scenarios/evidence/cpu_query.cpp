#include "scenarios/evidence/formats.hpp"

#include <fmt/format.h>

namespace spillway::evidence {

using nlohmann::json;

namespace {

/// What of lscpu counts.
struct Processor {
  std::string model;
  std::optional<double> sockets, cores, threads, processors;
  std::string flags;
};

void set(Processor& into, std::string_view field, std::string_view value) {
  const auto number = [&] { return number_after(std::string("=").append(value), "="); };
  if (field == "Model name") into.model = value;
  if (field == "Socket(s)") into.sockets = number();
  if (field == "Core(s) per socket" || field == "Core(s) per cluster") into.cores = number();
  if (field == "Thread(s) per core") into.threads = number();
  if (field == "CPU(s)" && !into.processors) into.processors = number();
  if (field == "Flags") into.flags = value;
}

/// Threads of one core share the units that Adam keeps busy: cores count.
void put(const Processor& found, Evidence& into) {
  double cores = found.processors.value_or(0) / found.threads.value_or(1);
  if (found.cores && found.sockets) cores = *found.cores * *found.sockets;
  if (cores < 1)
    refuse_file(into.file, "output of lscpu that says no number of processors",
                "write it with lscpu, or lscpu -J");
  into.readings.push_back({"host.cores", "count", cores, found.model});
  const bool wide = found.flags.find("avx512f") != std::string::npos;
  if (!found.flags.empty())
    into.notes.push_back(
        fmt::format("{}: the processor has {}; what its Adam reaches is measured by spillway probe",
                    found.model.empty() ? "lscpu" : found.model, wide ? "AVX-512" : "no AVX-512"));
}

void walk(const json& fields, Processor& into) {
  if (!fields.is_array()) return;
  for (const json& each : fields) {
    std::string field = text_of(each, "field");
    if (field.ends_with(':')) field.pop_back();
    set(into, field, text_of(each, "data"));
    if (const auto below = each.find("children"); below != each.end()) walk(*below, into);
  }
}

/// The value of `name="..."` in an element's tag.
std::string_view attribute(std::string_view tag, std::string_view name) {
  const std::string key = std::string(" ").append(name) + "=\"";
  const std::size_t at = tag.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = tag.substr(at + key.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

void read_cpu_query(std::string_view text, Evidence& into) {
  into.kind = "lscpu";
  Processor processor;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    set(processor, trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  put(processor, into);
}

void read_cpu_query(const json& document, Evidence& into) {
  into.kind = "lscpu -J";
  Processor processor;
  walk(document.value("lscpu", json::array()), processor);
  put(processor, into);
}

void read_topology(std::string_view text, Evidence& into) {
  into.kind = "hwloc";
  double cores = 0, memory = 0, of_nvidia = 0, of_amd = 0;
  std::size_t nodes = 0;
  for (std::size_t at = text.find("<object "); at != std::string_view::npos;
       at = text.find("<object ", at + 1)) {
    const std::string_view rest = text.substr(at);
    const std::string_view tag = rest.substr(0, rest.find('>'));
    const std::string_view type = attribute(tag, "type");
    if (type == "Core") ++cores;
    if (type == "NUMANode") {
      ++nodes;
      const auto bytes = attribute(tag, "local_memory");
      if (!bytes.empty()) memory += number_after(std::string("=").append(bytes), "=").value_or(0);
    }
    // 0302: a 3D controller; 0300, a display, is a GPU too where NVIDIA or AMD made it.
    const std::string_view pci = attribute(tag, "pci_type");
    if (!pci.starts_with("0302") && !pci.starts_with("0300")) continue;
    if (pci.find("[10de:") != std::string_view::npos) ++of_nvidia;
    if (pci.find("[1002:") != std::string_view::npos) ++of_amd;
  }
  if (cores < 1)
    refuse_file(into.file, "a topology without cores", "write it with lstopo --of xml");
  into.readings.push_back({"host.cores", "count", cores, "cores of the topology"});
  if (memory > 0)
    into.readings.push_back(
        {"host.memory", "bytes", memory,
         fmt::format("memory of {} NUMA node{}", nodes, nodes == 1 ? "" : "s")});
  // Beside NVIDIA's cards AMD's is the graphics unit of the processor.
  const double cards = of_nvidia > 0 ? of_nvidia : of_amd;
  if (cards > 0)
    into.readings.push_back({"gpu.count", "count", cards, "display controllers of GPU makers"});
}

}  // namespace spillway::evidence
