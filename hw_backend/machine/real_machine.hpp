#pragma once

#include "hw_backend/arithmetic/execute.hpp"
#include "hw_backend/device/device_arena.hpp"
#include "hw_backend/device/hang.hpp"
#include "hw_backend/device/host_device.hpp"
#include "hw_backend/raw_device/raw_device.hpp"
#include "hw_backend/storage/disk_counts.hpp"
#include "hw_backend/storage/io_engine.hpp"
#include "hw_backend/storage/store_directory.hpp"
#include "reports/result/validation.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/machine/machine.hpp"
#include "strategies/run/run.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>

namespace spillway::hw_backend {

/// Part of an extent: bytes of a target.
struct Segment {
  Target* target = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t storage = 0;
};

/// A storage of the scenario on this server: a directory a drive, or one disk without a file
/// system.
struct RealStorage {
  std::vector<std::filesystem::path> directories{};
  const RawDevice* raw = nullptr;  ///< outlives the run; io_engine `direct` alone
};

struct RealOptions {
  std::vector<RealStorage> storages;  ///< parallel to the scenario's
  bool paced = false;      ///< kernels and copies also take the time that the scenario's GPU needs
  bool synthetic = false;  ///< nothing is computed on the GPU
  bool trace = false;
  double answer_s = 300;         ///< a worker that ends nothing for so long has stopped answering
  double rest_s = rest_limit_s;  ///< what was told to stop may take so long before it hangs
};

/// The masters of a run as its checkpoint found them, and the losses on the way.
struct Trained {
  std::vector<std::vector<float>> masters;  ///< by weight, all of its elements
  std::vector<double> losses;               ///< by step: mean over micro-batches and ranks
};

struct RealOperation;
struct WorkContext;

/// This server: io_uring for storage, one device a rank, the node's cores for the optimizer. Time
/// is real, and so is every byte.
///   Loop  one thread; engine, devices and cores wake it, and only it resumes coroutines
class RealMachine final : public strategies::Machine {
 public:
  /// `prepared`, `engine`, `memory` and `devices` (one a rank) outlive it.
  ///   Throws  DeviceError, ScenarioError: a directory that cannot be used
  RealMachine(const description::Scenario& scenario, const strategies::Prepared& prepared,
              RealOptions options, IoEngine& engine, MemoryBudget& memory,
              const std::vector<std::unique_ptr<Device>>& devices);
  ~RealMachine() override;

  /// Of a run that is over; once.
  Trained take_trained();
  /// Of a run that is over.
  result::MemoryBooks memory_books() const;
  /// How often host memory was made known to devices, or unknown, from the second step on.
  std::uint64_t pins_in_steps() const { return pins_in_steps_; }
  /// Bytes that the engine was asked for of one storage, set-up included: read, written.
  std::pair<std::uint64_t, std::uint64_t> moved(std::size_t storage) const;
  const std::vector<std::unique_ptr<StoreDirectory>>& directories(std::size_t storage) const {
    return storages_[storage].directories;
  }

 private:
  struct Storage {
    std::vector<std::unique_ptr<StoreDirectory>> directories;
    std::vector<std::unique_ptr<StoreFile>> files;  ///< io_engine direct: one a drive
    std::unique_ptr<Target> disk;                   ///< of a raw device, instead of directories
    const RawDevice* raw = nullptr;
    std::vector<Target*> drives;  ///< these files, or that disk
    std::uint64_t read = 0, written = 0;
  };
  struct Placed {
    std::vector<Segment> segments;
    std::vector<std::unique_ptr<StoreFile>> files;  ///< io_engine file
  };
  /// Stands for the processor in a storage: a thread of its own.
  struct InsideProcessor {
    Team team{1};
    Worker worker;
  };
  struct Ended {
    RealOperation* operation;
    JobEnd end;
  };

  std::unique_ptr<strategies::Operation> make_operation() const override;
  void accept(strategies::Operation& operation,
              std::span<const strategies::GpuKernel> kernels) override;
  void accept(strategies::Operation& operation, const strategies::CpuKernel& kernel) override;
  void accept(strategies::Operation& operation, const strategies::StorageKernel& kernel) override;
  void start(strategies::Operation& operation) override;
  void start(strategies::CollectiveRound& round) override;
  bool prepare(strategies::Operation& operation) override;
  void loop() override;
  void cancel_all() override;
  double now_s() const override;
  std::byte* provide(strategies::Block& block) override;
  void withdraw(strategies::Block& block) override;
  float fetch(const strategies::View& view) override;

  void open_storages();
  void open_arenas();
  void count_pin();
  void open_raw(Storage& storage, const RawDevice& raw, std::uint64_t capacity);
  void place_extent(strategies::Block& block);
  void start_transfer(RealOperation& operation);
  std::size_t transfer(RealOperation& operation, bool write, const strategies::Block& extent,
                       strategies::Range range, std::byte* memory, int device);
  void start_inside(RealOperation& operation);
  bool go_on_inside(RealOperation& operation);
  void start_copy(RealOperation& operation);
  bool paces(const RealOperation& operation) const;
  void start_kernels(RealOperation& operation);
  std::vector<DeviceWork> parts_of(RealOperation& operation, const WorkContext& context,
                                   double* loss) const;
  void start_cpu(RealOperation& operation);
  void give_up_extent(const strategies::Block& block);
  Done done(RealOperation& operation);
  void take_ended();
  void settle(RealOperation& operation, const JobEnd& end);
  std::optional<strategies::Ran> when(const RealOperation& operation, const JobEnd& end) const;
  [[noreturn]] void no_answer() const;
  std::string first_under_way(std::optional<strategies::Rank> on_device_of) const;
  void divide_time(RealOperation& operation, const JobEnd& end) const;
  void watch_memory();
  double* loss_of(strategies::Rank rank, const strategies::StepNumbers& numbers);
  WorkContext context_of(strategies::Rank rank) const;

  description::Scenario scenario_;
  const strategies::Prepared& prepared_;
  RealOptions options_;
  IoEngine& engine_;
  const std::vector<std::unique_ptr<Device>>& devices_;
  Lowering lowering_;
  std::vector<Storage> storages_;
  std::unordered_map<const strategies::Block*, Placed> placed_;
  std::uint64_t next_file_ = 0;
  std::set<const std::byte*> registered_;  ///< with the engine
  HostMemory pinned_, pageable_;           ///< what is pinned, all devices know
  MemoryBudget& memory_;
  std::uint64_t pins_in_steps_ = 0;
  std::vector<std::unique_ptr<DeviceArena>>
      arenas_;  ///< by rank; null: its device shares the host's
  Team team_;
  Worker cores_;  ///< one piece of CPU work at a time, on all cores
  std::map<std::uint32_t, InsideProcessor> inside_;  ///< by storage
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::set<RealOperation*> under_way_;  ///< with the engine, a device or the cores
  std::mutex ended_mutex_;
  std::vector<Ended> ended_;
  std::vector<Ended> settling_;
  std::span<double> losses_;  ///< by step, rank, micro-batch; pinned, as devices write them
  Trained trained_;
  bool memory_lost_ = false;  ///< the kernel may still write to it: never freed
  bool set_up_ = false;
  ProcessMemory after_set_up_;
  std::uint64_t real_bytes_ = 0, locked_bytes_ = 0;  ///< provided now
  std::uint64_t ledger_after_set_up_ = 0, locked_after_set_up_ = 0, ledger_most_ = 0;
};

}  // namespace spillway::hw_backend
