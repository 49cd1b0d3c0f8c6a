#include "reports/result/validation.hpp"

#include "reports/result/reading.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::result {

namespace {

/// Resources whose busy time the two sides can be asked for.
struct Resource {
  const char* name;
  double PhaseBusy::*busy;
  const char* assumption;
};
constexpr Resource resources[] = {
    {"ssd", &PhaseBusy::ssd, "the storage's read, write and mixed rates"},
    {"cpu", &PhaseBusy::cpu, "host.adam, host.convert and host.memory_rate"},
    {"gpu", &PhaseBusy::gpu, "gpu.compute and gpu.memory_rate"},
    {"h2d", &PhaseBusy::h2d, "pcie.h2d"},
    {"d2h", &PhaseBusy::d2h, "pcie.d2h"},
};

class Comparison {
 public:
  explicit Comparison(std::map<std::string, double>& errors) : errors_(errors) {}
  void add(const std::string& path, double predicted, double measured) {
    if (measured != 0)
      errors_[path] = (predicted - measured) / measured;
    else if (predicted != 0)
      errors_[path] = 1;
  }
  void add(const std::string& path, std::uint64_t predicted, std::uint64_t measured) {
    add(path, static_cast<double>(predicted), static_cast<double>(measured));
  }

 private:
  std::map<std::string, double>& errors_;
};

PhaseBusy busy_of(const Result& result, const std::string& phase) {
  const auto found = result.phase_busy.find(phase);
  return found == result.phase_busy.end() ? PhaseBusy{} : found->second;
}

/// The resource of `phase` whose busy time differs most in the direction of the phase's time, when
/// that is a tenth of it.
text::Text suspect_of(const Validation& validation, const std::string& phase, double predicted_s,
                      double measured_s) {
  const double longest = std::max(predicted_s, measured_s);
  if (longest <= 0 || std::abs(predicted_s - measured_s) < 0.05 * longest) return "";
  const PhaseBusy predicted = busy_of(validation.predicted, phase);
  const PhaseBusy measured = busy_of(validation.measured, phase);
  const Resource* worst = nullptr;
  double most = 0.1 * longest;
  const bool slower = measured_s > predicted_s;
  for (const Resource& resource : resources) {
    const double more = measured.*resource.busy - predicted.*resource.busy;
    const double gap = slower ? more : -more;
    if (gap > most) most = gap, worst = &resource;
  }
  if (!worst)
    return text::filled(
        "{}: {} predicted, {} measured; no resource was that much {} than predicted: the time lies "
        "between operations",
        {phase, text::seconds(predicted_s), text::seconds(measured_s),
         slower ? "busier" : "less busy"});
  return text::filled("{}: {} predicted, {} measured; {} was busy {} instead of {}: {}",
                      {phase, text::seconds(predicted_s), text::seconds(measured_s), worst->name,
                       text::seconds(measured.*worst->busy), text::seconds(predicted.*worst->busy),
                       worst->assumption});
}

bool about(std::uint64_t predicted, std::uint64_t measured) {
  const auto p = static_cast<double>(predicted), m = static_cast<double>(measured);
  return std::abs(p - m) <= 0.02 * std::max(p, m);
}
bool about(const StorageBytes& predicted, const StorageBytes& measured) {
  return about(predicted.read, measured.read) && about(predicted.write, measured.write);
}

/// All storages moved together what was predicted, and single ones did not.
bool divided_otherwise(const Validation& validation) {
  StorageBytes predicted, measured;
  bool each = true;
  for (const auto& [name, bytes] : storages_of(validation)) {
    predicted.read += bytes.first.read, predicted.write += bytes.first.write;
    measured.read += bytes.second.read, measured.write += bytes.second.write;
    each = each && about(bytes.first, bytes.second);
  }
  return !each && about(predicted, measured);
}

nlohmann::json bytes_json(const StorageBytes& bytes) {
  return {{"read", bytes.read}, {"write", bytes.write}};
}

}  // namespace

double MemoryBooks::difference() const {
  if (ledger_bytes == 0) return 0;
  return (static_cast<double>(kernel_bytes) - static_cast<double>(ledger_bytes)) /
         static_cast<double>(ledger_bytes);
}

std::map<std::string, std::pair<StorageBytes, StorageBytes>> storages_of(const Validation& v) {
  std::map<std::string, std::pair<StorageBytes, StorageBytes>> both;
  for (const auto& [name, bytes] : v.predicted.io.by_storage) both[name].first = bytes;
  for (const auto& [name, bytes] : v.measured.io.by_storage) both[name].second = bytes;
  return both;
}

