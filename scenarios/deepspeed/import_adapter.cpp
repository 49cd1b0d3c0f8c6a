#include "scenarios/deepspeed/import_adapter.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/description/training.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;

namespace {

/// A key of PEFT's that is not described, and what an answer without it lacks.
struct Undescribed {
  const char* key;
  const char* what;
  const char* hint;
};

constexpr const char* differ = "adapters that differ from module to module are not described";

// A trained number has a weight and a gradient of 2 bytes and a master and two states of 4.
constexpr Undescribed undescribed[] = {
    {"rank_pattern", differ,
     "leave it out: every target then has the rank r, and the answer about 16 bytes too few for "
     "each number of an adapter that a larger rank adds, too many where ranks are smaller"},
    {"alpha_pattern", differ,
     "leave it out: scales change neither bytes nor time, the answer stays right"},
    {"layers_to_transform", differ,
     "leave it out: all layers then have adapters, and memory and time of the answer are upper "
     "bounds"},
    {"layer_replication", differ,
     "leave it out: layers that are repeated share weights, but each has adapters, computes and "
     "saves activations; without them memory and time of the answer are lower bounds"},
    {"exclude_modules", differ,
     "leave it out: what it excludes then has adapters, and memory and time of the answer are "
     "upper bounds"},
    {"target_parameters", differ,
     "leave it out: adapters of these parameters are then missing, and memory and time of the "
     "answer are lower bounds, by about 16 bytes for each number of such an adapter"},
    {"modules_to_save", "modules that are trained in full beside adapters are not described",
     "leave them out, and add about 16 bytes for each of their parameters to the memory of the "
     "answer, which is too low by these: a copy of the weight and its gradient in 16 bits, a "
     "master and two states of Adam in fp32; time is a lower bound"}};

class Adapter {
 public:
  explicit Adapter(const LocatedJson& config) : config_(config) {}

  ImportedAdapter run() {
    if (!config_.value.is_object())
      throw ScenarioError({{config_.place("").file, 1, 1, "", "adapters are an object", ""}});
    refuse_others();
    json lora{{"rank", count("r", 8)}};
    lora["alpha"] = alpha(lora["rank"].get<double>());
    lora["targets"] = targets();
    if (says("use_dora")) lora["dora"] = true;
    if (const json* dropout = find("lora_dropout"); dropout && *dropout != 0)
      imported_.notes.emplace_back(
          says("use_dora")
              ? "lora_dropout: not simulated; each adapter saves a mask and what it lets through "
                "besides, and with use_dora PEFT multiplies by the weights once more, forward and "
                "backward"
              : "lora_dropout: not simulated; each adapter saves a mask and what it lets through "
                "besides");
    if (!complaints_.empty()) throw ScenarioError(complaints_);
    imported_.training = {{"method", name_of(description::Method::lora)},
                          {"lora", std::move(lora)}};
    return std::move(imported_);
  }

 private:
  /// Null where PEFT has nothing there either.
  const json* find(const char* key) const {
    const json* found = config_.find(pointer_to("", key));
    return found && !found->is_null() ? found : nullptr;
  }

  /// True, or something where there may be nothing.
  bool says(const char* key) const {
    const json* found = find(key);
    return found && *found != false && !(found->is_structured() && found->empty());
  }

  void complain(const char* key, std::string message, std::string hint) {
    const Place place = config_.place(pointer_to("", key));
    complaints_.push_back(
        {place.file, place.line, place.column, key, std::move(message), std::move(hint)});
  }

  void refuse_others() {
    const json* type = find("peft_type");
    if (!type || *type != "LORA")
      complain("peft_type", type ? type->dump() + " is not described" : "missing",
               "\"LORA\" is what spillway describes");
    for (const Undescribed& one : undescribed)
      if (says(one.key)) complain(one.key, one.what, one.hint);
    if (const json* bias = find("bias"); bias && *bias != "none")
      complain("bias", "biases that are trained beside adapters are not described",
               "write \"none\": memory of the answer is then too low by about 14 bytes for each "
               "number of a bias, which is little");
  }

  std::uint64_t count(const char* key, std::uint64_t otherwise) {
    const json* found = find(key);
    if (!found) return otherwise;
    if (found->is_number_unsigned() && *found > 0) return found->get<std::uint64_t>();
    complain(key, found->dump() + " is no rank", "write a whole number from 1");
    return otherwise;
  }

  double alpha(double rank) {
    const json* found = find("lora_alpha");
    if (found && !found->is_number())
      complain("lora_alpha", found->dump() + " is no number", "write for example 16");
    const double alpha = found && found->is_number() ? found->get<double>() : 8;
    return says("use_rslora") ? alpha * std::sqrt(rank) : alpha;
  }

  json targets() {
    const json* found = find("target_modules");
    if (found && found->is_array()) return *found;
    if (found && *found == "all-linear") return description::all_linear_targets;
    const bool name = found && found->is_string() &&
                      std::all_of(found->get_ref<const std::string&>().begin(),
                                  found->get_ref<const std::string&>().end(),
                                  [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (name) return json::array({*found});
    complain("target_modules",
             found ? "a regular expression is not described"
                   : "missing: PEFT's default is a matter "
                     "of the model's type",
             "list the modules, such as [\"q_proj\", \"v_proj\"]");
    return description::attention_targets;
  }

  const LocatedJson& config_;
  std::vector<Complaint> complaints_;
  ImportedAdapter imported_;
};

}  // namespace

ImportedAdapter import_adapter(const LocatedJson& config) { return Adapter(config).run(); }

}  // namespace spillway::scenarios
