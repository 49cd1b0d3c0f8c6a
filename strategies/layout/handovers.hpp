#pragma once

#include "strategies/coroutines/sync.hpp"
#include "strategies/memory/block.hpp"

#include <map>

namespace spillway::strategies {

/// Where pipeline stages meet: the receiver of a tensor says where it is to lie, the sender when it
/// does. Both name the hand-over by one key; it may be used again when it is over.
class Handovers {
 public:
  explicit Handovers(Scheduler& scheduler) : changed_(scheduler) {}

  /// By the receiver.
  void offer(std::uint64_t key, View into) {
    destinations_[key].into = std::move(into);
    changed_.set();
  }
  /// By the sender: waits for the offer.
  Task<View> place(std::uint64_t key) {
    while (!destinations_[key].into) {
      changed_.reset();
      co_await changed_;
    }
    co_return destinations_[key].into;
  }
  /// By the sender: the tensor lies there.
  void sent(std::uint64_t key) {
    destinations_[key].sent = true;
    changed_.set();
  }
  /// By the receiver: waits for it.
  Task<> arrival(std::uint64_t key) {
    while (!destinations_[key].sent) {
      changed_.reset();
      co_await changed_;
    }
    destinations_.erase(key);
  }

 private:
  struct Destination {
    View into;
    bool sent = false;
  };
  std::map<std::uint64_t, Destination> destinations_;
  Event changed_;
};

}  // namespace spillway::strategies
