#include "scenarios/deepspeed/import_deepspeed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "scenarios/deepspeed/deepspeed_keys.hpp"
#include "scenarios/deepspeed/deepspeed_names.hpp"
#include "scenarios/deepspeed/import_adapter.hpp"
#include "scenarios/deepspeed/import_optimizer.hpp"
#include "scenarios/deepspeed/import_reduction.hpp"
#include "scenarios/deepspeed/import_zero.hpp"
#include "scenarios/deepspeed/trainer.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/reading/read_model.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;

namespace {

models::Model whole_model(const std::string& name) {
  std::vector<Complaint> complaints;
  const Referenced referenced = read_reference(name, "models/library", {}, "model", complaints);
  const std::string only = "name the base model, and what is trained of it by --adapter or --set";
  const json& config = referenced.json.value;
  for (const char* key : {"quantization_config", "peft_type"})
    if (config.is_object() && config.contains(key)) {
      const Place place = referenced.json.key_place(pointer_to("", key));
      complaints.push_back({place.file, place.line, place.column, key,
                            "a quantized model or an adapter is no model to start from", only});
    }
  if (!complaints.empty()) throw ScenarioError(complaints);
  const models::Architecture model = read_config(referenced.json, referenced.name, "", complaints);
  if (!complaints.empty()) throw ScenarioError(complaints);
  return models::build_model(model);
}

/// The outermost section around a value that DeepSpeed does not know; "": it knows all of them.
std::string unknown_section(const std::string& pointer) {
  std::string outermost;
  for (std::string at = parent_of(pointer); !at.empty(); at = parent_of(at))
    if (remark_on(dotted(at)).kind == KeyRemark::Kind::unknown) outermost = at;
  return outermost;
}

/// That DeepSpeed does not know a key or, with all that it holds, a section.
std::string unknown_to_deepspeed(const std::string& path, bool is_section,
                                 const DeepSpeedVersion& version) {
  const bool of_precision = path.starts_with("fp16.") || path.starts_with("bf16.");
  const bool refused = path.starts_with("zero_optimization.") ||
                       (of_precision && version.refuses_unknown_precision());
  const std::string words = remark_on(path).words;
  const char* what =
      is_section ? (refused ? "no section of DeepSpeed's, which refuses it; here all of it is "
                              "ignored"
                            : "no section of DeepSpeed's, all of it is ignored")
                 : (refused ? "no key of DeepSpeed's, which refuses it"
                            : "no key of DeepSpeed's, ignored");
  return path + ": " + what + (words.empty() ? "" : "; " + words);
}

/// Builds one scenario out of one configuration.
class Import {
 public:
  Import(const LocatedJson& config, const ImportOptions& options, const models::Model& model,
         std::uint64_t gpus)
      : keys_(config), options_(options), model_(model), gpus_(gpus) {
    imported_.version = deepspeed_version(options.deepspeed);
  }

  Imported run() {
    keys_.check_sections();
    refuse_partial_training();
    ZeroImport zero(keys_, imported_.version, model_, imported_.notes);
    precision_ = precision();
    if (tensor_ranks() > 1 && zero.stage() == 3) note(tensor_parallel_words());
    imported_.scenario = {{"name", options_.model + " from a DeepSpeed configuration"},
                          {"model", options_.model},
                          {"machine", options_.machine}};
    imported_.scenario["training"] = training(zero.update_interval().has_value());
    if (const auto interval = zero.update_interval())
      imported_.scenario["training"]["gradient_accumulation"] = *interval;
    imported_.scenario["parallel"] = {
        {"data", data_ranks()}, {"tensor", tensor_ranks()}, {"pipeline", 1}};
    if (context_ranks() > 1) imported_.scenario["parallel"]["context"] = context_ranks();
    imported_.scenario["strategy"] = zero.strategy(precision_, data_ranks() * context_ranks());
    imported_.scenario["parallel"]["zero_stage"] = zero.stage();
    leave_out_clipping(zero);
    if (zero.narrow_states()) imported_.scenario["training"]["optimizer_state"] = "bf16";
    read_communication(zero);
    note_stages();
    imported_.pinning_unsaid = zero.pinning_unsaid();
    if (!keys_.complaints().empty()) {
      auto complaints = keys_.complaints();
      tidy(complaints);
      throw ScenarioError(complaints);
    }
    remark();
    return std::move(imported_);
  }

