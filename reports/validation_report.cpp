#include "reports/validation_report.hpp"

#include "reports/human.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

namespace spillway::reports {

namespace {

using result::Validation;

/// "+3.1 %", from predicted and measured.
std::string error_text(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? "" : "not measured";
  return human_change((predicted - measured) / measured);
}

class Rows {
 public:
  Table table{{{"", Align::left}, {"predicted"}, {"measured"}, {"error"}}, {}};

  void time(const char* name, double predicted, double measured, bool compares) {
    if (predicted == 0 && measured == 0) return;
    table.rows.push_back({name, human_time(predicted), human_time(measured),
                          compares ? error_text(predicted, measured) : "-"});
  }
  void traffic(const std::string& name, std::uint64_t predicted, std::uint64_t measured) {
    const auto p = static_cast<double>(predicted), m = static_cast<double>(measured);
    if (p == 0 && m == 0) return;
    table.rows.push_back({name, human_bytes(p), human_bytes(m), error_text(p, m)});
  }
  void memory(const char* name, std::uint64_t predicted, std::uint64_t measured) {
    if (predicted == 0 && measured == 0) return;
    table.rows.push_back(
        {name, human_memory(predicted), human_memory(measured),
         error_text(static_cast<double>(predicted), static_cast<double>(measured))});
  }
};

Table comparison(const Validation& v) {
  const result::Result &p = v.predicted, &m = v.measured;
  Rows rows;
  const bool times = v.times_compare();
  rows.time("step", p.step_time_s, m.step_time_s, times);
  rows.time("  forward", p.forward_s, m.forward_s, times);
  rows.time("  backward", p.backward_s, m.backward_s, times);
  rows.time("  update", p.update_s, m.update_s, times);
  for (const auto& [name, bytes] : result::storages_of(v)) {
    rows.traffic(name + " read a step", bytes.first.read, bytes.second.read);
    rows.traffic(name + " written a step", bytes.first.write, bytes.second.write);
  }
  rows.traffic("to the GPU a step", p.io.h2d, m.io.h2d);
  rows.traffic("from the GPU a step", p.io.d2h, m.io.d2h);
  rows.memory("GPU peak", p.gpu.total, m.gpu.total);
  rows.memory("host peak", p.host.total, m.host.total);
  rows.memory("storage peak", p.ssd.total + p.remote.total, m.ssd.total + m.remote.total);
  return rows.table;
}

std::string books(const Validation& v, const Screen& screen) {
  std::string text;
  for (const auto& [name, storage] : v.storage) {
    if (!storage.disk) continue;
    text += paragraph(
        fmt::format("{}: {} read and {} written in the whole run; its disk counted {} and {}, of "
                    "all programs together.",
                    name, human_bytes(static_cast<double>(storage.asked.read)),
                    human_bytes(static_cast<double>(storage.asked.write)),
                    human_bytes(static_cast<double>(storage.disk->read)),
                    human_bytes(static_cast<double>(storage.disk->write))),
        screen);
  }
  text += paragraph(
      fmt::format("Memory of the host, emulated GPUs included, grew by {} after the set-up by the "
                  "ledger, by "
                  "{} by the kernel ({}); locked at the end of the set-up: {} and {}.",
                  human_memory(v.memory.ledger_bytes), human_memory(v.memory.kernel_bytes),
                  human_change(v.memory.difference()), human_memory(v.memory.locked_ledger_bytes),
                  human_memory(v.memory.locked_kernel_bytes)),
      screen);
  return text;
}

std::string training(const Validation& v, const Screen& screen) {
  if (v.synthetic)
    return paragraph(
        std::string("Nothing was computed on the GPU; every read was checked against what had "
                    "been written.") +
            (v.times_compare() ? ""
                               : " The prediction has the kernels' time, the run has none of it: "
                                 "bytes and peaks compare, times only with --pace."),
        screen);
  std::string text = fmt::format("Loss {:.4g} to {:.4g} in {} steps. ", v.losses.front(),
                                 v.losses.back(), v.losses.size());
  if (!v.weights_equal)
    text += "The master weights were not compared with a reference.";
  else if (*v.weights_equal)
    text += "The master weights equal those of resident training, bit for bit.";
  else
    text += "THE MASTER WEIGHTS DIFFER from those of resident training: data was lost or mixed up.";
  return paragraph(text, screen);
}

std::string notes(const Validation& v, const Screen& screen) {
  std::string text;
  for (const std::string& note : v.notes) text += paragraph("Note: " + note + ".", screen);
  return text;
}

void add(result::Trace& into, const result::Trace& from, const std::string& side, double start_s) {
  for (result::TraceSpan span : from.spans) {
    if (span.end_s < start_s) continue;
    span.run = side;
    span.start_s = std::max(0.0, span.start_s - start_s);
    span.end_s -= start_s;
    into.spans.push_back(std::move(span));
  }
  for (result::TraceSample sample : from.samples) {
    sample.counter = side + " " + sample.counter;
    sample.at_s = std::max(0.0, sample.at_s - start_s);
    into.samples.push_back(std::move(sample));
  }
}

}  // namespace

std::string validation_report(const Validation& v, const Screen& screen) {
  if (!v.predicted.feasible()) return paragraph(headline(v.predicted), screen) + notes(v, screen);
  std::string text = bold(v.device, screen) + "\n";
  text += paragraph(fmt::format("Real: {}.", fmt::join(v.real, "; ")), screen);
  if (!v.emulated.empty())
    text += paragraph(fmt::format("Emulated: {}.", fmt::join(v.emulated, "; ")), screen);
  text += "\n" + to_text(comparison(v), screen) + "\n";
  if (!v.measured.feasible()) text += paragraph("Measured: " + headline(v.measured), screen);
  if (v.measured.feasible()) text += training(v, screen) + books(v, screen);
  if (v.pacing) {
    text += paragraph(
        fmt::format("{} paced kernels and copies; real work took at most {} of a deadline{}.",
                    human_count(v.pacing->jobs), human_share(v.pacing->largest_share),
                    v.pacing->overruns
                        ? fmt::format(", and {} overran theirs: THE COMPARISON IS VOID, choose a "
                                      "slower machine to pace by",
                                      human_count(v.pacing->overruns))
                        : ""),
        screen);
  }
  for (const std::string& suspect : v.suspects)
    text += paragraph("Suspect: " + suspect + ".", screen);
  return text + notes(v, screen);
}

result::Trace on_one_timeline(const result::Trace& measured, double measured_start_s,
                              const result::Trace& predicted, double predicted_start_s) {
  result::Trace both;
  add(both, measured, "measured", measured_start_s);
  add(both, predicted, "predicted", predicted_start_s);
  return both;
}

}  // namespace spillway::reports
