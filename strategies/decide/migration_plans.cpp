#include "strategies/decide/migration_plans.hpp"

#include "strategies/layout/planned_settings.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using Tier = planner::Shortage::Tier;

/// One rank's plan: made, and made again in more room as long as there is a shortage.
class RankPlanner {
 public:
  RankPlanner(const description::Scenario& scenario, const Topology& topology, std::uint32_t rank,
              PlannedStep step)
      : scenario_(scenario),
        topology_(topology),
        rank_(rank),
        settings_(plan_settings(scenario, topology, Rank{rank})) {
    made_.step = std::move(step);
    lifetimes_ = made_.step.lifetimes();
    plan();
  }

  bool fits() const { return !made_.plan.shortage; }

  /// Room for what the plan found none for, in steps that do not get too small to end; the tier
  /// must then be so large that a plan for it has that room.
  void widen() {
    const planner::Shortage& shortage = *made_.plan.shortage;
    Growth growth;
    growth.request = request_of(shortage);
    const std::uint64_t lacks = shortage.asked - std::min(shortage.asked, shortage.free);
    constexpr std::uint64_t share = 256;
    const auto wider = [&](std::uint64_t room) {
      return room + std::max({lacks, room / share, std::uint64_t{1} << 20});
    };
    if (shortage.tier == Tier::gpu) {
      const auto active = planner::active_bytes(lifetimes_);
      const std::uint64_t least = *std::max_element(active.begin(), active.end());
      settings_.capacity = std::max(wider(settings_.capacity), least);
      growth.tier = TierId::gpu;
      growth.capacity = gpu_memory_for(settings_.capacity, scenario_);
    } else if (shortage.tier == Tier::host) {
      settings_.host_limit = wider(settings_.host_limit.value_or(0));
      growth.tier = TierId::pinned;
      growth.capacity = host_memory_for(*settings_.host_limit, scenario_, topology_, Rank{rank_});
    } else {
      settings_.file_limit = wider(settings_.file_limit.value_or(0));
      growth.tier = TierId::storage;
    }
    made_.growths.push_back(std::move(growth));
  }

  void plan() { made_.plan = planner::plan_migrations(lifetimes_, settings_); }

  RankPlan take() {
    made_.capacity = settings_.capacity;
    made_.link_is_short = link_is_short(settings_.channels);
    return std::move(made_);
  }

 private:
  result::Infeasible request_of(const planner::Shortage& shortage) const {
    result::Infeasible request;
    request.rank = rank_;
    request.purpose = to_string(made_.step.tensors[shortage.tensor].purpose);
    request.phase = to_string(made_.step.kernels[shortage.slot].phase);
    request.asked_bytes = shortage.asked;
    request.free_bytes = shortage.free;
    if (shortage.tier == Tier::gpu) {
      request.tier = "gpu";
      request.capacity_bytes = topology_.gpu_memory.value();
    } else if (shortage.tier == Tier::host) {
      request.tier = "host";
      request.capacity_bytes = topology_.host_memory.value();
    } else {
      request.tier = "ssd";
      request.storage = topology_.info(topology_.home(Rank{rank_})).name;
      request.capacity_bytes = settings_.file_limit.value_or(0);
    }
    return request;
  }

  const description::Scenario& scenario_;
  const Topology& topology_;
  std::uint32_t rank_;
  planner::PlanSettings settings_;
  planner::Lifetimes lifetimes_;
  RankPlan made_;
};

}  // namespace

std::shared_ptr<const std::vector<RankPlan>> plan_ranks(const Decided& decided) {
  const Job job(decided.scenario, *decided.prepared, decided.tensors.at(0), decided.fates);
  const MachineSetup setup = setup_for(decided.scenario, false, false);
  auto ranks = std::make_shared<std::vector<RankPlan>>();
  std::vector<PlannedStep> steps = plan_steps(job, setup.gpu);
  for (std::uint32_t rank = 0; rank < steps.size(); ++rank) {
    RankPlanner planning(decided.scenario, setup.topology, rank, std::move(steps[rank]));
    while (!planning.fits()) {
      planning.widen();
      if (decided.tiers == Tiers::fixed) break;
      planning.plan();
    }
    const bool last = !planning.fits();
    ranks->push_back(planning.take());
    if (last) break;
  }
  return ranks;
}

void add_to_report(const planner::Plan& plan, const planner::Lifetimes& lifetimes,
                   std::uint64_t memory, nlohmann::json& all) {
  if (all.is_null()) all = nlohmann::json::object();
  const auto active = planner::active_bytes(lifetimes);
  double sum = 0, length = 0, most = 0;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const double share =
        static_cast<double>(active[i]) / static_cast<double>(std::max<std::uint64_t>(1, memory));
    sum += share * lifetimes.kernels[i].duration_s;
    length += lifetimes.kernels[i].duration_s;
    most = std::max(most, share);
  }
  const auto add = [&](const char* name, std::uint64_t value) {
    all[name] = all.value(name, std::uint64_t{0}) + value;
  };
  const auto largest = [&](const char* name, double value) {
    all[name] = std::max(all.value(name, 0.0), value);
  };
  add("intervals", plan.intervals);
  add("moved", plan.moves.size());
  add("urgent_moves", plan.urgent_moves());
  add("bytes_to_ssd", plan.bytes_to(planner::Destination::ssd, lifetimes));
  add("bytes_to_host", plan.bytes_to(planner::Destination::host, lifetimes));
  if (memory) {
    largest("active_fraction_mean", length > 0 ? sum / length : 0);
    largest("active_fraction_max", most);
  }
  largest("ideal_s", plan.ideal_s);
  largest("step_s", plan.step_s);
  largest("stall_s", std::max(0.0, plan.step_s - plan.ideal_s));
}

bool moves_alike(const Decided& one, const Decided& other) {
  if (!one.ranks && !other.ranks)
    return one.fates == other.fates &&
           nlohmann::json(one.scenario) == nlohmann::json(other.scenario);
  if (!one.ranks || !other.ranks || one.ranks->size() != other.ranks->size()) return false;
  bool drives = false;
  for (std::size_t i = 0; i < one.ranks->size(); ++i) {
    const RankPlan &a = (*one.ranks)[i], &b = (*other.ranks)[i];
    if (a.capacity != b.capacity || a.plan.moves != b.plan.moves) return false;
    for (const planner::Move& move : a.plan.moves)
      drives |= move.destination == planner::Destination::ssd;
  }
  // what only planners look at
  description::Scenario same = one.scenario;
  const description::Scenario& wanted = other.scenario;
  same.machine.host.memory = wanted.machine.host.memory;
  same.machine.host.reserve = wanted.machine.host.reserve;
  same.strategy.plan.destinations = wanted.strategy.plan.destinations;
  same.strategy.plan.host_limit = wanted.strategy.plan.host_limit;
  if (!drives) same.machine.storage = wanted.machine.storage;
  return nlohmann::json(same) == nlohmann::json(wanted);
}

}  // namespace spillway::strategies