void compare(Validation& validation) {
  const Result& p = validation.predicted;
  const Result& m = validation.measured;
  validation.errors.clear();
  Comparison errors(validation.errors);
  if (validation.times_compare()) {
    errors.add("step_time_s", p.step_time_s, m.step_time_s);
    errors.add("phases.forward_s", p.forward_s, m.forward_s);
    errors.add("phases.backward_s", p.backward_s, m.backward_s);
    errors.add("phases.update_s", p.update_s, m.update_s);
  }
  errors.add("peak_bytes.gpu.total", p.gpu.total, m.gpu.total);
  errors.add("peak_bytes.host.total", p.host.total, m.host.total);
  errors.add("peak_bytes.ssd.total", p.ssd.total, m.ssd.total);
  errors.add("io_bytes_per_step.h2d", p.io.h2d, m.io.h2d);
  errors.add("io_bytes_per_step.d2h", p.io.d2h, m.io.d2h);
  for (const auto& [name, bytes] : storages_of(validation)) {
    const auto& [predicted, measured] = bytes;
    const std::string path = "io_bytes_per_step.by_storage." + name;
    errors.add(path + ".read", predicted.read, measured.read);
    errors.add(path + ".write", predicted.write, measured.write);
  }
  validation.suspects.clear();
  for (const auto& [phase, predicted_s, measured_s] :
       {std::tuple{"forward", p.forward_s, m.forward_s},
        std::tuple{"backward", p.backward_s, m.backward_s},
        std::tuple{"update", p.update_s, m.update_s}}) {
    if (!validation.times_compare()) break;
    text::Text suspect = suspect_of(validation, phase, predicted_s, measured_s);
    if (!suspect.empty()) validation.suspects.push_back(std::move(suspect));
  }
  if (divided_otherwise(validation))
    validation.suspects.push_back(
        "storages: together they moved as many bytes as predicted, divided otherwise, as a system "
        "does that measures its paths (strategy.optimizer.adapt)");
}

void to_json(nlohmann::json& json, const Validation& v) {
  json = {{"schema", validation_schema},
          {"device", v.device},
          {"real", v.real},
          {"emulated", v.emulated},
          {"measured", v.measured},
          {"predicted", v.predicted},
          {"errors", v.errors},
          {"synthetic", v.synthetic},
          {"weights_equal", nullptr},
          {"losses", v.losses},
          {"memory",
           {{"ledger_bytes", v.memory.ledger_bytes},
            {"kernel_bytes", v.memory.kernel_bytes},
            {"difference", v.memory.difference()},
            {"locked_ledger_bytes", v.memory.locked_ledger_bytes},
            {"locked_kernel_bytes", v.memory.locked_kernel_bytes}}},
          {"storage", nlohmann::json::object()},
          {"machine", v.machine}};
  put(json, "notes", v.notes);
  put(json, "suspects", v.suspects);
  if (v.weights_equal) json["weights_equal"] = *v.weights_equal;
  if (v.pacing)
    json["pacing"] = {{"jobs", v.pacing->jobs},
                      {"overruns", v.pacing->overruns},
                      {"largest_share", v.pacing->largest_share},
                      {"late_s", v.pacing->late_s}};
  for (const auto& [name, totals] : v.storage) {
    json["storage"][name]["asked"] = bytes_json(totals.asked);
    json["storage"][name]["direct"] = totals.direct;
    json["storage"][name]["disk"] =
        totals.disk ? bytes_json(*totals.disk) : nlohmann::json(nullptr);
  }
}

void from_json(const nlohmann::json& json, StorageTotals& totals) {
  const auto read_bytes = [](StorageBytes& bytes) {
    return [&bytes](const nlohmann::json& in) {
      read(in, "read", bytes.read);
      read(in, "write", bytes.write);
    };
  };
  read_part(json, "asked", read_bytes(totals.asked));
  read(json, "direct", totals.direct);
  if (json.contains("disk") && json["disk"].is_object())
    read_part(json, "disk", read_bytes(totals.disk.emplace()));
}

void from_json(const nlohmann::json& json, Pacing& pacing) {
  read(json, "jobs", pacing.jobs);
  read(json, "overruns", pacing.overruns);
  read(json, "largest_share", pacing.largest_share);
  read(json, "late_s", pacing.late_s);
}

void from_json(const nlohmann::json& json, MemoryBooks& memory) {
  read(json, "ledger_bytes", memory.ledger_bytes);
  read(json, "kernel_bytes", memory.kernel_bytes);
  read(json, "locked_ledger_bytes", memory.locked_ledger_bytes);
  read(json, "locked_kernel_bytes", memory.locked_kernel_bytes);
}

void from_json(const nlohmann::json& json, Validation& v) {
  require_schema(json, "validation");
  v = {};
  read(json, "device", v.device);
  read(json, "real", v.real);
  read(json, "emulated", v.emulated);
  read(json, "notes", v.notes);
  read(json, "measured", v.measured);
  read(json, "predicted", v.predicted);
  read(json, "errors", v.errors);
  read(json, "suspects", v.suspects);
  read(json, "synthetic", v.synthetic);
  read(json, "weights_equal", v.weights_equal);
  std::vector<nlohmann::json> losses;
  read(json, "losses", losses);
  for (const nlohmann::json& loss : losses) {
    if (!loss.is_null() && !loss.is_number()) complain_of_type("losses", loss);
    // JSON has no word for what is no number
    v.losses.push_back(loss.is_null() ? std::nan("") : loss.get<double>());
  }
  read(json, "pacing", v.pacing);
  read(json, "memory", v.memory);
  read(json, "storage", v.storage);
  read(json, "machine", v.machine);
}

}  // namespace spillway::result
