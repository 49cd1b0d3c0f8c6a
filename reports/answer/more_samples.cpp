#include "reports/answer/more_samples.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

text::Text size_of_each(const MoreSamples& more) {
  if (more.micro_batch == 0) return {};
  return text::filled(" of {}", {text::plain(static_cast<double>(more.micro_batch))});
}

void to_json(json& out, const MoreSamples& more) {
  out = {{"system", more.system},
         {"accumulation", more.accumulation},
         {"micro_batch", more.micro_batch},
         {"samples", more.samples},
         {"samples_now", more.samples_now},
         {"set", more.set},
         {"tokens_per_s", more.tokens_per_s},
         {"changed_tokens_per_s", or_null(more.changed_tokens_per_s)}};
}

void from_json(const json& in, MoreSamples& more) {
  read(in, "system", more.system);
  read(in, "accumulation", more.accumulation);
  read(in, "micro_batch", more.micro_batch);
  read(in, "samples", more.samples);
  read(in, "samples_now", more.samples_now);
  read(in, "set", more.set);
  read(in, "tokens_per_s", more.tokens_per_s);
  read(in, "changed_tokens_per_s", more.changed_tokens_per_s);
}

}  // namespace spillway::answer
