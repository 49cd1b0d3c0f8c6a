#include "answers/fit/line.hpp"

#include "strategies/bounds/mandatory.hpp"
#include "strategies/decide/lohan_plan.hpp"
#include "strategies/run/counting_probe.hpp"

#include <algorithm>
#include <limits>

namespace spillway::answers {

using description::Scenario;

namespace {

double tokens_of(const Scenario& scenario) {
  const description::Training& training = scenario.training;
  return static_cast<double>(training.micro_batch * training.gradient_accumulation *
                             scenario.parallel.data * training.sequence);
}

/// Whether no amount of swapping leaves room on the GPU.
bool swaps_in_vain(const Scenario& scenario) {
  if (scenario.strategy.activations.policy != description::ActivationPolicy::swap) return false;
  const strategies::Prepared prepared = strategies::prepare(scenario);
  return !strategies::some_swap_fits_gpu(scenario, prepared, strategies::counting_probe());
}

/// Candidate::most_tokens_per_s
double most_of(const Scenario& scenario) {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (strategies::operator_too_large(scenario)) return 0;
  const auto mandatory = strategies::Mandatory::of(scenario);
  if (!mandatory) return none;
  if (mandatory->too_small(scenario.machine) || swaps_in_vain(scenario)) return 0;
  const double step_s = mandatory->step_s(scenario);
  return step_s > 0 ? tokens_of(scenario) / step_s : none;
}

}  // namespace

double Gap::most_tokens_per_s() const {
  if (!open()) return 0;
  return at_room * static_cast<double>(none - 1) / static_cast<double>(room);
}

void Gap::take_room(std::uint64_t batch, double tokens_per_s) {
  room = batch;
  at_room = tokens_per_s;
  most_of_middle.reset();
}

void Gap::take_none(std::uint64_t batch) {
  none = batch;
  most_of_middle.reset();
}

void Line::close_with(double tokens_per_s) {
  if (at > 0) gap = {now().batch(), candidates[at - 1].batch(), tokens_per_s, {}};
  close();
}

Candidate Line::middle() const { return candidates.front().with_batch(gap.middle()); }

bool Gap::promises(double least) const {
  return most_of_middle && worth_simulating(*most_of_middle, least) &&
         worth_simulating(most_tokens_per_s(), least);
}

bool worth_simulating(double tokens_per_s, double least) {
  constexpr double worth_a_look = 1.02;
  return tokens_per_s > worth_a_look * least;
}

std::vector<double> next_bounds(const Line& line) {
  const auto bound = [&](std::size_t i) {
    const auto& known = line.candidates[i].most_tokens_per_s;
    return known ? *known : most_of(line.candidates[i].scenario);
  };
  std::size_t out = line.at, first = line.candidates.size() - 1;
  if (const double most = bound(out); most > 0) return {most};
  double most = out < first ? bound(first) : 0;
  if (most == 0) return std::vector<double>(line.candidates.size() - line.at, 0);
  while (first - out > 1) {
    const std::size_t middle = out + (first - out) / 2;
    const double other = bound(middle);
    if (other == 0) {
      out = middle;
    } else {
      first = middle;
      most = other;
    }
  }
  std::vector<double> bounds(first - line.at, 0);
  bounds.push_back(most);
  return bounds;
}

Gap narrowed(const Line& line, double least, std::uint64_t& bounded) {
  Line own = line;
  Gap& gap = own.gap;
  while (worth_simulating(gap.most_tokens_per_s(), least)) {
    if (!gap.most_of_middle) {
      gap.most_of_middle = most_of(own.middle().scenario);
      ++bounded;
    }
    const double most = *gap.most_of_middle;
    if (most > 0 && worth_simulating(most, least)) break;
    if (most > 0)
      gap.take_room(gap.middle(), most);
    else
      gap.take_none(gap.middle());
  }
  return gap;
}

}  // namespace spillway::answers
