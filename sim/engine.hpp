#pragma once

#include <exception>
#include <set>
#include <simgrid/s4u.hpp>

namespace spillway::sim {

/// A transfer of this many bytes is one unit of SimGrid: its solver wants weights well above its
/// precision.
inline constexpr double unit_bytes = 4096;

/// What the engine asks and tells while virtual time passes. Neither call lets an exception out.
class Listener {
 public:
  /// All that happens at `now_s` has happened in SimGrid.
  ///   Result  seconds until the listener's own next event; negative: it has none
  virtual double before_jump(double now_s) noexcept = 0;
  /// The transfer with this tag has ended.
  virtual void completed(void* tag) noexcept = 0;

 protected:
  ~Listener() = default;
};

/// Creates the engine, unless there is one that nobody has used. Forked children then start without
/// its cost.
///   Leaves signal handlers, the alternate stack and std::terminate as they were; SimGrid's log is
///   silent
void prepare_engine();

/// The process's one SimGrid engine, in the hands of one listener, with virtual time at 0 and an
/// empty platform.
class EngineLease {
 public:
  explicit EngineLease(Listener& listener);
  ~EngineLease();
  EngineLease(const EngineLease&) = delete;

  /// Lets virtual time pass until `stop` was called or nothing is left to happen.
  void run();
  /// From inside `before_jump`: time stands still from here on.
  void stop();

  /// Starts a transfer; its tag comes back in `completed`.
  ///   bound_bytes_per_s   0: only the links bound it
  ///   weight              share of a link where others have 1; 0: as they
  simgrid::s4u::ActivityPtr transfer(simgrid::s4u::Host* from, simgrid::s4u::Host* to, double bytes,
                                     double bound_bytes_per_s, double weight, void* tag);

 private:
  simgrid::kernel::resource::Model* network_ = nullptr;
  std::set<simgrid::s4u::Activity*> stopping_;
};

}  // namespace spillway::sim
