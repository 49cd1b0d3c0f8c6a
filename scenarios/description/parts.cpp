#include "scenarios/description/parts.hpp"

#include "scenarios/description/json_fields.hpp"

namespace spillway::description {

namespace {

using nlohmann::json;

template <class Io, class Part>
void weights_fields(Io& io, Part& part) {
  io("home", part.home);
  io("pool", part.pool);
  io("prefetch_blocks", part.prefetch_blocks);
  io.automatic("buffer_count", part.buffer_count);
  io.automatic("buffer_size", part.buffer_size);
  io("max_in_host", part.max_in_host);
  io("overlap", part.overlap);
  io.automatic("pinned", part.pinned);
  io("persistence_threshold", part.persistence_threshold);
  io("max_reuse", part.max_reuse);
  io("page", part.page);
}

template <class Io, class Part>
void gradients_fields(Io& io, Part& part) {
  io("policy", part.policy);
  io("accumulation", part.accumulation);
  io("convert", part.convert);
  io("d2h", part.d2h);
  io("overlap", part.overlap);
  io("flush_tail", part.flush_tail);
  io.automatic("pinned", part.pinned);
  io("staging_buffer", part.staging_buffer);
  io("fused_accumulation", part.fused_accumulation);
  io("init_copy", part.init_copy);
  io.automatic("lands", part.lands);
  io("reduce_bucket", part.reduce_bucket);
}

template <class Io, class Part>
void optimizer_fields(Io& io, Part& part) {
  io("device", part.device);
  io("home", part.home);
  io("order", part.order);
  io("subgroup", part.subgroup);
  io("grouping", part.grouping);
  io("fused_tensors", part.fused_tensors);
  io.automatic("buffers", part.buffers);
  io("pipeline_read", part.pipeline_read);
  io("pipeline_write", part.pipeline_write);
  io("tier_lock", part.tier_lock);
  io.automatic("host_cache", part.host_cache);
  io.map("lanes", part.lanes);
  io("adapt", part.adapt);
  io("host_fill", part.host_fill);
  io("read_ahead", part.read_ahead);
}

template <class Io, class Part>
void strategy_fields(Io& io, Part& part) {
  io("system", part.system);
  io("overflow_check", part.overflow_check);
  io("pinned", part.pinned);
  io("io_engine", part.io_engine);
  io("gpu_allocator", part.gpu_allocator);
}

json activations_json(const ActivationsPart& part) {
  json object;
  object["policy"] = to_written(part.policy);
  object["homes"] = part.homes;
  object["swap_bytes"] = !part.swap_bytes               ? json("auto")
                         : part.swap_bytes == all_bytes ? json("all")
                                                        : json(to_text(*part.swap_bytes));
  return object;
}

void read_activations(FieldReader& read, ActivationsPart& part) {
  if (const json* policy = read.find("policy"))
    part.policy = *policy == "recompute" ? ActivationPolicy::checkpoint_gpu
                                         : Written<ActivationPolicy>::read(*policy);
  read("homes", part.homes);
  if (const json* bytes = read.find("swap_bytes"); bytes && *bytes == "all")
    part.swap_bytes = all_bytes;
  else
    read.automatic("swap_bytes", part.swap_bytes);
}

json limit_json(Params limit) { return limit == all_params ? json("all") : json(to_text(limit)); }

void read_limit(FieldReader& read, const char* key, Params& limit) {
  if (const json* value = read.find(key); value && *value == "all")
    limit = all_params;
  else
    read(key, limit);
}

void read_weights(FieldReader& read, WeightsPart& part) {
  weights_fields(read, part);
  read_limit(read, "max_live", part.max_live);
  read_limit(read, "prefetch_bucket", part.prefetch_bucket);
}

json paths_json(const OptimizerPart& part) {
  json object = json::object();
  for (const auto& [storage, share] : part.paths)
    object[storage] = share ? json(*share) : json("auto");
  return object;
}

void read_paths(FieldReader& read, OptimizerPart& part) {
  const json* paths = read.find("paths");
  if (!paths) return;
  part.paths.clear();
  for (const auto& [storage, share] : paths->items())
    part.paths[storage] =
        share == "auto" ? std::nullopt : std::optional<double>(share.get<double>());
}

json staleness_json(const OptimizerPart& part) {
  return part.staleness == any_staleness ? json("async") : json(part.staleness);
}

void read_staleness(FieldReader& read, OptimizerPart& part) {
  if (const json* staleness = read.find("staleness"))
    part.staleness = *staleness == "async" ? any_staleness : staleness->get<std::uint64_t>();
}

void keep_unread(const FieldReader& read, const json& object, const std::string& prefix,
                 Strategy& strategy) {
  for (const std::string& key : read.unread()) strategy.further[prefix + key] = object[key].dump();
}

/// Calls `fill(reader)` on the object under `key`, if there is one, and keeps what nobody read.
template <class Fill>
void read_part(FieldReader& whole, const char* key, Strategy& strategy, Fill fill) {
  const json* object = whole.find(key);
  if (!object) return;
  FieldReader read(*object);
  fill(read);
  keep_unread(read, *object, std::string(key) + ".", strategy);
}

}  // namespace

void to_json(json& object, const Strategy& strategy) {
  object = json::object();
  FieldWriter write(object);
  strategy_fields(write, strategy);
  if (!strategy.preset.empty()) object["preset"] = strategy.preset;
  object["gpu_capacity"] = strategy.unlimited_gpu ? "unlimited" : "machine";
  FieldWriter weights(object["weights"]);
  weights_fields(weights, strategy.weights);
  object["weights"]["max_live"] = limit_json(strategy.weights.max_live);
  object["weights"]["prefetch_bucket"] = limit_json(strategy.weights.prefetch_bucket);
  object["activations"] = activations_json(strategy.activations);
  FieldWriter gradients(object["gradients"]);
  gradients_fields(gradients, strategy.gradients);
  FieldWriter optimizer(object["optimizer"]);
  optimizer_fields(optimizer, strategy.optimizer);
  object["optimizer"]["paths"] = paths_json(strategy.optimizer);
  object["optimizer"]["staleness"] = staleness_json(strategy.optimizer);
  for (const auto& [key, text] : strategy.further) {
    const std::size_t dot = key.find('.');
    json& parent = dot == std::string::npos ? object : object[key.substr(0, dot)];
    parent[dot == std::string::npos ? key : key.substr(dot + 1)] = json::parse(text);
  }
}

void from_json(const json& object, Strategy& strategy) {
  FieldReader read(object);
  strategy_fields(read, strategy);
  read("preset", strategy.preset);
  if (const json* capacity = read.find("gpu_capacity"))
    strategy.unlimited_gpu = *capacity == "unlimited";
  read_part(read, "weights", strategy,
            [&](FieldReader& part) { read_weights(part, strategy.weights); });
  read_part(read, "activations", strategy,
            [&](FieldReader& part) { read_activations(part, strategy.activations); });
  read_part(read, "gradients", strategy,
            [&](FieldReader& part) { gradients_fields(part, strategy.gradients); });
  read_part(read, "optimizer", strategy, [&](FieldReader& part) {
    optimizer_fields(part, strategy.optimizer);
    read_paths(part, strategy.optimizer);
    read_staleness(part, strategy.optimizer);
  });
  read_part(read, "plan", strategy, [](FieldReader&) {});
  keep_unread(read, object, "", strategy);
}

}  // namespace spillway::description
