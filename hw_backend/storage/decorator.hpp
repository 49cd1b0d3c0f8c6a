#pragma once

#include "hw_backend/storage/io_engine.hpp"

#include <map>
#include <memory>

namespace spillway::hw_backend {

/// Transfers that a decorator has passed on, by the tags that it gave them inside.
class PassedOn {
 public:
  /// The transfer with its inner tag.
  Transfer add(const Transfer& transfer) {
    Transfer inner = transfer;
    inner.tag = reinterpret_cast<void*>(++last_);
    transfers_.emplace(last_, transfer);
    return inner;
  }
  /// The transfer as it came, which is forgotten.
  Transfer take(void* inner_tag) {
    return transfers_.extract(reinterpret_cast<std::uintptr_t>(inner_tag)).mapped();
  }
  /// In the order they came.
  const std::map<std::uintptr_t, Transfer>& all() const { return transfers_; }
  void clear() noexcept { transfers_.clear(); }

 private:
  std::map<std::uintptr_t, Transfer> transfers_;
  std::uintptr_t last_ = 0;
};

/// An engine around another, which it owns; passes everything on.
class Decorator : public IoEngine {
 public:
  explicit Decorator(std::unique_ptr<IoEngine> inner) : inner_(std::move(inner)) {}

  void submit(const Transfer& transfer) override { inner_->submit(transfer); }
  std::vector<Completion> wait(std::optional<double> timeout_s) override {
    return inner_->wait(timeout_s);
  }
  void wake() noexcept override { inner_->wake(); }
  [[nodiscard]] bool cancel_all() noexcept override { return inner_->cancel_all(); }
  std::size_t in_flight() const override { return inner_->in_flight(); }
  void register_memory(std::byte* base, std::uint64_t bytes) override {
    inner_->register_memory(base, bytes);
  }
  void unregister_memory(std::byte* base) override { inner_->unregister_memory(base); }
  void register_device_memory(int rank, std::byte* base, std::uint64_t bytes) override {
    inner_->register_device_memory(rank, base, bytes);
  }
  void unregister_device_memory(std::byte* base) noexcept override {
    inner_->unregister_device_memory(base);
  }
  void attach(Target& target) override { inner_->attach(target); }
  void detach(Target& target) override { inner_->detach(target); }
  void forget(const Target& target, std::uint64_t offset, std::uint64_t bytes) override {
    inner_->forget(target, offset, bytes);
  }
  IoCounters counters() const override { return inner_->counters(); }
  std::vector<std::string> notes() const override { return inner_->notes(); }

 protected:
  std::unique_ptr<IoEngine> inner_;
};

}  // namespace spillway::hw_backend
