#pragma once

#include "reports/text/text.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::answer {

/// A number of a machine file, measured, or one beside it.
struct Measurement {
  std::string path;  ///< in the machine file: "host.adam", "storage.nvme.read"; else in words
  std::string what;  ///< how it was measured
  std::string unit;  ///< bytes bytes_per_s flops_per_s params_per_s s share
  double median = 0, least = 0, most = 0;
  std::uint64_t runs = 0;
};

/// The achieved rate of a product c [rows, columns] = a [rows, inner] b [inner, columns].
struct Product : Measurement {
  std::uint64_t rows = 0, columns = 0, inner = 0;
  std::string type;  ///< of its elements
};

/// What reads and writes at once move of what each moves alone where both take half of a drive's
/// time (r/R + w/W, the machine file's mixed_efficiency), with requests of one size.
struct MixedRequests {
  std::string storage;
  std::uint64_t request_bytes = 0;
  bool in_machine_file = false;  ///< of the size that runs use
  double mixed_efficiency = 0, least = 0, most = 0;
};

/// What `spillway probe` answers: this machine, measured.
struct Probe {
  nlohmann::json machine;          ///< a machine file
  std::string device, device_why;  ///< who computes, and why
  std::uint64_t bytes_written = 0;
  std::vector<Measurement> measurements;
  std::vector<Product> products;
  std::vector<MixedRequests> mixes;
  std::vector<text::Text> warnings;
  std::vector<std::string> buffered;  ///< storages measured through the page cache
};

// Schema spillway/answer/probe/1; as in simulation.hpp.
void to_json(nlohmann::json& json, const Probe& probe);
void from_json(const nlohmann::json& json, Probe& probe);

}  // namespace spillway::answer
