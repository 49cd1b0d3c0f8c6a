#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/architecture/model.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/reading/read_model.hpp"

/// Any config.json is either refused with complaints or a model whose weights add up.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const scenarios::LocatedJson config = scenarios::parse_located(text, "config.json");
    std::vector<description::Complaint> complaints;
    const auto architecture = scenarios::read_config(config, "fuzz", "", complaints);
    if (!complaints.empty()) return 0;
    if ((architecture.layers + architecture.encoder_layers) * (1 + architecture.experts) > 1000)
      return 0;  // legal, but slow to lay out under the sanitizers
    const models::Model model = models::build_model(architecture);
    description::Params sum;
    for (const models::WeightTensor& weight : model.weights) sum += weight.parameters;
    ENSURE(sum == model.parameters, "the weights do not add up to the model");
  } catch (const description::ScenarioError& error) {
    ENSURE(!error.complaints().empty(), "a refusal without a complaint");
  }
  return 0;
}
