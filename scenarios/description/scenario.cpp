#include "scenarios/description/scenario.hpp"

#include "scenarios/description/json_fields.hpp"

#include <algorithm>

namespace spillway::description {

namespace {

using nlohmann::json;

template <class Io, class T>
void lora_fields(Io& io, T& lora) {
  io("rank", lora.rank);
  io.optional("alpha", lora.alpha);
  io("base", lora.base);
  io("adapters", lora.adapters);
  io("dora", lora.dora);
}

/// What is not trained in full; nothing where everything is.
void write_method(const Training& training, json& object) {
  if (training.method == Method::full) return;
  object["method"] = name_of(training.method);
  if (!training.frozen.empty()) object["frozen"] = training.frozen;
  if (!has_adapters(training.method)) return;
  const Lora& lora = training.lora;
  FieldWriter write(object["lora"]);
  lora_fields(write, lora);
  const bool word = lora.targets.size() == 1 && (lora.targets.front() == attention_targets ||
                                                 lora.targets.front() == all_linear_targets);
  object["lora"]["targets"] = word ? json(lora.targets.front()) : json(lora.targets);
}

void write_packed(const Packed& packed, json& object) {
  if (packed.packed) object["packed"] = packed.document > 0 ? json(packed.document) : json(true);
}

void read_packed(const json& object, Packed& packed) {
  FieldReader read(object);
  if (const json* const given = read.find("packed"))
    packed = {!given->is_boolean() || given->get<bool>(),
              given->is_boolean() ? 0 : given->get<std::uint64_t>()};
}

template <class Io, class T>
void fp8_fields(Io& io, T& fp8) {
  io("transposes", fp8.transposes);
  io("weight_copies", fp8.weight_copies);
}

/// Nothing of other precisions.
void write_fp8(const Training& training, json& object) {
  if (training.precision != Precision::fp8) return;
  FieldWriter write(object["fp8"]);
  fp8_fields(write, training.fp8);
}

void read_fp8(const json& object, Training& training) {
  const json* const fp8 = FieldReader(object).find("fp8");
  if (!fp8) return;
  FieldReader fields(*fp8);
  fp8_fields(fields, training.fp8);
}

void write_recompute(const Training& training, json& object) {
  const Recompute& again = training.recompute;
  if (again.full)
    object["recompute"] = "full";
  else if (!again.operators.empty())
    for (const RecomputedOperator one : again.operators)
      object["recompute"].push_back(name_of(one));
}

void read_recompute(const json& object, Training& training) {
  FieldReader read(object);
  const json* const again = read.find("recompute");
  if (!again) return;
  training.recompute = {};
  if (again->is_array())
    training.recompute.operators = Written<std::vector<RecomputedOperator>>::read(*again);
  else if (*again == "full")
    training.recompute.full = true;
  else if (*again == "selective")
    training.recompute.operators = {RecomputedOperator::attention};
}

void read_method(const json& object, Training& training) {
  FieldReader read(object);
  read("method", training.method);
  read("frozen", training.frozen);
  const json* const lora = read.find("lora");
  if (training.method == Method::qlora && (!lora || !lora->contains("base")))
    training.lora.base = BaseType::nf4;
  if (!lora) return;
  FieldReader fields(*lora);
  lora_fields(fields, training.lora);
  if (const json* const targets = fields.find("targets"))
    training.lora.targets = targets->is_string()
                                ? std::vector<std::string>{targets->get<std::string>()}
                                : targets->get<std::vector<std::string>>();
}

template <class Io, class T>
void training_fields(Io& io, T& training) {
  io("precision", training.precision);
  io("optimizer", training.optimizer);
  io("optimizer_state", training.optimizer_state);
  io("optimizer_in_backward", training.optimizer_in_backward);
  io("micro_batch", training.micro_batch);
  io("gradient_accumulation", training.gradient_accumulation);
  io("sequence", training.sequence);
  io("attention", training.attention);
  io("fused_kernels", training.fused_kernels);
  io("mlp_tiles", training.mlp_tiles);
  io("loss", training.loss);
  io("experts", training.experts);
  io("dropout", training.dropout);
  io("ema", training.ema);
  io("causal_skip", training.causal_skip);
  io("learning_rate", training.learning_rate);
  io("initial_scale_power", training.initial_scale_power);
  io("gradient_clipping", training.gradient_clipping);
}

/// Nothing where all experts are as busy as each other.
void write_load(const ExpertLoad& load, json& object) {
  if (load.zipf) object["expert_load"] = {{"zipf", *load.zipf}};
  if (!load.counts.empty()) object["expert_load"] = load.counts;
}

void read_load(const json& object, ExpertLoad& load) {
  const json* const written = FieldReader(object).find("expert_load");
  if (!written) return;
  load = {};
  if (written->is_object()) load.zipf = written->at("zipf").get<double>();
  if (written->is_array()) load.counts = written->get<std::vector<double>>();
}

template <class Io, class T>
void parallel_fields(Io& io, T& parallel) {
  io("data", parallel.data);
  io("tensor", parallel.tensor);
  io("pipeline", parallel.pipeline);
  io("pipeline_cut", parallel.pipeline_cut);
  io("schedule", parallel.schedule);
  io("virtual_stages", parallel.virtual_stages);
  io("context", parallel.context);
  io("context_kind", parallel.context_kind);
  io("sequence_parallel", parallel.sequence_parallel);
  io("expert", parallel.expert);
  io("zero_stage", parallel.zero_stage);
}

template <class Io, class T>
void bench_fields(Io& io, T& bench) {
  io("op", bench.op);
  io("requests", bench.requests);
  io("queue_depth", bench.queue_depth);
  io("read_share", bench.read_share);
}

template <class Io, class T>
void run_fields(Io& io, T& run) {
  io("warmup_steps", run.warmup_steps);
  io("steps", run.steps);
  io("seed", run.seed);
  io("jitter", run.jitter);
  io("checkpoint", run.checkpoint);
  io.optional("tokens", run.tokens);
  io.optional("checkpoint_every", run.checkpoint_every);
  io.optional("checkpoint_rate", run.checkpoint_rate);
  io.optional("log_bytes", run.log_bytes);
}

void read_bench(const json& object, IoBench& bench) {
  FieldReader read(object);
  bench_fields(read, bench);
  const json& bytes = object.at("bytes");
  bench.bytes = bytes.is_string() ? quantity_from<Bytes>(bytes.get<std::string>())
                                  : Bytes(bytes.get<std::uint64_t>());
}

}  // namespace

void to_json(json& object, const Scenario& scenario) {
  object =
      json{{"name", scenario.name}, {"machine", scenario.machine}, {"strategy", scenario.strategy}};
  if (scenario.model.is_object()) {
    object["model"] = scenario.model;
    object["model"]["_name_or_path"] = scenario.model_name;
  }
  if (scenario.nominal_params) object["nominal_params"] = to_text(*scenario.nominal_params);
  FieldWriter training(object["training"]);
  training_fields(training, scenario.training);
  write_method(scenario.training, object["training"]);
  write_packed(scenario.training.packed, object["training"]);
  write_fp8(scenario.training, object["training"]);
  write_recompute(scenario.training, object["training"]);
  write_load(scenario.training.expert_load, object["training"]);
  FieldWriter parallel(object["parallel"]);
  parallel_fields(parallel, scenario.parallel);
  if (scenario.parallel.expert == 1) object["parallel"].erase("expert");
  FieldWriter run(object["run"]);
  run_fields(run, scenario.run);
  if (scenario.run.jitter == 0) object["run"].erase("jitter");
  if (scenario.run.io_bench) {
    json& bench = object["run"]["io_bench"];
    FieldWriter write(bench);
    bench_fields(write, *scenario.run.io_bench);
    bench["bytes"] = to_text(scenario.run.io_bench->bytes);
  }
}

std::uint64_t Scenario::node_ranks() const { return std::min(parallel.ranks(), machine.gpu.count); }

std::uint64_t Scenario::nodes_in_use() const { return divide_up(parallel.ranks(), node_ranks()); }

void from_json(const json& object, Training& training) {
  FieldReader read(object);
  training_fields(read, training);
  read_method(object, training);
  read_packed(object, training.packed);
  read_fp8(object, training);
  read_recompute(object, training);
  read_load(object, training.expert_load);
  if (!object.contains("loss") && !training.fused_kernels) training.loss = LossKind::plain;
}

void from_json(const json& object, Parallel& parallel) {
  FieldReader read(object);
  parallel_fields(read, parallel);
}

void from_json(const json& object, RunLength& run) {
  FieldReader read(object);
  run_fields(read, run);
  const json* epochs = read.find("epochs");
  const json* data = read.find("dataset_tokens");
  if (data && !run.tokens) run.tokens = data->get<double>() * (epochs ? epochs->get<double>() : 1);
  if (const json* bench = read.find("io_bench")) read_bench(*bench, run.io_bench.emplace());
}

}  // namespace spillway::description
