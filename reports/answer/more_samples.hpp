#pragma once

#include "reports/text/text.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// The same training with more micro-batches before each update, which costs nothing: where a step
/// may have more samples, updates and what they read and write come less often.
struct MoreSamples {
  std::string system;              ///< that it takes; "": the answer's own
  std::uint64_t accumulation = 1;  ///< micro-batches a step, in place of one
  std::uint64_t micro_batch = 0;   ///< that it takes; 0: the answer's own
  std::uint64_t samples = 0;       ///< of a step
  std::uint64_t samples_now = 0;   ///< of a step of the answer
  std::vector<std::string> set;    ///< "path=value" on the answer's scenario
  double tokens_per_s = 0;
  /// With what one would buy too; absent: there is none, or it does not fit.
  std::optional<double> changed_tokens_per_s;
};

/// " of 1": how many samples each micro-batch has; "" where it has as many as the answer's.
text::Text size_of_each(const MoreSamples& more);

// answer_more_samples.json; as in simulation.hpp.
void to_json(nlohmann::json& json, const MoreSamples& more);
void from_json(const nlohmann::json& json, MoreSamples& more);

}  // namespace spillway::answer
