#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace spillway::explore {

/// A text that a rank sent.
struct Letter {
  std::size_t from = 0;
  std::string text;
};

/// Carries texts between the processes of a job, ranks 0 to ranks() - 1. Nothing in it waits, and
/// a rank that has ended is no error: what is sent to it is lost, and nothing comes from it.
class Messenger {
 public:
  virtual ~Messenger() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t ranks() const = 0;
  /// Returns at once. Letters from one rank to another arrive in the order in which they were sent.
  virtual void send(std::size_t to, std::string text) = 0;
  /// A letter that has arrived, if there is one.
  virtual std::optional<Letter> receive() = 0;
  /// The last call: waits until every rank has made it, so none may have ended before.
  virtual void leave() = 0;
};

/// Makes this process a rank of the job that mpirun started it in; without one it is the only rank.
/// It may not fork from then on.
///   Throws  DeviceError naming the package when Open MPI is not installed
std::unique_ptr<Messenger> join_cluster();

/// Whether the job goes on when a rank ends, as far as its environment says.
bool survives_lost_ranks();

}  // namespace spillway::explore

/// What the plugin shows.
extern "C" void spillway_join_cluster(std::unique_ptr<spillway::explore::Messenger>& into);
