#include "scenarios/trace/import_trace.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/trace/trace_text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

namespace spillway::scenarios {

using namespace strategies::planner;
using description::ScenarioError;
using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& file, int line, int column, const std::string& path,
                         const std::string& message, const std::string& hint) {
  throw ScenarioError({{file, line, column, path, message, hint}});
}

/// Numbers come as numbers or as text, in traces of different years.
std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return {};
  try {
    return std::stod(found->get<std::string>());
  } catch (const std::exception&) {
    return {};
  }
}

std::optional<std::int64_t> whole(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number_integer()) return found->get<std::int64_t>();
  const auto value = number(object, key);
  if (!value || !(std::abs(*value) < 9e18)) return {};
  return static_cast<std::int64_t>(*value);
}

struct Traced {
  std::string name;
  double start_us = 0, duration_us = 0, launched_us = 0;
  std::uint32_t stream = 0;
  std::int64_t operation = -1;  ///< External id
  std::int64_t correlation = -1;
};

struct MemoryEvent {
  double at_us = 0;
  std::int64_t address = 0, bytes = 0;
  std::optional<std::int64_t> allocated;  ///< on the device after it
};

/// Operands of an operator: storage -> bytes, read, written.
struct Use {
  std::uint64_t bytes = 0;
  bool reads = false, writes = false;
};
using Operands = std::map<std::int64_t, Use>;

class Trace {
 public:
  Trace(const std::string& text, const std::string& file, const TraceOptions& options)
      : file_(file), options_(options) {
    if (!for_each_event(text, file, [&](const json& one, std::size_t i) { event(one, i); }))
      refuse(file, 0, 0, "traceEvents", "no list of events",
             "export it by torch.profiler's export_chrome_trace");
    if (kernels_.empty())
      refuse(file, 0, 0, "traceEvents", fmt::format("no kernel of GPU {} in it", options.device),
             others_.empty() ? "record with ProfilerActivity.CUDA, or choose another --device"
                             : fmt::format("choose another --device: it has kernels of {}",
                                           fmt::join(others_, ", ")));
    for (Traced& kernel : kernels_) {
      const auto launch = launches_.find(kernel.correlation);
      kernel.launched_us = launch == launches_.end() ? kernel.start_us : launch->second;
    }
    std::stable_sort(kernels_.begin(), kernels_.end(), [](const auto& one, const auto& other) {
      return one.start_us < other.start_us;
    });
  }

