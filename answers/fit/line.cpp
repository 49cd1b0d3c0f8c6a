#include "answers/fit/line.hpp"

#include "explore/outcome/most_tokens.hpp"

namespace spillway::answers {

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
  constexpr std::uint64_t beyond = 4;  // times the largest that is tried
  const std::uint64_t batch = now().batch();
  if (at > 0)
    gap = {batch, candidates[at - 1].batch(), tokens_per_s, {}};
  else if (candidates.size() > 1)
    gap = {batch, beyond * batch + 1, tokens_per_s, {}};
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
    return known ? *known : explore::most_tokens_per_s(line.candidates[i].scenario);
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
      gap.most_of_middle = explore::most_tokens_per_s(own.middle().scenario);
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