 private:
  void note(text::Text text) { imported_.notes.push_back(std::move(text)); }

  std::string tensor_parallel_words() const {
    const DeepSpeedVersion& version = imported_.version;
    const std::string ends =
        version.trains_tensor_parallel_at_stage_3()
            ? ""
            : fmt::format("DeepSpeed 0.{}.{} ends at the start; ", version.minor, version.patch);
    return "tensor_parallel.autotp_size: " + ends + tensor_parallel_at_stage_3;
  }

  /// Where the version's preset has the CPU convert gradients, nothing here takes their norm.
  void leave_out_clipping(const ZeroImport& zero) {
    json& training = imported_.scenario["training"];
    const json& gradients = imported_.scenario["strategy"]["gradients"];
    if (imported_.version.at_least(16, 0) || zero.stage() < 3 || !zero.offloads() ||
        gradients.contains("convert") || !training.contains("gradient_clipping"))
      return;
    training.erase("gradient_clipping");
    note(
        "gradient_clipping: 0 here, as gradients of a step come to host memory before the CPU "
        "converts them, by preset deepspeed_0.9.3; DeepSpeed's pass over them for their norm is in "
        "no time");
  }

  void read_communication(const ZeroImport& zero) {
    ReductionFound found = read_reduction(
        keys_, {zero.has_main_gradients() ? 0 : zero.stage(), data_ranks() * context_ranks(),
                context_ranks(), precision_, zero.offloads(),
                imported_.version.at_least(12, 4),   // pull request 4695
                imported_.version.at_least(9, 4)});  // 3622
    if (!found.collective.empty())
      imported_.scenario["strategy"]["gradients"]["collective"] = found.collective;
    for (text::Text& words : found.notes) note(std::move(words));
    idle_ = std::move(found.idle);
    if (context_ranks() == 1) {
      idle_.insert("/data_parallel_size");
      return;
    }
    if (!keys_.has("/data_parallel_size"))
      note(
          "sequence_parallel_size: DeepSpeed makes its groups only beside data_parallel_size, or "
          "of what the trainer hands over; taken as made");
    else if (!options_.ranks && written_data_ranks() > data_ranks_of_machine())
      note(fmt::format("data_parallel_size: {} ranks, of which the GPUs here are {}",
                       written_data_ranks(), data_ranks_of_machine()));
  }

  /// The program that calls DeepSpeed cuts its model, whatever the file says.
  ///   Source  DeepSpeed runtime/pipe/module.py, num_stages
  void note_stages() {
    const std::uint64_t stages = keys_.count_or("/pipeline/stages", 1, 1);
    if (stages < 2) return;
    note(
        fmt::format("parallel.pipeline: 1, pipeline.stages is not taken; --ranks {} and --set "
                    "parallel.pipeline={} ask for them",
                    std::max<std::uint64_t>(1, data_ranks() / stages), stages));
  }

  void refuse_partial_training() {
    const std::string only =
        "name PEFT's adapter_config.json beside it (--adapter), or say --set training.method=lora";
    for (const char* key : {"/lora", "/peft", "/qlora", "/hybrid_engine/inference_lora"})
      if (keys_.switched_on(key))
        keys_.complain(key, "DeepSpeed's configuration says nothing of adapters", only);
  }

