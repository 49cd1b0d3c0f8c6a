#include "scenarios/evidence/formats.hpp"

#include "scenarios/trace/trace_text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <unordered_map>

namespace spillway::evidence {

using nlohmann::json;

namespace {

/// Sides from which on a product is as fast as large ones, about.
constexpr double least_side = 1024;
/// Copies of less are their latency.
constexpr double least_copy = 4.0 * 1024 * 1024;

/// Work and the time that it took.
struct Rate {
  double amount = 0, seconds = 0;
  std::uint64_t count = 0;
  void add(double more, double took_s) {
    amount += more;
    seconds += took_s;
    ++count;
  }
};

struct Product {
  double flops = 0;
  std::string type;  ///< as gpu.compute names it
};

const char* type_of(const std::string& name) {
  if (name == "c10::BFloat16") return "bf16";
  if (name == "c10::Half") return "fp16";
  return name == "float" ? "fp32" : nullptr;
}

std::vector<double> sides_of(const json& dimensions) {
  std::vector<double> sides;
  if (!dimensions.is_array()) return sides;
  for (const json& each : dimensions)
    if (each.is_number()) sides.push_back(each.get<double>());
  return sides;
}

/// Of aten::mm, addmm and bmm, whose shapes the profiler recorded; nothing of other operators and
/// of products that are small.
std::optional<Product> product_of(const std::string& name, const json& arguments) {
  const std::size_t first = name == "aten::addmm" ? 1 : 0;
  if (name != "aten::mm" && name != "aten::addmm" && name != "aten::bmm") return {};
  const auto dimensions = arguments.find("Input Dims");
  auto types = arguments.find("Input type");
  if (dimensions == arguments.end() || !dimensions->is_array() || dimensions->size() < first + 2)
    return {};
  auto left = sides_of((*dimensions)[first]), right = sides_of((*dimensions)[first + 1]);
  const std::size_t rank = name == "aten::bmm" ? 3 : 2;
  if (left.size() != rank || right.size() != rank) return {};
  const double batch = rank == 3 ? left.front() : 1;
  const double rows = left[rank - 2], inner = left[rank - 1], columns = right[rank - 1];
  if (std::min({rows, inner, columns}) < least_side) return {};
  Product product{2 * batch * rows * inner * columns, ""};
  if (types != arguments.end() && types->is_array() && types->size() > first &&
      (*types)[first].is_string())
    if (const char* type = type_of((*types)[first].get<std::string>())) product.type = type;
  if (product.type.empty()) return {};
  return product;
}

class Trace {
 public:
  void event(const json& one) {
    if (!one.is_object() || text_of(one, "ph") != "X") return;
    const std::string kind = text_of(one, "cat"), name = text_of(one, "name");
    const auto found = one.find("args");
    const json none = json::object();
    const json& arguments = found != one.end() && found->is_object() ? *found : none;
    const auto id = number_of(arguments, "External id");
    const double seconds = number_of(one, "dur").value_or(0) * 1e-6;
    if (kind == "cpu_op" || kind == "operator" || kind == "Operator") {
      if (auto product = product_of(name, arguments); product && id)
        products_[static_cast<std::int64_t>(*id)] = std::move(*product);
    } else if (kind == "kernel" || kind == "Kernel") {
      ++kernels_;
      if (id) kernel_s_[static_cast<std::int64_t>(*id)] += seconds;
    } else if (kind == "gpu_memcpy" || kind == "Memcpy") {
      copy(name, number_of(arguments, "bytes").value_or(0), seconds);
    }
  }

  void put(Evidence& into) const {
    std::map<std::string, Rate> rates;
    for (const auto& [id, product] : products_) {
      const auto took = kernel_s_.find(id);
      if (took != kernel_s_.end() && took->second > 0)
        rates[product.type].add(product.flops, took->second);
    }
    for (const auto& [type, rate] : rates)
      into.readings.push_back(
          {"gpu.compute." + type, "flops_per_s", rate.amount / rate.seconds,
           fmt::format("{} products of sides from {:.0f} on", rate.count, least_side)});
    for (const auto& [path, rate] : copies_)
      into.readings.push_back({path, "bytes_per_s", rate.amount / rate.seconds,
                               fmt::format("{} copies of 4 MiB and more", rate.count)});
    if (rates.empty() && kernels_ > 0)
      into.notes.push_back(fmt::format(
          "{} kernels and no large product whose shape was recorded: no rate of gpu.compute "
          "follows; record with record_shapes=True",
          kernels_));
  }

  bool empty() const { return kernels_ == 0 && copies_.empty(); }

 private:
  void copy(const std::string& name, double bytes, double seconds) {
    if (bytes < least_copy || seconds <= 0) return;
    const bool pageable = name.find("Pageable") != std::string::npos;
    if (name.find("HtoD") != std::string::npos)
      copies_[pageable ? "pcie.pageable_h2d" : "pcie.h2d"].add(bytes, seconds);
    if (name.find("DtoH") != std::string::npos)
      copies_[pageable ? "pcie.pageable_d2h" : "pcie.d2h"].add(bytes, seconds);
  }

  std::unordered_map<std::int64_t, Product> products_;  ///< by External id
  std::unordered_map<std::int64_t, double> kernel_s_;
  std::map<std::string, Rate> copies_;  ///< by path of the machine file
  std::uint64_t kernels_ = 0;
};

}  // namespace

void read_kernel_trace(const std::string& text, Evidence& into) {
  into.kind = "trace of PyTorch's profiler";
  Trace trace;
  const bool events = scenarios::for_each_event(
      text, into.file, [&](const json& one, std::size_t) { trace.event(one); });
  if (!events || trace.empty())
    refuse_file(into.file, "a trace without kernels and copies of a GPU",
                "record with ProfilerActivity.CUDA and export_chrome_trace");
  trace.put(into);
}

}  // namespace spillway::evidence
