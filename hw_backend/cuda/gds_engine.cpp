#include "hw_backend/cuda/gds_engine.hpp"

#include <chrono>

#include "hw_backend/device/hang.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

GdsEngine::GdsEngine(std::unique_ptr<IoEngine> inner, Options options)
    : Decorator(std::move(inner)), options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { serve(); });
}

GdsEngine::~GdsEngine() {
  if (!come_to_rest())
    end_hung_process("a transfer of GPUDirect Storage (cuFile)", options_.cancel_s);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void GdsEngine::submit(const Transfer& transfer) {
  if (transfer.device < 0) return Decorator::submit(transfer);
  check_transfer(transfer);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(transfer);
  }
  changed_.notify_all();
}

std::vector<Completion> GdsEngine::wait(std::optional<double> timeout_s) {
  const auto take = [&](std::vector<Completion>& out) {
    std::vector<Ended> ended;
    {
      const std::lock_guard lock(mutex_);
      ended.swap(ended_);
    }
    for (Ended& each : ended) {
      const Transfer& transfer = each.transfer;
      for (IoCounters* counters : {&moved_, &transfer.target->counters}) {
        (transfer.write ? counters->bytes_written : counters->bytes_read) +=
            each.error ? 0 : transfer.bytes;
        ++counters->requests;
      }
      out.push_back({transfer.tag, std::move(each.error)});
    }
  };
  std::vector<Completion> out;
  take(out);
  std::vector<Completion> others = inner_->wait(out.empty() ? timeout_s : 0.0);
  out.insert(out.end(), std::make_move_iterator(others.begin()),
             std::make_move_iterator(others.end()));
  take(out);
  return out;
}

bool GdsEngine::come_to_rest() noexcept {
  std::unique_lock lock(mutex_);
  waiting_.clear();
  dropping_ = true;
  const bool rests = changed_.wait_for(lock, std::chrono::duration<double>(options_.cancel_s),
                                       [this] { return running_ == 0; });
  ended_.clear();
  dropping_ = !rests;
  return rests;
}

bool GdsEngine::cancel_all() noexcept {
  const bool rests = come_to_rest();
  return inner_->cancel_all() && rests;
}

std::size_t GdsEngine::in_flight() const {
  const std::lock_guard lock(mutex_);
  return inner_->in_flight() + waiting_.size() + running_ + ended_.size();
}

void GdsEngine::detach(Target& target) {
  {
    const std::lock_guard lock(mutex_);
    files_.erase(&target);
  }
  Decorator::detach(target);
}

void GdsEngine::register_device_memory(int rank, std::byte* base, std::uint64_t bytes) {
  try {
    options_.use_device(rank);
    Known known{bytes, std::make_unique<DirectBuffer>(base, bytes)};
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(base, std::move(known));
  } catch (const description::DeviceError& error) {
    // all of a device may be more than its window to the bus shows
    notes_.push_back(std::string(error.what()) +
                     "; cuFile moves it by way of a buffer of its own on the device");
  }
}

void GdsEngine::unregister_device_memory(std::byte* base) noexcept {
  const std::lock_guard lock(mutex_);
  known_.erase(base);
}

std::vector<std::string> GdsEngine::notes() const {
  std::vector<std::string> all = inner_->notes();
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

/// Of registered memory cuFile wants the begin; of other memory there is none but its own.
std::byte* GdsEngine::base_of(std::byte* memory) const {
  const std::lock_guard lock(mutex_);
  const auto next = known_.upper_bound(memory);
  if (next == known_.begin()) return memory;
  const auto& [base, known] = *std::prev(next);
  return memory < base + known.bytes ? base : memory;
}

IoCounters GdsEngine::counters() const {
  IoCounters all = inner_->counters();
  all.bytes_read += moved_.bytes_read;
  all.bytes_written += moved_.bytes_written;
  all.requests += moved_.requests;
  return all;
}

/// cuFile's handle of a target, made by the first transfer of device memory: few files have any.
DirectFile& GdsEngine::file_of(Target& target) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<DirectFile>& file = files_[&target];
  if (!file) file = std::make_unique<DirectFile>(target.fd(), target.name());
  return *file;
}

void GdsEngine::move(const Transfer& transfer) {
  if (transfer.bytes == 0) return;
  options_.use_device(transfer.device);
  DirectFile& file = file_of(*transfer.target);
  std::byte* const base = base_of(transfer.memory);
  const auto behind = static_cast<std::uint64_t>(transfer.memory - base);
  if (transfer.write)
    file.write(base, behind, transfer.offset, transfer.bytes);
  else
    file.read(base, behind, transfer.offset, transfer.bytes);
}

void GdsEngine::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Ended ended{waiting_.front(), nullptr};
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    try {
      move(ended.transfer);
    } catch (...) {
      ended.error = std::current_exception();
    }
    lock.lock();
    --running_;
    if (!dropping_) ended_.push_back(std::move(ended));
    changed_.notify_all();
    inner_->wake();
  }
}

}  // namespace spillway::hw_backend
