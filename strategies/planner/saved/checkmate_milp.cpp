#include "strategies/planner/saved/checkmate_milp.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spillway::strategies {

namespace {

using Index = std::int32_t;
using Terms = std::vector<std::pair<Index, double>>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Index no_column = -1;
/// Of two plans that take equally long the one that moves and computes less.
constexpr double tie = 1e-6;

/// The program, column by column: R, S, F and U of the paper; O, out and in of what offloads.
class Formulation {
 public:
  explicit Formulation(const CheckmateProblem& problem)
      : problem_(problem), count_(problem.nodes.size()), users_(count_) {
    for (std::uint32_t node = 0; node < count_; ++node) {
      for (const std::uint32_t source : problem.nodes[node].sources) {
        ENSURE(source < node, "nodes of a graph that are in no topological order");
        users_[source].push_back(node);
      }
      largest_ = std::max(largest_, static_cast<double>(problem.nodes[node].bytes));
      all_bytes_ += problem.nodes[node].bytes;
      longest_ = std::max(longest_, problem.nodes[node].seconds);
      offloads_ |= problem.nodes[node].offloads;
    }
    make_columns();
    presence();
    if (problem.budget < problem.fixed + all_bytes_) memory();  // else there is room for all
    if (problem.held_at)
      limit_bytes(held_[*problem.held_at], static_cast<double>(problem.held_bytes));
    if (offloads_) transfers();
  }

  const milp::Program& program() const { return program_; }

  CheckmatePlan plan(const milp::Solution& solution) const {
    CheckmatePlan plan;
    plan.found = solution.found;
    plan.proven = solution.proven;
    if (!solution.found) return plan;
    for (const Index time : times_)
      plan.seconds += solution.columns[static_cast<std::size_t>(time)] * longest();
    plan.gap = solution.gap();
    plan.computed = table(computed_, solution);
    plan.held = table(held_, solution);
    plan.fetched = table(in_, solution);
    for (std::uint32_t node = 0; node < count_ && times_.empty(); ++node)
      for (const std::vector<bool>& stage : plan.computed)
        plan.seconds += stage[node] ? problem_.nodes[node].seconds : 0;
    return plan;
  }

 private:
  using Columns = std::vector<std::vector<Index>>;

  Columns grid() const { return Columns(count_, std::vector<Index>(count_, no_column)); }

  void make_columns() {
    computed_ = held_ = in_host_ = out_ = in_ = grid();
    for (std::uint32_t stage = 0; stage < count_; ++stage)
      for (std::uint32_t node = 0; node <= stage; ++node) {
        const bool own = node == stage;
        const CheckmateNode& one = problem_.nodes[node];
        // without offloading what is least is the time of kernels
        const double time = one.seconds / longest() * (offloads_ ? tie : 1);
        const double cost = own ? time : time + tie * size(node);
        computed_[stage][node] =
            program_.add({own ? 1.0 : 0.0, own || one.again ? 1.0 : 0.0, cost, true});
        if (own) continue;
        held_[stage][node] = program_.add({});
        if (!one.offloads) continue;
        in_host_[stage][node] = program_.add({});
        out_[stage][node] = program_.add({0, 1, tie * size(node), true});
        in_[stage][node] = program_.add({0, 1, tie * size(node), true});
      }
  }

  double longest() const { return longest_ > 0 ? longest_ : 1; }
  /// Bytes as numbers that a solver likes.
  double size(std::uint32_t node) const {
    return static_cast<double>(problem_.nodes[node].bytes) / std::max(1.0, largest_);
  }

  static void add(Terms& terms, Index column, double factor) {
    if (column != no_column) terms.emplace_back(column, factor);
  }
  void at_most(Terms terms, double upper) {
    program_.rows.push_back({std::move(terms), -infinity, upper});
  }

  /// Sources are there; what is held was made or held or fetched in the stage before.
  void presence() {
    for (std::uint32_t stage = 0; stage < count_; ++stage)
      for (std::uint32_t node = 0; node <= stage; ++node) {
        for (const std::uint32_t source : problem_.nodes[node].sources) {
          Terms there{{computed_[stage][node], 1}};
          for (const Columns* from : {&computed_, &held_, &in_})
            add(there, (*from)[stage][source], -1);
          at_most(std::move(there), 0);
        }
        if (node == stage) continue;
        Terms kept{{held_[stage][node], 1}};
        for (const Columns* from : {&computed_, &held_, &in_})
          add(kept, (*from)[stage - 1][node], -1);
        at_most(std::move(kept), 0);
      }
  }

