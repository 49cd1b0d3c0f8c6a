#include "answers/advice.hpp"

#include "explore/points/reasons.hpp"
#include "explore/remedies/more_memory.hpp"
#include "reports/result/needs.hpp"

#include <algorithm>

namespace spillway::answers {

namespace {

/// "; the largest parts are optimizer_states 244.1 GiB, pinned_rounding 136.9 GiB": three of the
/// tier that is short; "" where no memory is.
text::Text largest_buffers(const result::Result& result) {
  constexpr std::size_t shown = 3;
  const auto shortages = result::shortages_of(result);
  const auto memory = std::find_if(shortages.begin(), shortages.end(),
                                   [](const auto& need) { return need.tier != "ssd"; });
  if (memory == shortages.end()) return {};
  const auto& purposes = (memory->tier == "gpu" ? result.gpu : result.host).by_purpose;
  std::vector<std::pair<std::uint64_t, std::string>> all;
  for (const auto& [purpose, bytes] : purposes) all.emplace_back(bytes, purpose);
  std::sort(all.rbegin(), all.rend());
  std::vector<text::Text> words;
  for (const auto& [bytes, purpose] : all)
    if (words.size() < shown && bytes > 0)
      words.push_back(text::filled("{} {}", {purpose, text::memory(bytes)}));
  if (words.empty()) return {};
  return text::filled("; the largest parts are {}", {text::joined(words, ", ")});
}

bool is_more_than_is_sold(const result::Result& result) {
  const auto shortages = result::shortages_of(result);
  return std::any_of(shortages.begin(), shortages.end(), [](const result::TierNeed& need) {
    return (need.tier == "host" && explore::sold_host_memory(need.needed) == 0) ||
           (need.tier == "gpu" && explore::sold_gpu_memory(need.needed) == 0);
  });
}

}  // namespace

text::Text advice_on(const explore::Backend& backend, const description::Scenario& scenario,
                     const result::Result& result, const explore::Resolve& resolve) {
  const text::Text lacks = explore::no_room(result) + largest_buffers(result);
  const auto enough = explore::more_memory(backend, scenario, result, resolve);
  if (enough) return lacks + "; it fits with " + enough->words;
  if (is_more_than_is_sold(result)) return lacks + "; no memory that is sold holds it";
  return lacks;  // time ran out, or one purchase after the other was too little
}

}  // namespace spillway::answers
