#include "scenarios/reading/lifetimes_file.hpp"

#include "scenarios/description/errors.hpp"

#include <fmt/format.h>
#include <charconv>
#include <optional>

namespace spillway::scenarios {

using namespace strategies::planner;
using description::Complaint;
using description::ScenarioError;

namespace {

constexpr std::string_view marker = "# spillway/lifetimes/1";
constexpr std::string_view tensor_columns = "id,bytes,kind,persistent,active";
constexpr std::string_view kernel_columns = "index,name,start_s,duration_s,stream";

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return parts;
}

/// Fields of a CSV line; quotes around a field may hold commas and doubled quotes.
std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool twice = i + 1 < line.size() && line[i + 1] == '"';
    if (line[i] == '"' && quoted && twice)
      all.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      all.emplace_back();
    else
      all.back() += line[i];
  }
  return all;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c == '\n' ? ' ' : c);
  return out + "\"";
}

class Reader {
 public:
  Reader(const LifetimesText& text, const std::string& file) : text_(text), file_(file) {}

  Lifetimes run() {
    rows(text_.kernels, kernels_file(file_), kernel_columns,
         [this](const auto& row) { kernel(row); });
    rows(text_.tensors, file_, tensor_columns, [this](const auto& row) { tensor(row); });
    if (complaints_.empty())
      for (const LifetimeFault& fault : faults_of(lifetimes_)) {
        line_ = fault.tensor   ? tensor_lines_[*fault.tensor]
                : fault.kernel ? kernel_lines_[*fault.kernel]
                               : 0;
        name_ = fault.tensor ? file_ : kernels_file(file_);
        complain("", fault.message, "correct the row, or record the profile again");
      }
    if (!complaints_.empty()) throw ScenarioError(std::move(complaints_));
    return std::move(lifetimes_);
  }

 private:
  void complain(std::string path, std::string message, std::string hint) {
    if (complaints_.size() < 100)
      complaints_.push_back(
          {name_, line_, 0, std::move(path), std::move(message), std::move(hint)});
  }

  template <class Row>
  void rows(std::string_view text, const std::string& name, std::string_view columns, Row row) {
    name_ = name;
    line_ = 0;
    bool head = false;
    for (std::string_view line : split(text, '\n')) {
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.starts_with(marker)) lifetimes_.partial |= line.ends_with(" partial");
      if (line.empty() || line.starts_with('#')) continue;
      if (!head) {
        head = true;
        if (line == columns) continue;
        complain("", "the columns are not " + std::string(columns), "write them as the first row");
      }
      const auto parts = fields(line);
      if (parts.size() == 5)
        row(parts);
      else
        complain("", fmt::format("{} fields instead of 5", parts.size()),
                 "a row is " + std::string(columns));
    }
    if (!head) complain("", "an empty file", "its first row is " + std::string(columns));
  }

  void kernel(const std::vector<std::string>& row) {
    const auto index = number<std::uint64_t>(row[0]);
    const auto start = number<double>(row[2]), duration = number<double>(row[3]);
    const auto stream = number<std::uint32_t>(row[4]);
    if (!index || *index != lifetimes_.kernels.size())
      complain("index", "\"" + row[0] + "\" is not the number of its row from 0",
               "write " + std::to_string(lifetimes_.kernels.size()));
    if (!start || !duration || !stream)
      complain("start_s", "start, duration or stream is no number",
               "write seconds such as 0.00125");
    kernel_lines_.push_back(line_);
    lifetimes_.kernels.push_back(
        {row[1], start.value_or(0), duration.value_or(0), stream.value_or(0)});
  }

  void tensor(const std::vector<std::string>& row) {
    LifetimeTensor tensor;
    const auto id = number<std::uint64_t>(row[0]), bytes = number<std::uint64_t>(row[1]);
    if (!id || !bytes) complain("bytes", "id or bytes is no whole number", "write bytes, no unit");
    tensor.id = id.value_or(0);
    tensor.bytes = bytes.value_or(0);
    const auto kind = tensor_kind(row[2]);
    if (!kind)
      complain("kind", "no kind \"" + row[2] + "\"",
               "use weight, gradient, optimizer_state, activation, communication or workspace");
    tensor.kind = kind.value_or(TensorKind::activation);
    tensor.persistent = row[3] == "1" || row[3] == "true";
    if (!tensor.persistent && row[3] != "0" && row[3] != "false")
      complain("persistent", "\"" + row[3] + "\" is neither 0 nor 1", "use 0 or 1");
    for (const std::string_view range : split(row[4], ';'))
      if (!range.empty()) active(range, tensor);
    tensor_lines_.push_back(line_);
    lifetimes_.tensors.push_back(std::move(tensor));
  }

  void active(std::string_view text, LifetimeTensor& tensor) {
    const auto refuse = [&] {
      complain("active", "\"" + std::string(text) + "\" is no range of kernels",
               "write ranges such as 12-14:r;97-97:rw");
    };
    const std::size_t dash = text.find('-'), colon = text.find(':');
    if (colon == std::string_view::npos || dash > colon) return refuse();
    const auto first = number<std::uint32_t>(text.substr(0, dash));
    const auto last = number<std::uint32_t>(text.substr(dash + 1, colon - dash - 1));
    const std::string_view access = text.substr(colon + 1);
    if (!first || !last || (access != "r" && access != "w" && access != "rw")) return refuse();
    tensor.active.push_back({*first, *last, access.starts_with('r'), access.ends_with('w')});
  }

  const LifetimesText& text_;
  const std::string& file_;
  std::string name_;
  int line_ = 0;
  Lifetimes lifetimes_;
  std::vector<int> tensor_lines_, kernel_lines_;
  std::vector<Complaint> complaints_;
};

}  // namespace

LifetimesText write_lifetimes(const Lifetimes& lifetimes) {
  LifetimesText text;
  const std::string head = std::string(marker) + (lifetimes.partial ? " partial" : "") + "\n";
  text.tensors = head + std::string(tensor_columns) + "\n";
  text.kernels = head + std::string(kernel_columns) + "\n";
  for (const LifetimeTensor& tensor : lifetimes.tensors) {
    std::string active;
    for (const ActiveRange& range : tensor.active)
      active += fmt::format("{}{}-{}:{}{}", active.empty() ? "" : ";", range.first, range.last,
                            range.reads ? "r" : "", range.writes ? "w" : "");
    text.tensors += fmt::format("{},{},{},{},{}\n", tensor.id, tensor.bytes, to_string(tensor.kind),
                                tensor.persistent ? 1 : 0, active);
  }
  for (std::size_t i = 0; i < lifetimes.kernels.size(); ++i) {
    const LifetimeKernel& kernel = lifetimes.kernels[i];
    text.kernels += fmt::format("{},{},{},{},{}\n", i, quoted(kernel.name), kernel.start_s,
                                kernel.duration_s, kernel.stream);
  }
  return text;
}

Lifetimes parse_lifetimes(const LifetimesText& text, const std::string& file) {
  return Reader(text, file).run();
}

std::string kernels_file(const std::string& tensors_file) {
  const std::string_view end = ".csv";
  const bool csv = tensors_file.ends_with(end);
  return tensors_file.substr(0, tensors_file.size() - (csv ? end.size() : 0)) + ".kernels.csv";
}

Lifetimes read_lifetimes(const std::string& path) {
  return parse_lifetimes({read_packed(path), read_packed(kernels_file(path))}, path);
}

}  // namespace spillway::scenarios
