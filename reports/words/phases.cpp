#include "reports/words/phases.hpp"

#include "reports/words/human.hpp"
#include "reports/words/table.hpp"

namespace spillway::reports {

using result::PhaseBusy;
using result::Result;

namespace {
void add(const PhaseBusy& part, PhaseBusy& whole) {
  whole.gpu += part.gpu;
  whole.gpu_recompute += part.gpu_recompute;
  whole.h2d += part.h2d;
  whole.d2h += part.d2h;
  whole.ssd += part.ssd;
  whole.cpu += part.cpu;
  whole.network += part.network;
  whole.launches += part.launches;
  whole.other_gpus += part.other_gpus;
}
}  // namespace

std::vector<PhaseTime> phases_of(const Result& r) {
  const auto phase = [&](const char* name, double seconds, bool part_of_update) {
    const auto found = r.phase_busy.find(name);
    PhaseTime time{name, seconds, {}, part_of_update};
    if (found != r.phase_busy.end()) time.busy = found->second;
    return time;
  };
  std::vector<PhaseTime> phases = {phase("forward", r.forward_s, false),
                                   phase("backward", r.backward_s, false),
                                   phase("update", r.update_s, false)};
  if (r.overflow_check_s > 0) {
    phases.push_back(phase("overflow_check", r.overflow_check_s, true));
    if (const PhaseTime& check = phases.back(); check.busy && phases[2].busy)
      add(*check.busy, *phases[2].busy);
  }
  return phases;
}

view::Text waits_for(const PhaseTime& phase) {
  if (!phase.busy || phase.seconds <= 0) return {};
  const std::pair<const char*, double> resources[] = {
      {"gpu", phase.busy->gpu},          {"h2d", phase.busy->h2d},
      {"d2h", phase.busy->d2h},          {"ssd", phase.busy->ssd},
      {"cpu", phase.busy->cpu},          {"other GPUs", phase.busy->other_gpus},
      {"launches", phase.busy->launches}};
  const auto* longest = &resources[0];
  for (const auto& resource : resources)
    if (resource.second > longest->second) longest = &resource;
  if (longest->second <= 0) return {};
  const double share = longest->second / phase.seconds;
  return view::filled(share < 0.5 ? "latency ({} {})" : "{} ({})",
                      {longest->first, view::share(share)});
}

view::Text stalls(const Result& r) {
  std::vector<view::Text> parts;
  const auto add = [&](double seconds, const char* what) {
    if (seconds > 0) parts.push_back(view::Text(view::seconds(seconds)) + " for " + what);
  };
  add(r.stalls.gpu_waits_for_ssd, "the SSD");
  add(r.stalls.gpu_waits_for_host, "the host");
  add(r.stalls.gpu_waits_for_gpus, "other GPUs");
  add(r.stalls.gpu_waits_for_update, "the update");
  add(r.stalls.gpu_waits_for_launches, "launches");
  if (parts.empty()) return {};
  view::Text text = "The GPU waits ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text + ".";
}

std::string stalls_sentence(const Result& r, const Screen& screen) {
  const view::Text text = stalls(r);
  return text.empty() ? "" : paragraph(words(text), screen);
}

}  // namespace spillway::reports