  std::string precision() {
    const bool half = keys_.flag("/fp16/enabled", false);
    const bool brain = keys_.flag("/bf16/enabled", false) || keys_.flag("/bfloat16/enabled", false);
    if (half && brain)
      keys_.complain("/bf16/enabled", "fp16 and bf16 are both enabled", "keep one");
    if (half || brain) return half ? "fp16_mixed" : "bf16_mixed";
    for (const auto& [key, name] :
         {std::pair{"bf16", "bf16_mixed"}, {"bfloat16", "bf16_mixed"}, {"fp16", "fp16_mixed"}})
      if (keys_.is_auto(fmt::format("/{}/enabled", key))) {
        note(fmt::format("{}.enabled: \"auto\" follows the trainer's arguments, taken as true",
                         key));
        return name;
      }
    if (keys_.flag("/amp/enabled", false)) {
      note("amp: taken as fp16_mixed; Apex's O1 keeps weights and gradients in fp32");
      return "fp16_mixed";
    }
    note("training.precision: neither fp16 nor bf16 is enabled, so DeepSpeed trains in fp32");
    if (keys_.flag("/torch_autocast/enabled", false))
      note(
          "torch_autocast: products run in 16 bits there, with weights in fp32; here they run in "
          "fp32, so the time is an upper bound");
    return "fp32";
  }

  std::optional<std::uint64_t> batch(const std::string& key) {
    const auto value = keys_.count(key);
    if (value && (*value == 0 || *value > 1'000'000)) {
      keys_.complain(key, "a batch is 1 to 1000000");
      return 1;
    }
    if (!value && keys_.is_auto(key) && !has_total())
      note(dotted(key) + ": \"auto\" follows the trainer's arguments, taken as 1");
    return value;
  }
  bool has_total() { return keys_.has("/train_batch_size") && !keys_.is_auto("/train_batch_size"); }

  /// `zenflow`: no step waits for a norm.
  json training(bool zenflow) {
    OptimizerFound found =
        read_optimizer(keys_, imported_.version, {data_ranks() * context_ranks(), zenflow});
    for (text::Text& words : found.notes) note(std::move(words));
    if (!found.stands_for.empty()) imported_.scenario["note"] = found.stands_for;
    json training{{"precision", precision_}, {"optimizer", found.kind}};
    if (found.gradient_clipping > 0) training["gradient_clipping"] = found.gradient_clipping;
    auto micro = batch("/train_micro_batch_size_per_gpu");
    auto steps = batch("/gradient_accumulation_steps");
    const auto total = keys_.count("/train_batch_size");
    const std::uint64_t ranks = data_ranks();
    if (total && *total > 0) split(*total, ranks, micro, steps);
    const bool of_trainer =
        keys_.is_auto("/train_batch_size") || keys_.is_auto("/train_micro_batch_size_per_gpu");
    if (!micro && !total && !of_trainer)
      note(
          "train_batch_size: neither it nor train_micro_batch_size_per_gpu is there, without which "
          "DeepSpeed stops; one sample a rank is taken");
    training["micro_batch"] = micro.value_or(1);
    training["gradient_accumulation"] = steps.value_or(1);
    training["sequence"] = sequence();
    training.update(plain_trainer());
    if (!options_.adapter.empty()) {
      ImportedAdapter adapter = import_adapter(read_located(options_.adapter));
      training.update(adapter.training);
      for (text::Text& words : adapter.notes) note(std::move(words));
    }
    note(
        text::filled("training.loss: plain and training.fused_kernels: false, as a trainer without "
                     "fused kernels computes: {} a logit; --set training.loss=fused and --set "
                     "training.fused_kernels=true with Liger Kernel's",
                     {plain_logit()}));
    return training;
  }

