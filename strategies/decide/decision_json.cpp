#include "strategies/decide/decision_json.hpp"

#include "reports/result/reading.hpp"
#include "strategies/decide/migration_plans.hpp"
#include "strategies/decide/settled_knobs.hpp"
#include "strategies/decide/tensors.hpp"
#include "strategies/decide/tensors_json.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace spillway::strategies {

namespace {

using nlohmann::json;
using result::read;
using result::read_part;

constexpr std::array<const char*, 4> fate_names = {"keep", "host", "ssd", "recompute"};
constexpr const char* automatic = "auto";

[[noreturn]] void refuse_decision(const std::string& path, std::string message) {
  throw description::ScenarioError({{"", 0, 0, path, std::move(message),
                                     "decide anew: simulate the scenario itself with --json"}});
}

/// Turns each `from` below `value` into `to`.
void replace_all(json& value, const json& from, const json& to) {
  if (value.is_structured())
    for (json& child : value) replace_all(child, from, to);
  else if (value == from)
    value = to;
}

/// A knob that is `auto` in a scenario is null in a decision: nobody has to decide it.
json without_auto(json scenario) {
  if (scenario.contains("strategy")) replace_all(scenario["strategy"], automatic, json());
  return scenario;
}

json with_auto(json scenario) {
  if (scenario.contains("strategy")) replace_all(scenario["strategy"], json(), automatic);
  return scenario;
}

const json::json_pointer host_memory("/machine/host/memory");

bool without_end(const json& scenario) {
  return scenario.contains(host_memory) && scenario.at(host_memory) == "0 B";
}

json patch_to(const json& scenario, const json& question) {
  return json::diff(scenario, without_auto(question));
}

/// What a patch makes of `scenario`.
json patched(const json& scenario, const json& in, const std::string& key) {
  const auto found = in.find(key);
  if (found == in.end()) return with_auto(scenario);
  try {
    return with_auto(scenario.patch(*found));
  } catch (const json::exception& error) {
    refuse_decision(key, "is no patch of the scenario");
  }
}

// ---- What becomes of saved tensors

json fates_json(const ActivationPlan& plan) {
  json runs = json::array();
  for (std::size_t i = 0; i < plan.fates.size();) {
    std::size_t end = i;
    while (end < plan.fates.size() && plan.fates[end] == plan.fates[i]) ++end;
    runs.push_back({fate_names[static_cast<std::size_t>(plan.fates[i])], end - i});
    i = end;
  }
  return {{"of_tensors", std::move(runs)},
          {"whole_layers", plan.whole_layers},
          {"late", plan.late},
          {"by_module", plan.by_module},
          {"staging_buffers", plan.staging_buffers},
          {"returns_early", plan.returns_early}};
}

void read_runs(const json& runs, std::size_t tensors, std::vector<Fate>& fates) {
  if (!runs.is_array()) result::complain_of_type("of_tensors", runs);
  for (const json& run : runs) {
    if (!run.is_array() || run.size() != 2 || !run[0].is_string() || !run[1].is_number_unsigned())
      refuse_decision("of_tensors", "an entry is no pair such as [\"host\", 12]");
    const auto name = std::find(fate_names.begin(), fate_names.end(), run[0].get<std::string>());
    if (name == fate_names.end())
      refuse_decision("of_tensors", "no fate \"" + run[0].get<std::string>() +
                                        "\"; known: keep, host, ssd, recompute");
    const auto count = run[1].get<std::uint64_t>();
    if (count > tensors - fates.size())
      refuse_decision("of_tensors",
                      fmt::format("is of more tensors than the model's step has: {}", tensors));
    fates.insert(fates.end(), count, static_cast<Fate>(name - fate_names.begin()));
  }
}

void require_possible(const Decided& all) {
  const ActivationPlan& fates = all.fates;
  const description::Strategy& strategy = all.scenario.strategy;
  if (const std::string fault = fault_of(all.prepared->program, fates); !fault.empty())
    refuse_decision("fates", fault);
  if (fates.by_module !=
      (strategy.activations.policy == description::ActivationPolicy::tensor_cache))
    refuse_decision("fates.by_module", "does not go with activations.policy");
  if (fates.staging_buffers < 1 || fates.staging_buffers > 64)
    refuse_decision("fates.staging_buffers", "is not between 1 and 64");
  const bool drives =
      std::find(fates.fates.begin(), fates.fates.end(), Fate::ssd) != fates.fates.end();
  if (drives && all.scenario.machine.storage.empty())
    refuse_decision("fates", "moves tensors to drives, and the machine has none");
}

void read_fates(const json& in, Decided& all) {
  const Prepared& prepared = *all.prepared;
  auto by_policy = fates_of_policy(all.scenario.strategy, prepared.model, prepared.program);
  if (!in.contains("fates")) {
    if (!by_policy) refuse_decision("fates", "is missing, and activations.policy needs a plan");
    all.fates = std::move(*by_policy);
    return;
  }
  read_part(in, "fates", [&](const json& fates) {
    if (fates.contains("of_tensors"))
      read_runs(fates["of_tensors"], prepared.program.tensors.size(), all.fates.fates);
    read(fates, "whole_layers", all.fates.whole_layers);
    read(fates, "late", all.fates.late);
    read(fates, "by_module", all.fates.by_module);
    read(fates, "staging_buffers", all.fates.staging_buffers);
    read(fates, "returns_early", all.fates.returns_early);
  });
  require_possible(all);
}

// ---- What a rank holds

/// Of the weights that `decided` is of.
TensorTable read_table(const json& in, const TensorTable& decided) {
  std::vector<std::uint64_t> elements;
  for (const TensorRow& row : decided.rows()) elements.push_back(row.elements);
  try {
    return read_tensors(in, elements);
  } catch (const description::ScenarioError& error) {
    result::complain_below("tensors", error);
  }
}

/// The tables follow from the scenario: those in `in` must be the same. A file of an older release
/// has none.
void decide_tensors_again(const json& in, Decided& all) {
  all.tensors = decide_tensors(all.scenario, *all.prepared);
  if (!in.contains("tensors")) return;
  const json& tables = in["tensors"];
  if (!tables.is_array() || tables.size() != all.tensors.size())
    refuse_decision("tensors", "is no list of a table for each pipeline stage");
  for (std::size_t i = 0; i < tables.size(); ++i)
    if (!(read_table(tables[i], all.tensors[i]) == all.tensors[i]))
      refuse_decision("tensors", "this program holds weights otherwise than the one that decided");
}

// ---- What moves tensor by tensor

json migrations_json(const std::vector<RankPlan>& ranks) {
  json all = json::array();
  for (const RankPlan& rank : ranks) {
    std::uint64_t bytes = 0;
    for (const planner::Move& move : rank.plan.moves) bytes += rank.step.tensors[move.tensor].bytes;
    all.push_back({{"moves", rank.plan.moves.size()},
                   {"bytes", bytes},
                   {"predicted_s", rank.plan.step_s},
                   {"capacity_bytes", rank.capacity}});
  }
  return all;
}

void plan_again(const json& in, Decided& all) {
  if (!plans_steps(all.scenario.strategy.system)) return;
  all.ranks = plan_ranks(all);
  if (in.contains("migrations") && in["migrations"] != migrations_json(*all.ranks))
    refuse_decision("migrations", "this program plans other moves than the one that decided");
}

// ---- The rest

/// Buffers of one tier that are held throughout.
void add_buffers(json& all, const char* tier, const result::PeakBytes& peak) {
  for (const result::PeakEntry& entry : peak.entries) {
    const result::PurposeRow& row = *result::row_of(tier, entry.purpose);
    if (entry.kept || row.lifetime != result::Lifetime::permanent) continue;
    all.push_back({{"tier", tier},
                   {"rank", entry.rank},
                   {"purpose", row.name},
                   {"lifetime", to_string(row.lifetime)},
                   {"set_by", row.knobs.front().path},
                   {"count", entry.count},
                   {"bytes", entry.charged_bytes}});
  }
}

json buffers_json(const Decided& all, const result::Result& run) {
  json buffers = json::array();
  if (plans_steps(all.scenario.strategy.system)) return buffers;
  add_buffers(buffers, "gpu", run.gpu);
  add_buffers(buffers, "host", run.host);
  // between several storages states move with the shares that rates give them
  if (all.scenario.strategy.optimizer.paths.empty()) add_buffers(buffers, "ssd", run.ssd);
  return buffers;
}

json delays_json(const Delays& delays) {
  return {{"applied", delays.applied}, {"seen", delays.seen}, {"published", delays.published}};
}

json stands_for_json(const json& scenario, const StandsFor& other) {
  json all = {{"question", patch_to(scenario, other.question)}};
  text::put(all, "note", other.note);
  return all;
}

void read_replay(const json& in, Decided& all) {
  if (!in.contains("replay")) return;
  if (!in["replay"].is_array()) result::complain_of_type("replay", in["replay"]);
  for (const json& one : in["replay"]) {
    Delays& delays = all.replay.emplace_back();
    read(one, "applied", delays.applied);
    read(one, "seen", delays.seen);
    read(one, "published", delays.published);
  }
  if (all.replay.size() != simulated_ranks(all.scenario))
    refuse_decision("replay", "is not of as many ranks as are simulated of the scenario");
}

}  // namespace

