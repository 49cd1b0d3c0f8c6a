#include "models/architecture/weight_names.hpp"

#include "models/architecture/type_readers.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::models {

namespace {

/// As transformers 5 renames what it stacks (its conversion_mapping.py).
void stack(ExpertNames& experts, bool gated) {
  experts.stacked = true;
  experts.gate.clear();
  experts.up = gated ? "gate_up_proj" : "up_proj";
  experts.down = "down_proj";
}

WeightNames names_of_type(const Architecture& architecture) {
  const TypeReader* reader = reader_named(architecture.model_type);
  ENSURE(reader, "no weight names for " + architecture.model_type);
  return reader->names(architecture);
}

}  // namespace

WeightNames names_of(const Architecture& architecture) {
  WeightNames names = names_of_type(architecture);
  if (architecture.expert_layout == ExpertLayout::stacked && !names.experts.stacked)
    stack(names.experts, architecture.gated_ffn);
  return names;
}

std::string refusal(const Architecture& architecture, ExpertLayout layout) {
  const bool separate = layout == ExpertLayout::separate && architecture.experts > 0;
  if (!separate || !names_of_type(architecture).experts.stacked) return "";
  return architecture.model_type +
         " keeps all experts in one tensor in every release of "
         "Hugging Face transformers";
}

}  // namespace spillway::models