  /// What a total leaves open. It must split over some number of ranks, and one that is not ours is
  /// another box's.
  void split(std::uint64_t total, std::uint64_t ranks, std::optional<std::uint64_t>& micro,
             std::optional<std::uint64_t>& steps) {
    const std::uint64_t said = micro.value_or(1) * steps.value_or(1);
    if (total % said != 0) {
      keys_.complain("/train_batch_size",
                     fmt::format("{} samples are no multiple of micro-batch {} x accumulation {}",
                                 total, micro.value_or(1), steps.value_or(1)),
                     "make the three agree");
      return;
    }
    const std::uint64_t open = std::max<std::uint64_t>(1, total / (said * ranks));
    if (!micro)
      micro = open;
    else if (!steps)
      steps = open;
    const std::uint64_t product = *micro * steps.value_or(1) * ranks;
    if (total % (*micro * steps.value_or(1)) != 0)
      keys_.complain(
          "/train_batch_size",
          fmt::format("{} samples do not split over {} GPUs: DeepSpeed stops there", total, ranks),
          "make it a multiple of the GPUs, or name the machine that it is for");
    else if (product != total)
      note(
          fmt::format("train_batch_size: {} samples are micro-batch {} x accumulation {} on {:.3g} "
                      "GPUs; on {} DeepSpeed stops unless it is {}, which is taken",
                      total, *micro, steps.value_or(1),
                      static_cast<double>(total) / static_cast<double>(*micro * steps.value_or(1)),
                      ranks, product));
  }

  std::uint64_t sequence() {
    if (options_.sequence) return *options_.sequence;
    const std::uint64_t positions = model_.architecture.max_positions;
    const std::uint64_t tokens = positions > 0 ? std::min<std::uint64_t>(positions, 4096) : 4096;
    note(fmt::format("training.sequence: not in a DeepSpeed configuration, taken as {}", tokens));
    return tokens;
  }

  std::uint64_t tensor_ranks() {
    return std::max<std::uint64_t>(1, keys_.count_or("/tensor_parallel/autotp_size", 1, 1));
  }
  /// Of Ulysses, the only way in which DeepSpeed shares a sample's tokens.
  std::uint64_t context_ranks() {
    return std::max<std::uint64_t>(1, keys_.count_or("/sequence_parallel_size", 1, 1));
  }
  std::uint64_t data_ranks() {
    if (options_.ranks) return std::max<std::uint64_t>(1, *options_.ranks);
    return std::min(written_data_ranks(), data_ranks_of_machine());
  }
  std::uint64_t data_ranks_of_machine() {
    return std::max<std::uint64_t>(1, gpus_ / (tensor_ranks() * context_ranks()));
  }
  /// Of a mesh, the only thing that DeepSpeed reads `data_parallel_size` for.
  ///   Source  DeepSpeed __init__.py, initialize
  std::uint64_t written_data_ranks() {
    const std::uint64_t all = data_ranks_of_machine();
    if (context_ranks() == 1) return all;
    return std::max<std::uint64_t>(1, keys_.count_or("/data_parallel_size", all, all));
  }

  /// Of what nobody read: first of all, once each, sections that DeepSpeed does not know, since
  /// they may have been meant to decide the precision or the stage. Then what is not simulated and
  /// what DeepSpeed does not know, one line a key; then all that changes nothing, in one line.
  void remark() {
    if (!keys_.placeholders().empty())
      note(fmt::format("{}: filled in by a script, taken as not set",
                       fmt::join(keys_.placeholders(), ", ")));
    std::vector<std::string> quiet, said, sections;
    for (const std::string& pointer : keys_.unread()) {
      if (const std::string section = unknown_section(pointer); !section.empty()) {
        const std::string text = unknown_to_deepspeed(dotted(section), true, imported_.version);
        if (std::find(sections.begin(), sections.end(), text) == sections.end())
          sections.push_back(text);
        continue;
      }
      const std::string path = dotted(pointer);
      if (idle_.contains(pointer)) {
        quiet.push_back(path);
        continue;
      }
      const KeyRemark remark = remark_on(path);
      if (remark.kind == KeyRemark::Kind::not_modelled && keys_.switched_on_above(pointer)) {
        if (std::find(said.begin(), said.end(), remark.words) != said.end()) continue;
        said.push_back(remark.words);
        note(path + ": " + remark.words);
      } else if (remark.kind == KeyRemark::Kind::unknown) {
        note(unknown_to_deepspeed(path, false, imported_.version));
      } else {
        quiet.push_back(path);
      }
    }
    imported_.notes.insert(imported_.notes.begin(), sections.begin(), sections.end());
    if (!quiet.empty())
      note(fmt::format("no effect on memory, bytes or time here: {}", fmt::join(quiet, ", ")));
  }

