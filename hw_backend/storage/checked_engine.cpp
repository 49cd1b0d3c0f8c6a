#include "hw_backend/storage/checked_engine.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

void CheckedEngine::submit(const Transfer& transfer) {
  check_transfer(transfer);
  if (transfer.write) {
    tables_[transfer.target].wrote(transfer.offset, transfer.memory, transfer.bytes);
  }
  inner_->submit(transfers_.add(transfer));
}

std::vector<Completion> CheckedEngine::wait(std::optional<double> timeout_s) {
  std::vector<Completion> ended = inner_->wait(timeout_s);
  for (Completion& completion : ended) {
    const Transfer transfer = transfers_.take(completion.tag);
    completion.tag = transfer.tag;
    if (transfer.write || completion.error) continue;
    const SectorTable::Found found =
        tables_[transfer.target].check(transfer.offset, transfer.memory, transfer.bytes);
    bytes_checked_ += found.checked;
    if (found.fault.empty()) continue;
    completion.error = std::make_exception_ptr(
        description::DeviceError("read check: " + transfer.target->name() + " " + found.fault));
  }
  return ended;
}

bool CheckedEngine::cancel_all() noexcept {
  transfers_.clear();
  return inner_->cancel_all();
}

void CheckedEngine::detach(Target& target) {
  tables_.erase(&target);
  inner_->detach(target);
}

void CheckedEngine::forget(const Target& target, std::uint64_t offset, std::uint64_t bytes) {
  const auto table = tables_.find(&target);
  if (table != tables_.end()) table->second.forget(offset, bytes);
  inner_->forget(target, offset, bytes);
}

IoCounters CheckedEngine::counters() const {
  IoCounters out = inner_->counters();
  out.bytes_checked = bytes_checked_;
  return out;
}

}  // namespace spillway::hw_backend