json decision_json(const Decision& decision, const result::Result* run) {
  const json scenario = without_auto(decision->scenario);
  json all = {{"schema", decision_schema},
              {"scenario", scenario},
              {"tiers", decision->tiers == Tiers::grow ? "grow" : "fixed"}};
  if (json question = patch_to(scenario, decision->question); !question.empty())
    all["question"] = std::move(question);
  const Prepared& prepared = *decision->prepared;
  if (!decision->scenario.run.io_bench &&
      decision->fates !=
          fates_of_policy(decision->scenario.strategy, prepared.model, prepared.program))
    all["fates"] = fates_json(decision->fates);
  if (const auto shares = first_shares(decision->scenario); !shares.empty()) all["shares"] = shares;
  if (!decision->cached_modules.empty()) all["cached_modules"] = decision->cached_modules;
  if (run)
    if (json buffers = buffers_json(*decision, *run); !buffers.empty())
      all["buffers"] = std::move(buffers);
  for (const TensorTable& table : decision->tensors) all["tensors"].push_back(tensors_json(table));
  if (decision->ranks) all["migrations"] = migrations_json(*decision->ranks);
  for (const Delays& delays : decision->replay) all["replay"].push_back(delays_json(delays));
  if (decision->filled.host) all["filled"]["host_bytes"] = decision->filled.host;
  if (decision->filled.gpu_peak) all["filled"]["gpu_peak_bytes"] = *decision->filled.gpu_peak;
  if (!decision->report.is_null()) all["plan"] = decision->report;
  if (!decision->notes.empty()) text::put(all, "notes", decision->notes);
  if (decision->stands_for) all["stands_for"] = stands_for_json(scenario, *decision->stands_for);
  return all;
}

