#pragma once

#include "hw_backend/device/device.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/storage/uring_engine.hpp"
#include "models/program/step_program.hpp"
#include "reports/text/text.hpp"
#include "scenarios/description/machine_file.hpp"

#include <filesystem>

namespace spillway::hw_backend {

/// A product whose rate is measured: c [rows, columns] = a [rows, inner] b [inner, columns].
struct ProductShape {
  std::uint64_t rows = 0, columns = 0, inner = 0;
  std::uint64_t times = 1;  ///< in a step, beside the others

  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(inner);
  }
};

/// The products of one micro-batch's forward pass.
std::vector<ProductShape> products_of(const models::StepProgram& program);

/// The attention of one micro-batch and rank; none where it is not flash, or no whole number of
/// heads.
std::optional<AttentionShape> attention_of(const models::Model& model,
                                           const models::StepProgram& program);

/// Called on the probing thread: the share that is done (0 to 1), and what is measured now.
using ProbeProgress = std::function<void(double share, const std::string& what)>;

struct ProbeOptions {
  std::vector<std::filesystem::path> directories;  ///< a storage each
  std::string name{};                              ///< of the machine; empty: the computer's
  bool quick = false;     ///< some 15 s instead of one to two minutes, fewer bytes written
  bool thorough = false;  ///< also writes until a drive slows down; `cliff_bytes` at most
  std::uint64_t cliff_bytes = std::uint64_t{256} << 30;
  std::uint64_t devices = 1;  ///< gpu.count
  /// Opens device `index`; empty: host devices.
  std::function<std::unique_ptr<Device>(std::size_t index)> open_device{};
  std::uint64_t device_memory = 0;   ///< of devices that do not share the host's
  std::uint64_t device_context = 0;  ///< likewise: in use once they are open
  bool gpudirect = false;
  /// What gpu.compute is achieved on: the sum of their work over the sum of their times. Empty:
  /// what suits the device.
  std::vector<ProductShape> products{};
  /// What gpu.attention is achieved on. Empty: what suits the device.
  std::optional<AttentionShape> attention{};
  bool in_memory = false;  ///< directories may be in memory (tmpfs), which is no drive
  bool strict = false;     ///< directories must have O_DIRECT
  UringOptions uring{};    ///< of storage measurements: as the run will have them
};

enum class Unit {
  bytes,
  bytes_per_second,
  flops_per_second,
  params_per_second,
  seconds,
  share,
};

/// A number of the machine file, measured, or one beside it.
struct Measurement {
  std::string path;  ///< in the machine file: "host.adam", "storage.nvme.read"; else in words
  std::string what;  ///< how it was measured
  Unit unit = Unit::share;
  double median = 0;  ///< SI base units
  double least = 0, most = 0;
  std::size_t runs = 0;

  /// Half the range over the median.
  double spread() const { return median > 0 ? (most - least) / 2 / median : 0; }
};

/// A product's achieved rate in one element type.
struct ProductRate {
  ProductShape shape;
  Element type = Element::fp32;
  Measurement flops_per_s;
};

/// What mixes of reads and writes cost a storage, with requests of one size.
struct MixedRequests {
  std::string storage;
  std::uint64_t request_bytes = 0;
  bool in_machine_file = false;  ///< of the size that runs use
  Measurement efficiency;        ///< `mixed_efficiency`
};

struct Probed {
  description::MachineFile machine;  ///< every number has a source
  std::vector<Measurement> measurements;
  std::vector<ProductRate> products;
  std::vector<MixedRequests> mixes;
  std::vector<text::Text> warnings;   ///< what the machine file cannot say
  std::string device;                 ///< its name
  std::uint64_t bytes_written = 0;    ///< to all directories
  std::vector<std::string> buffered;  ///< storages whose transfers go through the page cache
};

/// The most bytes that `probe` will write to each directory.
std::uint64_t probe_writes(const ProbeOptions& options);

/// Measures this machine. Storage rates are those of the engine that RealMachine uses, on files of
/// random data that were allocated and written once before.
///   Throws  ScenarioError, DeviceError: a directory that cannot be used, or is in memory;
///           Interrupted. No file is left behind
Probed probe(const ProbeOptions& options, const ProbeProgress& progress = {});

}  // namespace spillway::hw_backend