  void add_kernels(Lifetimes& lifetimes) const {
    double now = 0;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const Traced& kernel = kernels_[i];
      if (options_.keep_gaps) now = (kernel.start_us - kernels_.front().start_us) * 1e-6;
      lifetimes.kernels.push_back({kernel.name, now, kernel.duration_us * 1e-6, kernel.stream});
      const double next =
          i + 1 < kernels_.size() ? kernels_[i + 1].start_us - kernel.start_us : kernel.duration_us;
      now += std::min(next, kernel.duration_us) * 1e-6;
    }
  }

  /// Births and deaths of [memory]: between them nobody knows.
  void add_memory(Lifetimes& lifetimes) {
    if (memory_.empty())
      refuse(file_, 0, 0, "traceEvents", "no [memory] events, so no tensor has a size",
             "record with profile_memory=True, or give --execution-trace");
    std::stable_sort(memory_.begin(), memory_.end(),
                     [](const auto& one, const auto& other) { return one.at_us < other.at_us; });
    std::unordered_map<std::int64_t, MemoryEvent> live;
    for (const MemoryEvent& event : memory_) {
      const auto born = live.find(event.address);
      if (born != live.end()) {
        // an address that is given out again was free, whether or not the trace says when
        add_tensor(lifetimes, born->second.bytes, born->second.at_us, event.at_us);
        live.erase(born);
      } else if (event.bytes < 0) {
        add_tensor(lifetimes, -event.bytes, {}, event.at_us);
        ended_ += -event.bytes;
      }
      if (event.bytes > 0) live[event.address] = event;
    }
    add_standing(lifetimes);
    std::map<std::int64_t, MemoryEvent> left(live.begin(), live.end());
    for (const auto& [address, event] : left) add_tensor(lifetimes, event.bytes, event.at_us, {});
    lifetimes.partial = true;
  }

  /// What the reader should know of the recording.
  std::vector<text::Text> notes() const {
    std::vector<text::Text> all;
    if (steps_.size() > 1)
      all.push_back(text::filled(
          "the trace records {} steps, and a plan takes them for one: record one, with active=1",
          {text::count(steps_.size())}));
    if (standing_ > 0)
      all.push_back(
          text::filled("{} were allocated before the recording began and never freed in it: they "
                       "stay on the GPU in a plan",
                       {text::memory(standing_)}));
    return all;
  }

  void add_operands(Lifetimes& lifetimes, const std::map<std::int64_t, Operands>& by_function,
                    std::size_t& unknown) const {
    std::map<std::int64_t, LifetimeTensor> storages;
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
      const auto function = functions_.find(kernels_[i].operation);
      const auto operands =
          function == functions_.end() ? by_function.end() : by_function.find(function->second);
      if (operands == by_function.end()) {
        ++unknown;
        continue;
      }
      for (const auto& [storage, use] : operands->second) {
        LifetimeTensor& tensor = storages[storage];
        tensor.id = static_cast<std::uint64_t>(storage);
        tensor.bytes = std::max(tensor.bytes, use.bytes);
        tensor.active.push_back({i, i, use.reads, use.writes});
      }
    }
    for (auto& [storage, tensor] : storages) {
      if (tensor.bytes == 0) continue;
      tensor.persistent = !tensor.active.front().writes;  // somebody wrote it a step before
      tensor.kind = tensor.persistent ? TensorKind::weight : TensorKind::activation;
      lifetimes.tensors.push_back(std::move(tensor));
    }
  }

 private:
  /// Weights and states of most recordings: bytes that were there when it began and when it ended.
  /// Nobody knows who uses them when, so every kernel may.
  void add_standing(Lifetimes& lifetimes) {
    const MemoryEvent& first = memory_.front();
    standing_ = first.allocated ? *first.allocated - first.bytes - ended_ : 0;
    if (standing_ <= 0) return;
    LifetimeTensor tensor;
    tensor.id = lifetimes.tensors.size();
    tensor.bytes = static_cast<std::uint64_t>(standing_);
    tensor.persistent = true;
    tensor.kind = TensorKind::weight;
    tensor.active.push_back({0, static_cast<std::uint32_t>(kernels_.size() - 1), true, true});
    lifetimes.tensors.push_back(std::move(tensor));
  }

  void event(const json& event, std::size_t index) {
    if (!event.is_object()) return;
    const std::string category = event.value("cat", json("")).is_string()
                                     ? event.value("cat", std::string())
                                     : std::string();
    static const json nothing = json::object();
    const auto found = event.find("args");
    const json& args = found != event.end() && found->is_object() ? *found : nothing;
    if (category == "kernel" || category == "Kernel") return kernel(event, args, index);
    if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
      const auto correlation = whole(args, "correlation");
      if (correlation) launches_[*correlation] = number(event, "ts").value_or(0);
    }
    if (category == "cpu_op" || category == "Operator") {
      const auto id = whole(args, "External id"), function = whole(args, "Record function id");
      if (id && function) functions_[*id] = *function;
    }
    const auto name = event.find("name");
    if (name == event.end() || !name->is_string()) return;
    const std::string& text = name->get_ref<const std::string&>();
    if (text == "[memory]") memory(event, args);
    if (category == "user_annotation" && text.starts_with("ProfilerStep#")) steps_.insert(text);
  }

  void kernel(const json& event, const json& args, std::size_t index) {
    const auto start = number(event, "ts"), duration = number(event, "dur");
    if (!start || !duration || *duration < 0)
      refuse(file_, 0, 0, fmt::format("traceEvents[{}]", index), "a kernel without ts or dur",
             "both are numbers of microseconds");
    if (const auto device = whole(args, "device");
        device && *device != static_cast<std::int64_t>(options_.device)) {
      others_.insert(*device);
      return;
    }
    Traced kernel;
    const auto name = event.find("name");
    kernel.name = name != event.end() && name->is_string() ? name->get<std::string>() : "kernel";
    kernel.start_us = *start;
    kernel.duration_us = *duration;
    kernel.stream =
        static_cast<std::uint32_t>(std::max<std::int64_t>(0, whole(args, "stream").value_or(0)));
    kernel.operation = whole(args, "External id").value_or(-1);
    kernel.correlation = whole(args, "correlation").value_or(-1);
    kernels_.push_back(std::move(kernel));
  }

  void memory(const json& event, const json& args) {
    if (whole(args, "Device Type").value_or(1) == 0) return;  // of the host
    if (const auto device = whole(args, "Device Id");
        device && *device >= 0 && *device != static_cast<std::int64_t>(options_.device))
      return;
    const auto address = whole(args, "Addr"), bytes = whole(args, "Bytes");
    if (!address || !bytes || *bytes == 0) return;
    memory_.push_back(
        {number(event, "ts").value_or(0), *address, *bytes, whole(args, "Total Allocated")});
  }

  void add_tensor(Lifetimes& lifetimes, std::int64_t bytes, std::optional<double> born,
                  std::optional<double> died) {
    if (by_launch_.empty()) sort_by_launch();
    const auto position = [&](double at) {
      return static_cast<std::size_t>(std::lower_bound(by_launch_.begin(), by_launch_.end(), at,
                                                       [&](std::uint32_t kernel, double time) {
                                                         return kernels_[kernel].launched_us < time;
                                                       }) -
                                      by_launch_.begin());
    };
    const std::size_t first = born ? position(*born) : 0;
    const std::size_t end = died ? position(*died) : by_launch_.size();
    if (first >= end) return;  // no kernel ran while it lived
    LifetimeTensor tensor;
    tensor.id = lifetimes.tensors.size();
    tensor.bytes = static_cast<std::uint64_t>(bytes);
    tensor.kind = TensorKind::activation;
    // one that lives when the step ends is another step's when it begins, such as a gradient: it is
    // there up to the end, or from the beginning on
    std::uint32_t one = born ? by_launch_[first] : 0;
    std::uint32_t last =
        died ? by_launch_[end - 1] : static_cast<std::uint32_t>(kernels_.size() - 1);
    if (one > last) std::swap(one, last);  // streams run kernels in another order
    tensor.active.push_back({one, one, !born, born.has_value()});
    if (last != one) tensor.active.push_back({last, last, true, false});
    lifetimes.tensors.push_back(std::move(tensor));
  }

  void sort_by_launch() {
    for (std::uint32_t i = 0; i < kernels_.size(); ++i) by_launch_.push_back(i);
    std::stable_sort(by_launch_.begin(), by_launch_.end(),
                     [&](std::uint32_t one, std::uint32_t other) {
                       return kernels_[one].launched_us < kernels_[other].launched_us;
                     });
  }

  std::string file_;
  TraceOptions options_;
  std::vector<Traced> kernels_;
  std::vector<std::uint32_t> by_launch_;
  std::unordered_map<std::int64_t, double> launches_;         ///< by correlation
  std::unordered_map<std::int64_t, std::int64_t> functions_;  ///< External id -> record function
  std::vector<MemoryEvent> memory_;
  std::set<std::int64_t> others_;  ///< GPUs with kernels, besides the chosen one
  std::set<std::string> steps_;
  std::int64_t ended_ = 0;  ///< bytes that were there when the recording began, and were freed
  std::int64_t standing_ = 0;
};