void require_same_buffers(const json& in, const Decision& read, const result::Result& run) {
  if (in.contains("buffers") && in["buffers"] != buffers_json(*read, run))
    refuse_decision("buffers", "this program makes other buffers than the one that decided");
}

json scenario_in(const json& decision) {
  result::require_schema(decision, "decision");
  if (!decision.contains("scenario") || !decision["scenario"].is_object())
    refuse_decision("scenario", "is missing");
  return readable(with_auto(decision["scenario"]));
}

json readable(json scenario) {
  if (without_end(scenario)) scenario[host_memory] = "256 TiB";
  return scenario;
}

void take_back(const json& written, description::Scenario& read) {
  if (without_end(written)) read.machine.host.memory = description::Bytes(0);
}

Decision read_decision(const json& in, description::Scenario scenario) {
  result::require_schema(in, "decision");
  Decided all;
  all.prepared = std::make_shared<const Prepared>(prepare(scenario));
  all.scenario = std::move(scenario);
  take_back(in.at("scenario"), all.scenario);
  std::string tiers = "fixed";
  read(in, "tiers", tiers);
  if (tiers != "fixed" && tiers != "grow") refuse_decision("tiers", "is neither fixed nor grow");
  all.tiers = tiers == "grow" ? Tiers::grow : Tiers::fixed;
  all.question = patched(in.at("scenario"), in, "question");
  read_part(in, "filled", [&](const json& filled) {
    read(filled, "host_bytes", all.filled.host);
    read(filled, "gpu_peak_bytes", all.filled.gpu_peak);
  });
  read_part(in, "plan", [&](const json& plan) { all.report = plan; });
  read(in, "notes", all.notes);
  read_part(in, "stands_for", [&](const json& other) {
    all.stands_for.emplace().question = patched(in.at("scenario"), other, "question");
    read(other, "note", all.stands_for->note);
  });
  if (all.scenario.run.io_bench) return Decision(std::move(all));
  decide_tensors_again(in, all);
  read_fates(in, all);
  if (in.contains("shares") && in["shares"] != json(first_shares(all.scenario)))
    refuse_decision("shares", "do not go with the rates of the scenario's storages");
  settle_knobs(all);
  if (in.contains("cached_modules") && in["cached_modules"] != json(all.cached_modules))
    refuse_decision("cached_modules", "this program's cache begins with another budget");
  read_replay(in, all);
  plan_again(in, all);
  return Decision(std::move(all));
}

}  // namespace spillway::strategies
