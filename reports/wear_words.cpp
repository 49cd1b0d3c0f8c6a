#include "reports/wear_words.hpp"

#include "reports/human.hpp"

#include <fmt/format.h>

namespace spillway::reports {

using result::Result;
using result::Wear;

namespace {

/// What a step must be shorter by before it counts as set by the cache.
constexpr double noticeable = 0.01;

bool wears(const Result& result) {
  return result.wear && result.wear->lifetime_years && result.wear->warranty_years;
}

std::string amplified(const Wear& wear) { return fmt::format("{:.2f}", wear.waf); }

/// ", which is sooner than the 5 years it has at most" and its contrary.
std::string against_the_limit(const Wear& wear) {
  if (!wear.warranty_limit_years || *wear.warranty_years <= *wear.warranty_limit_years) return "";
  return fmt::format(", and it ends after {} in any case", human_years(*wear.warranty_limit_years));
}

std::string written(const Wear& wear) {
  std::string text = fmt::format(
      "{} a step, {} a day on {}", human_bytes(wear.write_bytes_per_step),
      human_bytes(wear.write_bytes_per_day), wear.storage.empty() ? "the SSD" : wear.storage);
  if (wear.drives > 1)
    text += fmt::format(" ({} on each of {} drives)",
                        human_bytes(wear.write_bytes_per_day_per_drive), wear.drives);
  text += fmt::format(", each byte written {} times inside", amplified(wear));
  if (wear.filled > 0) text += fmt::format(" (at most {} full)", human_share(wear.filled));
  return text;
}

}  // namespace

std::string drives_last(const Result& result) {
  if (!wears(result)) return "-";
  const Wear& wear = *result.wear;
  return fmt::format("{}, flash {} (x{})", human_years(*wear.warranty_years),
                     human_years(*wear.lifetime_years), amplified(wear));
}

std::string lifetimes_sentence(const Result& result) {
  if (!wears(result)) return "";
  const Wear& wear = *result.wear;
  return fmt::format(
      " The maker's warranty of its drives ends after {}, their flash likely stands {}, each byte "
      "written {} times inside.",
      human_years(*wear.warranty_years), human_years(*wear.lifetime_years), amplified(wear));
}

std::string wear_paragraph(const Wear& wear) {
  std::string text = "Wear: " + written(wear);
  if (wear.drive_writes_per_day > 0)
    text += fmt::format("; {} drive writes a day", human_number(wear.drive_writes_per_day));
  if (wear.rated_drive_writes_per_day)
    text += fmt::format(" where {} are rated", human_number(*wear.rated_drive_writes_per_day));
  text += ".";
  if (wear.warranty_years)
    text += fmt::format(" The maker's warranty ends once {} are written: after {}{}.",
                        human_bytes(wear.rated_write_bytes), human_years(*wear.warranty_years),
                        against_the_limit(wear));
  // the rating's workload is another one: its bytes over a day's would not give the years
  if (wear.lifetime_years)
    text += fmt::format(" The flash likely stands {} of these writes: {}.",
                        human_bytes(*wear.lifetime_write_bytes), human_years(*wear.lifetime_years));
  if (wear.usd_per_million_tokens)
    text += fmt::format(" A million tokens wear off ${:.3g} of SSD.", *wear.usd_per_million_tokens);
  return text;
}

std::string cache_paragraph(const Result& result) {
  if (result.slc_caches.empty()) return "";
  std::string text;
  for (const auto& [name, cache] : result.slc_caches)
    text += fmt::format(
        "{}{} takes {} fast ({}), then {} until it has time to move them; a step writes {}.",
        text.empty() ? "" : " ", name, human_bytes(cache.size_bytes),
        human_rate(cache.rated_write_bytes_per_s), human_rate(cache.folded_write_bytes_per_s),
        human_bytes(cache.written_bytes_per_step));
  const auto better = result.next.find(no_folding);
  if (better == result.next.end() || !better->second.step_time_s || result.step_time_s <= 0)
    return text;
  const double gain = 1 - *better->second.step_time_s / result.step_time_s;
  if (gain < noticeable) return text + " That does not set the pace.";
  return text + fmt::format(
                    " The full cache sets the pace: with drives that keep their rate a step takes "
                    "{} instead of {}.",
                    human_time(*better->second.step_time_s), human_time(result.step_time_s));
}

}  // namespace spillway::reports
