#include "hw_backend/storage/faulty_engine.hpp"

#include "hw_backend/storage/io_error.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace spillway::hw_backend {
namespace {

constexpr std::uint64_t copy_page = 4096;

/// What a transfer is, wherever its directory lies.
std::string identity(const Transfer& transfer) {
  return fmt::format("{} {} {} {}", transfer.target->short_name(), transfer.write, transfer.offset,
                     transfer.bytes);
}

/// The `which`th random number of a transfer.
std::uint64_t draw(const FaultPlan& plan, const Transfer& transfer, std::uint64_t times_before,
                   int which) {
  const std::string key = fmt::format("{} {} {}", identity(transfer), times_before, which);
  return XXH3_64bits_withSeed(key.data(), key.size(), plan.seed);
}

double as_share(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

void flip(std::byte* memory, std::uint64_t bytes, std::uint64_t random) {
  memory[random / 8 % bytes] ^= static_cast<std::byte>(1u << (random % 8));
}

}  // namespace

Fault draw_fault(const FaultPlan& plan, const Transfer& transfer, std::uint64_t times_before) {
  if (transfer.bytes == 0) return Fault::none;
  double share = as_share(draw(plan, transfer, times_before, 0));
  const std::pair<double, Fault> always[] = {
      {plan.eio, Fault::eio},           {plan.partial, Fault::partial}, {plan.slow, Fault::slow},
      {plan.bit_flip, Fault::bit_flip}, {plan.never, Fault::never},
  };
  const std::pair<double, Fault> of_writes[] = {
      {plan.enospc, Fault::enospc}, {plan.torn, Fault::torn}, {plan.stale, Fault::stale}};
  for (const auto& [chance, fault] : always) {
    if (share < chance) return fault;
    share -= chance;
  }
  for (const auto& [chance, fault] : of_writes) {
    if (!transfer.write) break;
    if (share < chance) return fault;
    share -= chance;
  }
  return Fault::none;
}

/// A transfer passed on, with what befalls it.
struct FaultyEngine::Struck {
  Transfer transfer;
  Fault fault = Fault::none;
  std::uint64_t random = 0;
  bool second_part = false;
  std::unique_ptr<std::byte, void (*)(void*)> copy{nullptr, std::free};  ///< what it writes instead
};

FaultyEngine::FaultyEngine(std::unique_ptr<IoEngine> inner, FaultPlan plan)
    : Decorator(std::move(inner)), plan_(plan) {}

FaultyEngine::~FaultyEngine() { static_cast<void>(cancel_all()); }

void FaultyEngine::submit(const Transfer& transfer) {
  check_transfer(transfer);
  const std::uint64_t times_before = seen_[identity(transfer)]++;
  const Fault fault = draw_fault(plan_, transfer, times_before);
  if (fault != Fault::none) ++struck_[fault];
  if (fault == Fault::eio || fault == Fault::enospc) {
    const description::DeviceError error = io_error(
        transfer.write ? "write" : "read", fault == Fault::eio ? EIO : ENOSPC,
        fmt::format("{}, {} bytes at {}", transfer.target->name(), transfer.bytes, transfer.offset),
        fmt::format("injected, seed {}", plan_.seed));
    return ended_.push_back({transfer.tag, std::make_exception_ptr(error)});
  }
  if (fault == Fault::stale) return ended_.push_back({transfer.tag, {}});

  const std::uint64_t tag = next_tag_++;
  auto struck = std::make_unique<Struck>();
  struck->transfer = transfer;
  struck->fault = fault;
  struck->random = draw(plan_, transfer, times_before, 1);
  Transfer inner = transfer;
  inner.tag = reinterpret_cast<void*>(tag);
  if (fault == Fault::torn || fault == Fault::partial) inner.bytes /= 2;
  if (fault == Fault::bit_flip && transfer.write) {
    const std::uint64_t room = (transfer.bytes + copy_page - 1) / copy_page * copy_page;
    struck->copy.reset(static_cast<std::byte*>(std::aligned_alloc(copy_page, room)));
    inner.memory = struck->copy.get();
    std::copy_n(transfer.memory, transfer.bytes, inner.memory);
    flip(inner.memory, transfer.bytes, struck->random);
  }
  transfers_.emplace(tag, std::move(struck));
  if (fault != Fault::never) inner_->submit(inner);
}

void FaultyEngine::came_back(const Completion& completion) {
  const auto found = transfers_.find(reinterpret_cast<std::uintptr_t>(completion.tag));
  Struck& struck = *found->second;
  const Transfer& transfer = struck.transfer;
  if (struck.fault == Fault::partial && !struck.second_part && !completion.error) {
    const std::uint64_t done = transfer.bytes / 2;
    Transfer rest = transfer;
    rest.tag = completion.tag;
    rest.offset += done;
    rest.memory += done;
    rest.bytes -= done;
    struck.second_part = true;
    return inner_->submit(rest);
  }
  if (struck.fault == Fault::bit_flip && !transfer.write) {
    flip(transfer.memory, transfer.bytes, struck.random);
  }
  const Completion outer{transfer.tag, completion.error};
  if (struck.fault == Fault::slow) {
    const std::chrono::duration<double> delay(plan_.slow_s * as_share(struck.random));
    late_.push_back({outer, Clock::now() + std::chrono::duration_cast<Clock::duration>(delay)});
  } else {
    ended_.push_back(outer);
  }
  transfers_.erase(found);
}

std::vector<Completion> FaultyEngine::wait(std::optional<double> timeout_s) {
  const auto begun = Clock::now();
  const auto since = [](Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  };
  for (;;) {
    std::optional<double> rest;
    if (timeout_s) rest = std::max(0.0, *timeout_s - since(begun));
    for (const Late& late : late_) {
      const double due_s = std::max(0.0, -since(late.due));
      rest = rest ? std::min(*rest, due_s) : due_s;
    }
    if (!ended_.empty()) rest = 0.0;
    const auto asked = Clock::now();
    const std::vector<Completion> back = inner_->wait(rest);
    const bool woken = back.empty() && (!rest || since(asked) < *rest);
    for (const Completion& completion : back) came_back(completion);
    std::erase_if(late_, [&](const Late& late) {
      if (late.due > Clock::now()) return false;
      ended_.push_back(late.completion);
      return true;
    });
    if (!ended_.empty() || woken || (timeout_s && since(begun) >= *timeout_s)) {
      return std::exchange(ended_, {});
    }
  }
}

std::size_t FaultyEngine::in_flight() const {
  return transfers_.size() + ended_.size() + late_.size();
}

bool FaultyEngine::cancel_all() noexcept {
  const bool quiet = inner_->cancel_all();
  for (auto& [tag, struck] : transfers_) {
    if (!quiet) static_cast<void>(struck->copy.release());  // the kernel may still read it
  }
  transfers_.clear();
  ended_.clear();
  late_.clear();
  return quiet;
}

}  // namespace spillway::hw_backend
