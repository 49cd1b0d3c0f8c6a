#pragma once

#include "hw_backend/cuda/gds.hpp"
#include "hw_backend/storage/decorator.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace spillway::hw_backend {

/// Transfers of device memory by GPUDirect Storage, on threads that wait for cuFile; those of host
/// memory go on to the engine inside. What is moved here is not checked: no hash reaches it.
class GdsEngine final : public Decorator {
 public:
  struct Options {
    /// Makes the device of that rank the calling thread's own.
    std::function<void(int rank)> use_device;
    std::size_t threads = 8;  ///< transfers at once
    double cancel_s = 10;     ///< that cuFile may take to end what it has begun
  };
  GdsEngine(std::unique_ptr<IoEngine> inner, Options options);
  ~GdsEngine() override;

  void submit(const Transfer& transfer) override;
  std::vector<Completion> wait(std::optional<double> timeout_s) override;
  [[nodiscard]] bool cancel_all() noexcept override;
  std::size_t in_flight() const override;
  void detach(Target& target) override;
  void register_device_memory(int rank, std::byte* base, std::uint64_t bytes) override;
  void unregister_device_memory(std::byte* base) noexcept override;
  std::vector<std::string> notes() const override;
  IoCounters counters() const override;

 private:
  struct Known {
    std::uint64_t bytes = 0;
    std::unique_ptr<DirectBuffer> buffer;
  };
  struct Ended {
    Transfer transfer;
    std::exception_ptr error;
  };
  void serve();
  void move(const Transfer& transfer);
  DirectFile& file_of(Target& target);
  std::byte* base_of(std::byte* memory) const;
  [[nodiscard]] bool come_to_rest() noexcept;

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<const Target*, std::unique_ptr<DirectFile>> files_;
  std::map<std::byte*, Known> known_;  ///< device memory that cuFile has registered, by its begin
  std::vector<std::string> notes_;
  std::deque<Transfer> waiting_;
  std::vector<Ended> ended_;
  std::size_t running_ = 0;
  bool stopping_ = false, dropping_ = false;
  IoCounters moved_;  ///< the loop's thread alone
  std::vector<std::thread> threads_;
};

}  // namespace spillway::hw_backend