/// Tensors in a value of an execution trace: [tensor, storage, offset, elements, bytes each,
/// "cuda:0"], and lists of them.
void collect(const json& value, bool written, std::uint64_t device, Operands& operands) {
  if (!value.is_array()) return;
  const bool tensor = value.size() == 6 && value[5].is_string() && value[1].is_number();
  if (!tensor) {
    for (const json& part : value) collect(part, written, device, operands);
    return;
  }
  const std::string where = value[5].get<std::string>();
  if (where != "cuda" && where != "cuda:" + std::to_string(device)) return;
  const auto amount = [&](std::size_t i) {
    return value[i].is_number() ? static_cast<std::uint64_t>(std::max(0.0, value[i].get<double>()))
                                : 0;
  };
  Use& use = operands[value[1].get<std::int64_t>()];
  use.bytes = std::max(use.bytes, (amount(2) + amount(3)) * amount(4));
  (written ? use.writes : use.reads) = true;
}

/// Record-function id of a node: an attribute, or a key of its own in older schemas.
std::optional<std::int64_t> function_of(const json& node) {
  if (const auto id = whole(node, "rf_id")) return id;
  const auto attributes = node.find("attrs");
  if (attributes == node.end() || !attributes->is_array()) return {};
  for (const json& attribute : *attributes)
    if (attribute.is_object() && attribute.value("name", json("")) == "rf_id")
      return whole(attribute, "value");
  return {};
}

