#include "models/weight_names.hpp"

#include "models/type_readers.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::models {

WeightNames names_of(const Architecture& architecture) {
  const TypeReader* reader = reader_named(architecture.model_type);
  ENSURE(reader, "no weight names for " + architecture.model_type);
  return reader->names(architecture);
}

}  // namespace spillway::models
