#pragma once

#include "reports/result/result.hpp"
#include "scenarios/description/scenario.hpp"

#include <string>
#include <vector>

namespace spillway::explore {

/// A plan for less than a machine has, or beside the one that its planner makes.
struct LowerPlan {
  text::Text words;  ///< "planned for 19.0 GiB of GPU memory"
  description::Scenario scenario;
  text::Text bytes_words = {};    ///< of the plan that set its `swap_bytes`; "": the writer did
  text::Text updates_words = {};  ///< of the plan that holds updates to less; "": none does
  /// Of the writer's processor, where the plan holds updates to less: parameters a second; else 0.
  double updates_per_s = 0;
  /// Where it fits, those behind it are no better.
  bool ends_list = false;
  bool opens_list = false;  ///< where it does not fit, none of those behind it does
};

/// Planners foresee a step, and may foresee it wrongly: a plan that uses less of the machine can be
/// the faster one. What to try beside the plan for all of it: a plan for less is a
/// plan for more, as memory can stay empty and what is fast can wait: the best of them is what the
/// machine can do.
///   swap              other amounts: half and three quarters of what it swaps beyond the least,
///                     as much as goes to host memory, a quarter more; of the least, an eighth of
///                     all; around one of ours an eighth less and more. Where its own does not fit,
///                     that for half the drives' rate, a quarter and a 16th of what can leave
///   tensor cache      nothing stored, which is best where it fits; a quarter, half and three
///                     quarters of what it stores. Where its own budget does not fit, all; its
///                     own and all with the GPU held to a half of its rate, and so on down
///   plan              the next smaller card, the next two powers of 2 of host memory below what it
///                     uses, a half and a quarter of the rate of the GPU, the latter also with the
///                     memory of the next two smaller cards, what half of the drives do (a quarter
///                     and on where an array holds those back), a step above what they do in the
///                     step, and no drives. Nothing where nothing moves
///   active gradients  updates held to between 1.4 and 3 times the rate at which they would take
///                     the whole step, a quarter of a power of 2 apart; around one of ours an
///                     eighth root of 2 less and more
///   memory alone      where the plan of a swap for all of it does not fit
///   None              with `strategy.plan.lower_limits` 0. Nor for updates that steps do not wait
///                     for: slower ones come later, which is no plan for more
///   best              what came of the plan, the best so far
std::vector<LowerPlan> lower_plans(const LowerPlan& plan, const result::Result& best);
std::vector<LowerPlan> lower_plans(const description::Scenario& scenario,
                                   const result::Result& own);

/// Something decides before the step what moves in it, and when: activations that are swapped,
/// planned or cached. Others serve queues in order, and work that ends earlier there queues
/// otherwise: such a step may get longer on a faster machine (Graham, 1969), on a real one too.
bool plans_ahead(const description::Scenario& scenario);

/// A plan that turns out better may have a better one beside it, on another axis too: as long as
/// one is, those of the best are tried, so often at most.
inline constexpr int lower_rounds = 4;

/// Steps of one run repeat to 0.1 %: what is better by no more is no reason to plan otherwise.
inline constexpr double worth_another_plan = 1.001;
/// Whether a plan fits where the other does not, or is faster by more than `factor`.
bool is_better(const result::Result& lower, const result::Result& own, double factor = 1);

}  // namespace spillway::explore
