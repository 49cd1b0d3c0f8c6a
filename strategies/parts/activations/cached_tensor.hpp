#pragma once

#include "scenarios/description/errors.hpp"

#include <cstdint>

namespace spillway::strategies {

/// Where a tensor of the cache is.
///   absent      not saved yet, or released
///   kept        on the GPU until its last use
///   storing     queued for its write, or being written; the bytes are there until it ends
///   stored      outside the GPU only
///   forwarded   wanted before its write had ended: taken from memory
///   loading     outside the GPU, queued for its read or being read
///   loaded      on the GPU again
enum class CacheState : std::uint8_t { absent, kept, storing, stored, forwarded, loading, loaded };

/// One tensor's way through the cache in one micro-batch: which event leads to which state, and
/// what the cache has to do.
///   Throws  InternalError for an event that cannot happen in its state
///   Source  SSDTrain, Algorithm 1 and section III-C
class CachedTensor {
 public:
  enum class Action : std::uint8_t { nothing, store, drop_store, load, wait };

  CacheState state() const { return state_; }
  bool write_pending() const { return writing_ != Writing::no; }

  /// It is saved for backward.
  Action pack(bool keep) {
    ENSURE(state_ == CacheState::absent, "packs a tensor that the cache has");
    state_ = keep ? CacheState::kept : CacheState::storing;
    if (keep) return Action::nothing;
    writing_ = Writing::queued;
    return Action::store;
  }

  void write_began() {
    ENSURE(writing_ == Writing::queued, "writes a tensor that is not queued");
    writing_ = Writing::running;
  }

  /// Or its store was dropped.
  ///   Result  true when its bytes on the GPU are free
  bool write_ended() {
    ENSURE(writing_ != Writing::no, "ends a write that nobody began");
    writing_ = Writing::no;
    if (state_ == CacheState::storing) state_ = CacheState::stored;
    return state_ == CacheState::stored || state_ == CacheState::loading;
  }

  /// Somebody will need it: a prefetch, or its use.
  ///   forwards  a tensor whose write has not ended is taken from memory
  ///   cancels   ... and its write dropped when it has not begun
  Action request(bool forwards, bool cancels) {
    switch (state_) {
      case CacheState::absent:
        break;
      case CacheState::storing:
        state_ = forwards ? CacheState::forwarded : CacheState::loading;
        if (!forwards) return Action::load;
        return cancels && writing_ == Writing::queued ? Action::drop_store : Action::nothing;
      case CacheState::stored:
        state_ = CacheState::loading;
        return Action::load;
      case CacheState::loading:
        return Action::wait;
      case CacheState::kept:
      case CacheState::forwarded:
      case CacheState::loaded:
        return Action::nothing;
    }
    ENSURE(false, "asks for a tensor that the cache has not");
  }

  void read_ended() {
    ENSURE(state_ == CacheState::loading && writing_ == Writing::no, "ends a read nobody began");
    state_ = CacheState::loaded;
  }

  /// No module uses it any more.
  void release() {
    ENSURE(state_ == CacheState::kept || state_ == CacheState::forwarded ||
               state_ == CacheState::loaded,
           "releases a tensor that is not on the GPU");
    state_ = CacheState::absent;
  }

 private:
  enum class Writing : std::uint8_t { no, queued, running };
  CacheState state_ = CacheState::absent;
  Writing writing_ = Writing::no;
};

}  // namespace spillway::strategies
