#include "scenarios/description/parts.hpp"

#include "scenarios/description/json_fields.hpp"
#include "scenarios/description/schema_fields.hpp"

namespace spillway::description {

namespace {

using nlohmann::json;

template <class Io, class Part>
void own_knobs(Io& io, Part& part) {
  io({"micro_batches",
      "order of a step's micro-batches: one_by_one, each through all layers and back; by_layer, "
      "all of them through a layer, whose weights come once, then through the next"},
     part.micro_batches);
  io({"overflow_check",
      "how fp16 gradients are searched for infinities: a chain of operations with temporaries, or "
      "one pass without"},
     part.overflow_check);
  io({"pinned",
      "pinned memory is rounded up to a power of two, as PyTorch's allocator does, or to pages, "
      "which DeepSpeed does at no such speed: with DS_PIN_MEMORY_BACKEND=native GPUs copy it as "
      "they copy pageable memory"},
     part.pinned);
  io({"io_engine",
      "file: one file a tensor; direct: the drives without a file system; gds: GPUDirect Storage; "
      "buffered: files without O_DIRECT, whose bytes one thread copies by way of the page cache, "
      "which keeps them in free memory and writes them later",
      "aio.use_gds"},
     part.io_engine);
  io({"gpu_allocator", "caching rounds as PyTorch's allocator does; exact does not"},
     part.gpu_allocator);
  io({"gpu_capacity", "unlimited: an ideal without a limit of GPU memory"}, part.gpu_capacity);
}

/// Calls `visit(key, part, knobs)` for each part.
template <class AnyStrategy, class Visit>
void each_part(AnyStrategy& strategy, Visit visit) {
  visit("weights", strategy.weights, [](auto& io, auto& part) { weights_knobs(io, part); });
  visit("activations", strategy.activations,
        [](auto& io, auto& part) { activations_knobs(io, part); });
  visit("gradients", strategy.gradients, [](auto& io, auto& part) { gradients_knobs(io, part); });
  visit("optimizer", strategy.optimizer, [](auto& io, auto& part) { optimizer_knobs(io, part); });
  visit("plan", strategy.plan, [](auto& io, auto& part) { plan_knobs(io, part); });
}

/// Hears of the knobs that have a value and belong to some systems alone, which lists give as
/// `optional`. All others it writes to `unread`.
class ParticularKnobs : public FieldWriter {
 public:
  ParticularKnobs(std::string part, std::set<std::string>& paths, json& unread)
      : FieldWriter(unread), part_(std::move(part)), paths_(paths) {}

  template <class T>
  void optional(const Knob& knob, const std::optional<T>& value, const Range& = any_number) {
    if (value) paths_.insert(part_ + "." + knob.name);
  }

 private:
  std::string part_;
  std::set<std::string>& paths_;
};

/// Knobs that were. Of the values only `taken` were ever simulated, all alike, and files and
/// results of older releases say them: they are read and not kept.
struct Retired {
  const char *part, *name;
  json taken;
  const char* why;
};
const std::vector<Retired>& retired() {
  static const std::vector<Retired> all = {
      {"weights", "pool_layout", {"separate", "contiguous"}, "no answer depends on it"},
      {"activations", "deduplicate", {true}, "a tensor that several modules save is one tensor"},
      {"optimizer", "compression", {1, 1.0}, "gradients go whole to where they are used"},
      {"plan",
       "profile",
       {"model"},
       "a run plans its own step; spillway lifetimes reads a profile"},
      {"plan", "profile_steps", {3}, "plans are made before a run, from the model"},
  };
  return all;
}

json text_property(const char* words) { return {{"type", "string"}, {"description", words}}; }

}  // namespace

void to_json(json& object, const Strategy& strategy) {
  object = json::object();
  object["system"] = strategy.system;
  if (!strategy.preset.empty()) object["preset"] = strategy.preset;
  FieldWriter own(object);
  own_knobs(own, strategy);
  each_part(strategy, [&](const char* key, const auto& part, auto knobs) {
    json values = json::object();
    FieldWriter write(values);
    knobs(write, part);
    if (!values.empty()) object[key] = std::move(values);
  });
}

void from_json(const json& object, Strategy& strategy) {
  FieldReader read(object);
  read("system", strategy.system);
  read("preset", strategy.preset);
  own_knobs(read, strategy);
  each_part(strategy, [&](const char* key, auto& part, auto knobs) {
    const json* values = read.find(key);
    if (!values) return;
    FieldReader each(*values);
    knobs(each, part);
  });
}

json strategy_schema() {
  json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "spillway strategy"},
                 {"type", "object"},
                 {"description", "A system and the parts that differ from it"},
                 {"additionalProperties", false}};
  json& properties = schema["properties"];
  properties["note"] = text_property("for people; nothing reads it");
  properties["system"] =
      text_property("the schedule and the parts to begin with; spillway systems lists them");
  properties["preset"] = text_property(
      "settings of published runs (scenarios/presets) between the system's defaults and what the "
      "scenario says");
  const Strategy any;
  SchemaFields own(properties);
  own_knobs(own, any);
  each_part(any, [&](const char* key, const auto& part, auto knobs) {
    json& object = properties[key];
    object = {{"type", "object"}, {"additionalProperties", false}};
    SchemaFields fields(object["properties"]);
    knobs(fields, part);
  });
  for (const Retired& knob : retired())
    properties[knob.part]["properties"][knob.name] = {{"enum", knob.taken},
                                                      {"x-retired", knob.why}};
  return schema;
}

std::set<std::string> particular_knobs(const Strategy& strategy) {
  std::set<std::string> paths;
  json unread;
  each_part(strategy, [&](const char* key, const auto& part, auto knobs) {
    ParticularKnobs look(key, paths, unread);
    knobs(look, part);
  });
  return paths;
}

}  // namespace spillway::description
