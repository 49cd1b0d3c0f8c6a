#include "strategies/planner/saved/capuchin_planner.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace spillway::strategies {

namespace {

/// Takes items off the GPU until enough is gone.
class Policy {
 public:
  explicit Policy(const CapuchinProblem& problem)
      : problem_(problem),
        host_left_(problem.host_bytes),
        need_(problem.need),
        choices_(problem.items.size(), CapuchinChoice::keep) {
    for (const SavedItem& item : problem.items) {
      free_s_.push_back(free_time_s(problem, item));
      if (!item.recomputable) only_swapped_ += item.bytes;
    }
    order_.resize(problem.items.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t one, std::size_t other) {
      return free_s_[one] > free_s_[other];
    });
  }

  std::vector<CapuchinChoice> run() {
    for (const std::size_t item : order_) {
      if (need_ == 0 || free_s_[item] < 0) break;
      if (fits(item)) take(item, CapuchinChoice::swap);
    }
    while (need_ > 0 && take_cheaper()) {
    }
    return std::move(choices_);
  }

 private:
  bool fits(std::size_t item) const {
    const SavedItem& one = problem_.items[item];
    const std::uint64_t others = one.recomputable ? only_swapped_ : 0;
    return one.bytes + others <= host_left_;
  }

  void take(std::size_t item, CapuchinChoice how) {
    const std::uint64_t bytes = problem_.items[item].bytes;
    choices_[item] = how;
    need_ -= std::min(need_, bytes);
    if (how == CapuchinChoice::swap) host_left_ -= bytes;
    if (!problem_.items[item].recomputable) only_swapped_ -= bytes;
  }

  /// To make `item` again, and what it is made from and is not there either.
  double chain_s(std::size_t item) const {
    std::vector<std::size_t> chain{item};
    double seconds = 0;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      seconds += problem_.items[chain[i]].again_s;
      for (const std::uint32_t source : problem_.items[chain[i]].sources)
        if (choices_[source] == CapuchinChoice::recompute &&
            std::find(chain.begin(), chain.end(), source) == chain.end())
          chain.push_back(source);
    }
    return seconds;
  }

  std::optional<std::size_t> cheapest_swap() const {
    for (const std::size_t item : order_)
      if (choices_[item] == CapuchinChoice::keep && fits(item)) return item;
    return {};
  }

  std::optional<std::size_t> best_recomputation() const {
    std::optional<std::size_t> best;
    double most = -1;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const SavedItem& item = problem_.items[i];
      if (choices_[i] != CapuchinChoice::keep || !item.recomputable) continue;
      const double seconds = chain_s(i);
      const double saved = seconds > 0 ? static_cast<double>(item.bytes) / seconds
                                       : std::numeric_limits<double>::infinity();
      if (saved > most) most = saved, best = i;
    }
    return best;
  }

  /// False: nothing is left that can go.
  bool take_cheaper() {
    const auto swapped = cheapest_swap(), again = best_recomputation();
    if (!swapped && !again) return false;
    const bool swaps = swapped && (!again || -free_s_[*swapped] <= chain_s(*again));
    take(swaps ? *swapped : *again, swaps ? CapuchinChoice::swap : CapuchinChoice::recompute);
    return true;
  }

  const CapuchinProblem& problem_;
  std::uint64_t host_left_, need_;
  std::uint64_t only_swapped_ = 0;  ///< bytes on the GPU of what nobody makes again
  std::vector<CapuchinChoice> choices_;
  std::vector<double> free_s_;
  std::vector<std::size_t> order_;  ///< most free time first
};

}  // namespace

double free_time_s(const CapuchinProblem& problem, const SavedItem& item) {
  const auto bytes = static_cast<double>(item.bytes);
  return (item.first_backward_s - bytes / problem.up_bytes_per_s) -
         (item.last_forward_s + bytes / problem.down_bytes_per_s);
}

std::vector<CapuchinChoice> plan_capuchin(const CapuchinProblem& problem) {
  return Policy(problem).run();
}

}  // namespace spillway::strategies
