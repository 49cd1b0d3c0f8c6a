#include "reports/run/validation_report.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"
#include "reports/words/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cstring>
#include <map>

namespace spillway::reports {

namespace {

using result::Validation;
using view::Document;
using view::filled;
using view::Paragraph;
using view::Text;

constexpr const char* of_storages = "io_bytes_per_step.by_storage.";

/// "+3.1 %", from predicted and measured.
view::Cell error_of(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? "" : "not measured";
  return view::change((predicted - measured) / measured);
}

class Rows {
 public:
  Table table{{{"", Align::left}, {"predicted"}, {"measured"}, {"error"}}, {}};

  void time(const std::string& path, double predicted, double measured, bool compares) {
    if (predicted == 0 && measured == 0) return;
    const std::string name = (path.starts_with("phases.") ? "  " : "") + compared_words(path);
    table.rows.push_back({name, view::seconds(predicted), view::seconds(measured),
                          compares ? error_of(predicted, measured) : "-"});
  }
  void traffic(const std::string& path, std::uint64_t predicted, std::uint64_t measured) {
    const auto p = static_cast<double>(predicted), m = static_cast<double>(measured);
    if (p == 0 && m == 0) return;
    table.rows.push_back({compared_words(path), view::bytes(p), view::bytes(m), error_of(p, m)});
  }
  void memory(const std::string& path, std::uint64_t predicted, std::uint64_t measured) {
    if (predicted == 0 && measured == 0) return;
    table.rows.push_back({compared_words(path), view::memory(predicted), view::memory(measured),
                          error_of(static_cast<double>(predicted), static_cast<double>(measured))});
  }
};

Table comparison(const Validation& v) {
  const result::Result &p = v.predicted, &m = v.measured;
  Rows rows;
  const bool times = v.times_compare();
  rows.time("step_time_s", p.step_time_s, m.step_time_s, times);
  rows.time("phases.forward_s", p.forward_s, m.forward_s, times);
  rows.time("phases.backward_s", p.backward_s, m.backward_s, times);
  rows.time("phases.update_s", p.update_s, m.update_s, times);
  for (const auto& [name, bytes] : result::storages_of(v)) {
    rows.traffic(of_storages + name + ".read", bytes.first.read, bytes.second.read);
    rows.traffic(of_storages + name + ".write", bytes.first.write, bytes.second.write);
  }
  rows.traffic("io_bytes_per_step.h2d", p.io.h2d, m.io.h2d);
  rows.traffic("io_bytes_per_step.d2h", p.io.d2h, m.io.d2h);
  rows.memory("peak_bytes.gpu.total", p.gpu.total, m.gpu.total);
  rows.memory("peak_bytes.host.total", p.host.total, m.host.total);
  rows.memory("peak_bytes.ssd.total", p.ssd.total + p.remote.total, m.ssd.total + m.remote.total);
  return rows.table;
}

/// What the disks and the kernel counted beside the ledger.
void add_books(Document& document, const Validation& v) {
  const auto bytes = [](std::uint64_t of) { return view::bytes(static_cast<double>(of)); };
  for (const auto& [name, storage] : v.storage) {
    if (!storage.disk) continue;
    document.add(Paragraph{filled("{}: {} read and {} written in the whole run; its disk counted "
                                  "{} and {}, of all programs together.",
                                  {name, bytes(storage.asked.read), bytes(storage.asked.write),
                                   bytes(storage.disk->read), bytes(storage.disk->write)})},
                 true);
  }
  document.add(Paragraph{filled(
                   "Memory of the host, emulated GPUs included, grew by {} after the set-up by "
                   "the ledger, by {} by the kernel ({}); locked at the end of the set-up: {} "
                   "and {}.",
                   {view::memory(v.memory.ledger_bytes), view::memory(v.memory.kernel_bytes),
                    view::change(v.memory.difference()), view::memory(v.memory.locked_ledger_bytes),
                    view::memory(v.memory.locked_kernel_bytes)})},
               true);
}

Text training(const Validation& v) {
  if (v.synthetic)
    return Text(
               "Nothing was computed on the GPU; every read was checked against what had "
               "been written.") +
           (v.times_compare() ? ""
                              : " The prediction has the kernels' time, the run has none of it: "
                                "bytes and peaks compare, times only with --pace.");
  Text text;
  if (!v.losses.empty())
    text = filled(
        "Loss {} to {} in {} steps. ",
        {view::number(v.losses.front(), view::Quantity::figure),
         view::number(v.losses.back(), view::Quantity::figure), view::count(v.losses.size())});
  if (!v.weights_equal) return text + "The master weights were not compared with a reference.";
  if (*v.weights_equal)
    return text + "The master weights equal those of resident training, bit for bit.";
  return text +
         "THE MASTER WEIGHTS DIFFER from those of resident training: data was lost or mixed up.";
}

Text pacing(const result::Pacing& pacing) {
  const Text overran =
      pacing.overruns > 0
          ? filled(
                ", and {} overran theirs: THE COMPARISON IS VOID, choose a slower machine to "
                "pace by",
                {view::count(pacing.overruns)})
          : Text();
  return filled("{} paced kernels and copies; real work took at most {} of a deadline{}.",
                {view::count(pacing.jobs), view::share(pacing.largest_share), overran});
}

void add_notes(Document& document, const Validation& v) {
  for (const Text& note : v.notes)
    document.add(Paragraph{"Note: " + note + ".", view::Tone::note}, true);
}

void add(result::Trace& into, const result::Trace& from, const std::string& side, double start_s) {
  std::uint64_t before = 0;  // operations of the other side keep their numbers
  for (const result::TraceSpan& span : into.spans) before = std::max(before, span.operation);
  for (result::TraceSpan span : from.spans) {
    if (span.end_s < start_s) continue;
    span.run = side;
    span.start_s = std::max(0.0, span.start_s - start_s);
    span.end_s -= start_s;
    span.asked_s = std::max(0.0, span.asked_s - start_s);
    for (std::uint64_t* number : {&span.operation, &span.after, &span.from})
      if (*number > 0) *number += before;
    into.spans.push_back(std::move(span));
  }
  for (result::TraceSample sample : from.samples) {
    sample.counter = side + " " + sample.counter;
    sample.at_s = std::max(0.0, sample.at_s - start_s);
    into.samples.push_back(std::move(sample));
  }
  for (result::TraceBuffer buffer : from.buffers) {
    if (buffer.freed_s && *buffer.freed_s < start_s) continue;
    buffer.run = side;
    buffer.born_s = std::max(0.0, buffer.born_s - start_s);
    if (buffer.freed_s) *buffer.freed_s -= start_s;
    into.buffers.push_back(std::move(buffer));
  }
}

}  // namespace

std::string compared_words(const std::string& path) {
  static const std::map<std::string, std::string> words = {
      {"step_time_s", "step"},
      {"phases.forward_s", "forward"},
      {"phases.backward_s", "backward"},
      {"phases.update_s", "update"},
      {"io_bytes_per_step.h2d", "to the GPU a step"},
      {"io_bytes_per_step.d2h", "from the GPU a step"},
      {"peak_bytes.gpu.total", "GPU peak"},
      {"peak_bytes.host.total", "host peak"},
      {"peak_bytes.ssd.total", "storage peak"}};
  if (const auto found = words.find(path); found != words.end()) return found->second;
  const std::size_t end = path.rfind('.');
  if (!path.starts_with(of_storages) || end < std::strlen(of_storages)) return path;
  const std::string storage = path.substr(std::strlen(of_storages), end - std::strlen(of_storages));
  return storage + (path.substr(end) == ".read" ? " read a step" : " written a step");
}

Document validation_document(const Validation& v) {
  Document document;
  if (!v.predicted.feasible()) {
    document.add(Paragraph{headline_text(v.predicted)});
    add_notes(document, v);
    return document;
  }
  document.add(view::Heading{v.device, 3});
  document.add(Paragraph{fmt::format("Real: {}.", fmt::join(v.real, "; "))}, true);
  if (!v.emulated.empty())
    document.add(Paragraph{fmt::format("Emulated: {}.", fmt::join(v.emulated, "; "))}, true);
  document.add(comparison(v));
  bool first = true;
  const auto add = [&](Text text) {
    document.add(Paragraph{std::move(text)}, !std::exchange(first, false));
  };
  if (v.measured.feasible()) {
    add(training(v));
    add_books(document, v);
  } else {
    add("Measured: " + headline_text(v.measured));
  }
  if (v.pacing) add(pacing(*v.pacing));
  for (const Text& suspect : v.suspects) add("Suspect: " + suspect + ".");
  add_notes(document, v);
  return document;
}

std::string validation_report(const Validation& v, const Screen& screen) {
  return to_text(validation_document(v), screen);
}

result::Trace on_one_timeline(const result::Trace& measured, double measured_start_s,
                              const result::Trace& predicted, double predicted_start_s) {
  result::Trace both;
  add(both, measured, "measured", measured_start_s);
  add(both, predicted, "predicted", predicted_start_s);
  return both;
}

}  // namespace spillway::reports