  /// Nobody needs `node` any more after `user` has run in this stage: the column of F.
  Index freed(std::uint32_t stage, std::uint32_t node, std::uint32_t user) {
    const Index column = program_.add({});
    // hazards: the user does not run; the next stage holds the value; a later user runs
    Terms hazards;
    double constant = 1, most = 1;
    hazards.emplace_back(computed_[stage][user], -1);
    if (stage + 1 < count_) {
      hazards.emplace_back(held_[stage + 1][node], 1);
      ++most;
    }
    for (const std::uint32_t later : users_[node])
      if (later > user && later <= stage) {
        hazards.emplace_back(computed_[stage][later], 1);
        ++most;
      }
    // 1 - F <= hazards, most (1 - F) >= hazards
    Terms enough = hazards, few = hazards;
    for (auto& [unused, factor] : enough) factor = -factor;
    enough.emplace_back(column, -1);
    at_most(std::move(enough), constant - 1);
    few.emplace_back(column, most);
    at_most(std::move(few), most - constant);
    return column;
  }

  /// What each stage holds: after each kernel what it made has come, what it read last has gone.
  void memory() {
    const double unit = std::max(1.0, largest_);
    const double budget =
        (static_cast<double>(problem_.budget) - static_cast<double>(problem_.fixed)) / unit;
    for (std::uint32_t stage = 0; stage < count_; ++stage) {
      Terms used;
      for (std::uint32_t node = 0; node < stage; ++node)
        for (const Columns* there : {&held_, &in_}) add(used, (*there)[stage][node], size(node));
      for (std::uint32_t node = 0; node <= stage; ++node) {
        used.emplace_back(computed_[stage][node], size(node));
        at_most(used, budget);
        for (const std::uint32_t source : problem_.nodes[node].sources)
          used.emplace_back(freed(stage, source, node), -size(source));
        used.emplace_back(freed(stage, node, node), -size(node));
      }
    }
  }

  void limit_bytes(const std::vector<Index>& columns, double bytes) {
    Terms sum;
    for (std::uint32_t node = 0; node < count_; ++node) add(sum, columns[node], size(node));
    at_most(std::move(sum), bytes / std::max(1.0, largest_));
  }

  /// Copies in host memory, and the time that groups of stages take with them.
  void transfers() {
    for (std::uint32_t stage = 0; stage < count_; ++stage) {
      limit_bytes(in_host_[stage], static_cast<double>(problem_.host_bytes));
      for (std::uint32_t node = 0; node < stage; ++node) {
        if (in_[stage][node] == no_column) continue;
        at_most({{in_[stage][node], 1}, {in_host_[stage][node], -1}}, 0);
        at_most({{out_[stage][node], 1}, {computed_[stage][node], -1}, {held_[stage][node], -1}},
                0);
        Terms copied{{in_host_[stage][node], 1}};
        add(copied, in_host_[stage - 1][node], -1);
        add(copied, out_[stage - 1][node], -1);
        at_most(std::move(copied), 0);
      }
    }
    std::vector<std::uint32_t> groups = problem_.groups;
    if (groups.empty()) {
      groups.resize(count_);
      std::iota(groups.begin(), groups.end(), 0u);
    }
    std::uint32_t first = 0;
    for (const std::uint32_t last : groups) {
      group_time(first, last);
      first = last + 1;
    }
  }

  void group_time(std::uint32_t first, std::uint32_t last) {
    const Index time = program_.add({0, infinity, 1, false});
    times_.push_back(time);
    Terms kernels{{time, -1}}, down{{time, -1}}, up{{time, -1}};
    const double down_s = largest_ / problem_.down_bytes_per_s / longest();
    const double up_s = largest_ / problem_.up_bytes_per_s / longest();
    for (std::uint32_t stage = first; stage <= last; ++stage)
      for (std::uint32_t node = 0; node <= stage; ++node) {
        kernels.emplace_back(computed_[stage][node], problem_.nodes[node].seconds / longest());
        add(down, out_[stage][node], size(node) * down_s);
        add(up, in_[stage][node], size(node) * up_s);
      }
    for (Terms* terms : {&kernels, &down, &up}) at_most(std::move(*terms), 0);
  }

  CheckmateTable table(const Columns& columns, const milp::Solution& solution) const {
    CheckmateTable result(count_, std::vector<bool>(count_, false));
    for (std::uint32_t stage = 0; stage < count_; ++stage)
      for (std::uint32_t node = 0; node <= stage; ++node)
        if (columns[stage][node] != no_column)
          result[stage][node] =
              solution.columns[static_cast<std::size_t>(columns[stage][node])] > 0.5;
    return result;
  }

  const CheckmateProblem& problem_;
  std::size_t count_;
  std::vector<std::vector<std::uint32_t>> users_;
  double largest_ = 0;  ///< bytes of a node
  double longest_ = 0;  ///< seconds of a node
  std::uint64_t all_bytes_ = 0;
  bool offloads_ = false;
  milp::Program program_;
  std::vector<Index> times_;  ///< of groups
  Columns computed_, held_, in_host_, out_,
      in_;  ///< by stage and node; `no_column` where there is none
};

}  // namespace

CheckmatePlan plan_checkmate(const CheckmateProblem& problem, const milp::Limits& limits) {
  const Formulation formulation(problem);
  return formulation.plan(milp::solve(formulation.program(), limits));
}

}  // namespace spillway::strategies
