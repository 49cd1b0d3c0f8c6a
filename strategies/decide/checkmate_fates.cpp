#include "strategies/decide/checkmate_fates.hpp"

#include "strategies/planner/saved/checkmate_milp.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>

namespace spillway::strategies {

namespace {

/// `activations.node_limit`, `gap`, `time_limit`.
milp::Limits limits_of(const description::Strategy& strategy) {
  const description::ActivationsPart& said = strategy.activations;
  milp::Limits limits;
  limits.nodes = said.node_limit.value_or(checkmate_node_limit);
  limits.gap = said.gap.value_or(limits.gap);
  if (said.time_limit && said.time_limit->value) limits.seconds = said.time_limit->value->value();
  return limits;
}

/// Items [first, last) of a profile: a block's.
struct ModelBlock {
  std::size_t first = 0, last = 0;
  std::uint64_t bytes = 0;
};

std::vector<ModelBlock> blocks_of(const std::vector<SavedItem>& items) {
  std::vector<ModelBlock> blocks;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || items[i].layer != items[i - 1].layer) blocks.push_back({i, i, 0});
    blocks.back().last = i + 1;
    blocks.back().bytes += items[i].bytes;
  }
  return blocks;
}

class Planning {
 public:
  Planning(const description::Scenario& scenario, const SavedProfile& profile,
           const models::StepProgram& program, std::uint64_t held_bytes, std::uint64_t host_bytes)
      : scenario_(scenario), profile_(profile), program_(program) {
    for (const SavedItem& item : profile.items) all_bytes_ += item.bytes;
    held_bytes_ = std::min(held_bytes, all_bytes_);
    if (!scenario.strategy.activations.homes.empty())
      host_bytes_ = std::min(host_bytes, all_bytes_);
  }

  DecidedFates run() {
    DecidedFates fates;
    fates.activations = keep_everything(program_);
    const milp::Limits limits = limits_of(scenario_.strategy);
    std::map<std::string, CheckmatePlan> known;
    double gap = 0;
    bool found = true, proven = true;
    for (const ModelBlock& block : blocks_of(profile_.items)) {
      const CheckmateProblem problem = problem_of(block);
      auto [plan, fresh] = known.try_emplace(signature(problem));
      if (fresh) plan->second = plan_checkmate(problem, limits);
      gap = std::max(gap, plan->second.gap);
      found &= plan->second.found;
      proven &= plan->second.proven;
      give(fates.activations, block, plan->second);
    }
    fates.report["gap"] = gap;
    fates.report["proven"] = proven;
    if (!found)
      fates.notes.push_back(proven ? "checkmate: a block cannot hold its input anywhere between "
                                     "forward and backward: no plan fits"
                                   : "checkmate: no plan was found within the solver's limits");
    else if (!proven)
      fates.notes.push_back(text::filled(
          "checkmate: the solver stopped at its limit; a better plan is at most {} shorter",
          {text::number(gap, text::Quantity::deviation)}));
    return fates;
  }

 private:
  /// The block's items, what all other blocks do in between, and its backward.
  CheckmateProblem problem_of(const ModelBlock& block) const {
    CheckmateProblem problem;
    const auto share = [&](std::uint64_t room) {
      __extension__ typedef unsigned __int128 Wide;
      return static_cast<std::uint64_t>(Wide(room) * block.bytes / all_bytes_);
    };
    CheckmateNode between, backward;
    for (std::size_t i = block.first; i < block.last; ++i) {
      const SavedItem& item = profile_.items[i];
      CheckmateNode node{item.again_s, item.bytes, {}, item.recomputable, host_bytes_ > 0};
      // Kernels that go to and fro between two items make them together: the first is never made
      // again, so that nothing is computed from what comes later.
      if (std::any_of(item.sources.begin(), item.sources.end(),
                      [&](const std::uint32_t source) { return source >= i; }))
        node = {0, item.bytes, {}, false, host_bytes_ > 0};
      else
        for (const std::uint32_t source : item.sources)
          node.sources.push_back(static_cast<std::uint32_t>(source - block.first));
      backward.sources.push_back(static_cast<std::uint32_t>(i - block.first));
      problem.nodes.push_back(std::move(node));
    }
    const std::uint32_t layer = profile_.items[block.first].layer;
    const models::LayerSpan& spans = program_.layers[layer];
    for (std::uint32_t i = spans.backward.first; i < spans.backward.last; ++i)
      backward.seconds += profile_.operator_s[i];
    for (std::uint32_t i = spans.forward.first; i < spans.forward.last; ++i)
      between.seconds += profile_.operator_s[i];
    for (const CheckmateNode& node : problem.nodes) between.seconds -= node.seconds;
    between.seconds = std::max(0.0, between.seconds);  // what nobody makes again
    between.again = backward.again = false;
    problem.nodes.push_back(std::move(between));
    problem.nodes.push_back(std::move(backward));
    const auto last = static_cast<std::uint32_t>(problem.nodes.size() - 1);
    problem.budget = ~std::uint64_t{0};  // a block at work has its room beside what is held
    problem.held_at = last;
    problem.held_bytes = share(held_bytes_);
    problem.host_bytes = share(host_bytes_);
    problem.down_bytes_per_s = scenario_.machine.pcie.d2h.value();
    problem.up_bytes_per_s = scenario_.machine.pcie.h2d.value();
    problem.groups = {last - 1, last};  // the next block's forward hides what this one's moves
    return problem;
  }

  static std::string signature(const CheckmateProblem& problem) {
    std::string text = fmt::format("{} {}", problem.held_bytes, problem.host_bytes);
    for (const CheckmateNode& node : problem.nodes) {
      text += fmt::format(" {} {:.9g} {}:", node.bytes, node.seconds, node.again);
      for (const std::uint32_t source : node.sources) text += fmt::format(" {}", source);
    }
    return text;
  }

  /// Without a plan everything that can be is made again.
  void give(ActivationPlan& activations, const ModelBlock& block, const CheckmatePlan& plan) const {
    const std::size_t last = block.last - block.first + 1;
    for (std::size_t i = block.first; i < block.last; ++i) {
      const std::size_t node = i - block.first;
      Fate fate = profile_.items[i].recomputable ? Fate::recompute : Fate::keep;
      if (plan.found && plan.held[last][node])
        fate = Fate::keep;
      else if (plan.found && plan.fetched[last][node])
        fate = Fate::host;
      for (const models::TensorId tensor : profile_.items[i].tensors)
        activations.fates[tensor] = fate;
    }
  }

  const description::Scenario& scenario_;
  const SavedProfile& profile_;
  const models::StepProgram& program_;
  std::uint64_t all_bytes_ = 0;
  std::uint64_t held_bytes_ = 0, host_bytes_ = 0;  ///< room for all blocks
};

}  // namespace

DecidedFates checkmate_fates(const description::Scenario& scenario, const SavedProfile& profile,
                             const models::StepProgram& program, std::uint64_t held_bytes,
                             std::uint64_t host_bytes) {
  return Planning(scenario, profile, program, held_bytes, host_bytes).run();
}

}  // namespace spillway::strategies
