#include "reports/words/wear_words.hpp"

namespace spillway::reports {

using result::Result;
using result::Wear;
using view::filled;
using view::Quantity;
using view::Text;

namespace {

/// What a step must be shorter by before it counts as set by the cache.
constexpr double noticeable = 0.01;

bool wears(const Result& result) {
  return result.wear && result.wear->lifetime_years && result.wear->warranty_years;
}

view::Number amplified(const Wear& wear) { return view::number(wear.waf, Quantity::ratio); }

/// ", and it ends after 5 years in any case"; empty where it ends sooner.
Text against_the_limit(const Wear& wear) {
  if (!wear.warranty_limit_years || *wear.warranty_years <= *wear.warranty_limit_years) return {};
  return filled(", and it ends after {} in any case", {view::years(*wear.warranty_limit_years)});
}

/// Of bytes that were added up.
constexpr double rounding = 1e-6;

/// ", of which 9.2 PB are already"; empty of drives on which nothing was written before this run.
Text written_before(const Wear& wear) {
  if (wear.written_before_bytes <= rounding * wear.rated_write_bytes) return {};
  return filled(", of which {} are already", {view::bytes(wear.written_before_bytes)});
}

/// Some of the drives have written more than others: the most worn one ends first.
bool is_uneven(const Wear& wear) {
  return wear.most_worn_bytes * static_cast<double>(wear.drives) >
         wear.written_before_bytes + rounding * wear.rated_write_bytes;
}

/// What the rating of the drives means: until when it lasts.
Text rating_text(const Wear& wear) {
  const Text until = view::years(*wear.warranty_years) + against_the_limit(wear);
  if (!is_uneven(wear))
    return filled(wear.rated_by_use
                      ? " By what its log says is used of it, it stands {} of writes like those "
                        "before this run{}: {}."
                      : " The maker's warranty ends once {} are written{}: after {}.",
                  {view::bytes(wear.rated_write_bytes), written_before(wear), until});
  return filled(wear.rated_by_use
                    ? " By what the log of one says is used of it, each drive stands {} of writes "
                      "like those before this run; the most worn has {} of them already, all {} "
                      "together {}, and it stands {}."
                    : " The maker's warranty of a drive ends once {} are written to it; the most "
                      "worn has {} of them already, all {} together {}, and its warranty ends "
                      "after {}.",
                {view::bytes(wear.rated_write_bytes / static_cast<double>(wear.drives)),
                 view::bytes(wear.most_worn_bytes), view::count(wear.drives),
                 view::bytes(wear.written_before_bytes), until});
}

Text written(const Wear& wear) {
  Text text = filled("{} a step, {} a day on {}",
                     {view::bytes(wear.write_bytes_per_step), view::bytes(wear.write_bytes_per_day),
                      wear.storage.empty() ? "the SSD" : wear.storage});
  if (wear.node) text += filled(" of node {}", {std::to_string(*wear.node)});
  if (wear.drives > 1)
    text += filled(" ({} on each of {} drives)",
                   {view::bytes(wear.write_bytes_per_day_per_drive), view::count(wear.drives)});
  text += filled(", each byte written {} times inside", {amplified(wear)});
  if (wear.filled > 0) text += filled(" (at most {} full)", {view::share(wear.filled)});
  return text;
}

}  // namespace

Text drives_last(const Result& result) {
  if (!wears(result)) return "-";
  const Wear& wear = *result.wear;
  return drives_last(*wear.warranty_ends_years(), *wear.lifetime_years, wear.waf);
}

Text drives_last(double warranty_years, double lifetime_years, double waf) {
  return filled("{}, flash {} ({})", {view::years(warranty_years), view::years(lifetime_years),
                                      view::number(waf, Quantity::factor)});
}

Text lifetimes_sentence(const Result& result) {
  if (!wears(result)) return {};
  const Wear& wear = *result.wear;
  return filled(
      wear.rated_by_use
          ? " By what their log says is used, its drives stand {}, with these writes likely {}, "
            "each byte written {} times inside."
          : " The maker's warranty of its drives ends after {}, their flash likely stands {}, "
            "each byte written {} times inside.",
      {view::years(*wear.warranty_ends_years()), view::years(*wear.lifetime_years),
       amplified(wear)});
}

view::Text wear_text(const Wear& wear) {
  Text text = "Wear: " + written(wear);
  if (wear.drive_writes_per_day > 0)
    text += filled("; {} drive writes a day", {view::number(wear.drive_writes_per_day)});
  if (wear.rated_drive_writes_per_day)
    text += filled(" where {} are rated", {view::number(*wear.rated_drive_writes_per_day)});
  text += ".";
  if (wear.warranty_years) text += rating_text(wear);
  // the rating's workload is another one: its bytes over a day's would not give the years
  if (wear.lifetime_years)
    text += filled(is_uneven(wear)
                       ? " Its flash likely stands until all drives have taken {} of these writes: "
                         "{}."
                       : " The flash likely stands {} of these writes: {}.",
                   {view::bytes(*wear.lifetime_write_bytes), view::years(*wear.lifetime_years)});
  if (wear.write_bytes_per_day > 0 && !wear.lifetime_years)
    text += filled(
        " How long that lasts is not known: {} has no endurance. Give it endurance.rated, the "
        "bytes "
        "of its warranty, such as \"1200 TB\", or name its \"part\".",
        {wear.storage.empty() ? "the SSD" : wear.storage});
  if (wear.usd_per_million_tokens)
    text += filled(" A million tokens wear off {} of SSD.",
                   {view::Number{*wear.usd_per_million_tokens, Quantity::cents}});
  return text;
}

view::Text cache_text(const Result& result) {
  Text text;
  for (const auto& [name, cache] : result.slc_caches)
    text += filled(
        "{}{} takes {} fast ({}), then {} until it has time to move them; a step writes {}.",
        {text.empty() ? "" : " ", name, view::bytes(cache.size_bytes),
         view::rate(cache.rated_write_bytes_per_s), view::rate(cache.folded_write_bytes_per_s),
         view::bytes(cache.written_bytes_per_step)});
  const auto better = result.next.find(no_folding);
  const bool known = better != result.next.end() && better->second.step_time_s;
  if (text.empty() || !known || result.step_time_s <= 0) return text;
  const double gain = 1 - *better->second.step_time_s / result.step_time_s;
  if (gain < noticeable) return text + " That does not set the pace.";
  return text +
         filled(
             " The full cache sets the pace: with drives that keep their rate a step takes "
             "{} instead of {}.",
             {view::seconds(*better->second.step_time_s), view::seconds(result.step_time_s)});
}

}  // namespace spillway::reports