  DeepSpeedKeys keys_;
  const ImportOptions& options_;
  const models::Model& model_;
  std::uint64_t gpus_;
  std::string precision_;
  std::set<std::string> idle_;  ///< pointers to keys that have no effect beside the others
  Imported imported_;
};

Imported import_checked(const LocatedJson& config, const ImportOptions& options,
                        const models::Model& model, std::uint64_t gpus) {
  if (!config.value.is_object())
    throw ScenarioError(
        {{config.place("").file, 1, 1, "", "a DeepSpeed configuration is an object", ""}});
  Imported imported = Import(config, options, model, gpus).run();
  const json& keys = config.value;
  const bool knows_one = std::any_of(keys.items().begin(), keys.items().end(), [](const auto& key) {
    const KeyRemark remark = remark_on(key.key());
    return remark.kind != KeyRemark::Kind::unknown || !remark.words.empty();
  });
  if (!keys.empty() && !knows_one)
    throw ScenarioError({{config.place("").file, 1, 1, "", "none of its keys is one of DeepSpeed's",
                          keys.contains("deepspeed_config") || keys.contains("compute_environment")
                              ? "this is Accelerate's configuration: import the file that its "
                                "deepspeed_config_file names"
                              : "import a ds_config.json"}});
  return imported;
}

/// A folder lies on one drive or on a stripe of several, which its name does not tell.
void note_drives_of_folders(const json& config, const description::MachineFile& machine,
                            Imported& imported) {
  const auto drives = std::find_if(
      machine.storage.begin(), machine.storage.end(), [](const description::StorageSpec& storage) {
        return storage.kind == description::StorageKind::ssd && storage.count > 1;
      });
  if (drives == machine.storage.end()) return;
  std::vector<std::string> folders, said;
  for (const char* section : {"offload_param", "offload_optimizer"}) {
    const json::json_pointer at(fmt::format("/zero_optimization/{}", section));
    if (!config.contains(at) || !config[at].is_object()) continue;
    const json& offload = config[at];
    const auto folder = offload.find("nvme_path"), device = offload.find("device");
    if (device == offload.end() || *device != "nvme" || folder == offload.end() ||
        !folder->is_string() || folder->get<std::string>().empty())
      continue;
    if (std::find(folders.begin(), folders.end(), folder->dump()) != folders.end()) continue;
    folders.push_back(folder->dump());
    said.push_back(fmt::format("zero_optimization.{}.nvme_path: {}", section, folders.back()));
  }
  if (folders.empty()) return;
  const bool one = folders.size() == 1;
  imported.notes.emplace_back(fmt::format(
      "{} {} taken to lie on a stripe of the {} drives of {}; where {} on one of them, simulate "
      "with --set machine.storage.{}.count=1{}",
      fmt::join(said, " and "), one ? "is" : "are", drives->count, drives->name,
      one ? "it is" : "both are", drives->name,
      one ? "" : "; where each has a drive of its own, the speed lies between the two"));
}

}  // namespace

Imported import_deepspeed(const LocatedJson& ds_config, const ImportOptions& options) {
  const models::Model model = whole_model(options.model);
  const description::MachineFile machine = read_machine(options.machine);
  Imported imported = import_checked(ds_config, options, model, machine.gpus());
  note_drives_of_folders(ds_config.value, machine, imported);
  return imported;
}

Imported import_deepspeed(const LocatedJson& ds_config, const ImportOptions& options,
                          const models::Model& model, std::uint64_t gpus) {
  return import_checked(ds_config, options, model, gpus);
}

}  // namespace spillway::scenarios