std::map<std::int64_t, Operands> operands_of(const json& execution, const std::string& file,
                                             std::uint64_t device) {
  if (!execution.is_object() || !execution.contains("nodes") || !execution["nodes"].is_array())
    refuse(file, 0, 0, "nodes", "no list of nodes",
           "record it by torch.profiler.ExecutionTraceObserver");
  std::map<std::int64_t, Operands> all;
  for (const json& node : execution["nodes"]) {
    if (!node.is_object()) continue;
    const auto function = function_of(node);
    if (!function) continue;
    const auto values = [&](const char* key) -> json {
      const auto found = node.find(key);
      if (found == node.end()) return json::array();
      return found->is_object() ? found->value("values", json::array()) : *found;
    };
    Operands operands;
    collect(values("inputs"), false, device, operands);
    collect(values("outputs"), true, device, operands);
    if (!operands.empty()) all[*function] = std::move(operands);
  }
  return all;
}

}  // namespace

ImportedTrace import_trace(const std::string& trace, const std::string& file,
                           const std::string& execution, const std::string& execution_file,
                           const TraceOptions& options) {
  ImportedTrace imported;
  Trace read(trace, file, options);
  read.add_kernels(imported.lifetimes);
  if (execution.empty()) {
    read.add_memory(imported.lifetimes);
    imported.notes = read.notes();
    imported.notes.emplace_back(
        "the trace does not say which operands a kernel uses: only births and deaths are known, "
        "and the profile is partial; --execution-trace completes it");
    return imported;
  }
  std::size_t unknown = 0;
  read.add_operands(
      imported.lifetimes,
      operands_of(parse_profile(execution, execution_file), execution_file, options.device),
      unknown);
  imported.notes = read.notes();
  if (imported.lifetimes.tensors.empty())
    refuse(execution_file, 0, 0, "nodes", "none of its operators launched a kernel of " + file,
           "record both of the same step");
  if (unknown) {
    imported.lifetimes.partial = true;
    imported.notes.push_back(text::filled("{} kernels belong to no operator of {}",
                                          {text::count(unknown), execution_file}));
  }
  return imported;
}

bool looks_like_trace(const std::string& text) {
  const std::string_view head = std::string_view(text).substr(0, 1 << 16);
  return head.find("\"traceEvents\"") != std::string_view::npos ||
         head.find("\"ph\"") != std::string_view::npos;
}

}  // namespace spillway::scenarios
