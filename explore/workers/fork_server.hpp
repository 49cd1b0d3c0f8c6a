#pragma once

#include "explore/processes/child.hpp"
#include "explore/workers/request.hpp"

#include <deque>
#include <unordered_set>

namespace spillway::explore {

/// Works out what a request asks, in a child of its own, and writes its lines into `pipe`; the last
/// one is its answer (Reply::end).
using AnswerRequest = std::function<void(const Request& request, int pipe)>;

/// Loads what the children of a worker then share: the simulator, and what reading a scenario
/// needs, schemas above all.
void prepare_worker(const Backend& backend);

/// Answers of one simulation each, for those that want nothing but the result.
AnswerRequest answer_with(const Backend& backend);

/// Owns a worker's side of its protocol: reads requests, a line each, has them worked out in
/// children, and writes the lines that come of them:
///   {"id", "progress": {"seconds", parts of the answer}}  each second, and when a part is known
///   {"id", "seconds", "result" and what else was wanted}, but for what may be large and was told
///   {"id", "seconds", "errors": [...]}   the scenario's or the line's
///   {"id", "seconds", "failure": why}    with "signal" where one ended the child
/// One child at a time answers in the order of the lines; with more of them whoever is done first
/// answers first, and what needs no simulation never waits for one. {"cancel": id} ends a request
/// at once, whose answer is the failure "cancelled"; of an id that is not there it says nothing.
/// A child that has answered stays for the next request of its kind, with or without a simulation,
/// and remembers what it may need again; not if it has grown large.
class ForkServer {
 public:
  /// Nothing that does not survive a fork may be in this process.
  ///   jobs      children that simulate at a time
  ///   limit_s   after which a child is ended
  ///   requests  a file to read lines from
  ///   replies   one to write lines into
  ForkServer(AnswerRequest answer, std::size_t jobs, double limit_s, int requests, int replies);
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  /// Ends the children that are left.
  ~ForkServer();

  /// Until the requests end and all of them are answered, or nobody reads the answers any more.
  ///   Throws  DeviceError when answers cannot be written for another reason
  void run();

 private:
  struct Running {
    Child child;
    Request request;
    double limit_s = 0;
    double told_s = 0;          ///< when it wrote a line
    bool answered = false;      ///< that was its answer
    std::size_t looked_at = 0;  ///< of its text, which has no line end until there
    bool quick = false;         ///< its kind: what needs no simulation
  };

  void read_requests();
  void take(const std::string& line);
  void cancel(const nlohmann::json& id);
  void start_waiting();
  bool start(Request request);
  bool put_back(Request request);
  Running fork_child(Request request) const;
  bool start_warm(Request& request);
  bool serve();
  void serve_children(const std::vector<short>& events);
  void forward(Running& one);
  void keep_or_end(std::size_t i);
  void finish(std::size_t i, const char* failure);
  void answer(const Request& request, double seconds, const nlohmann::json& end);
  void write_some();
  std::size_t simulating() const;
  bool idle() const { return waiting_.empty() && quick_.empty() && running_.empty(); }

  const AnswerRequest answer_;
  const std::size_t jobs_;
  const double limit_s_;
  const int requests_, replies_;
  bool open_ = true;     ///< requests may come
  bool read_by_ = true;  ///< somebody reads the answers
  std::string unread_, unsent_;
  bool too_long_ = false;  ///< the line that is being read is left out
  std::size_t sent_ = 0;   ///< of unsent_, already
  std::deque<Request> waiting_, quick_;
  std::unordered_set<std::string> ids_;  ///< of what waits and runs
  std::vector<Running> running_;
  std::vector<Running> warm_;  ///< have answered, and wait for more
};

}  // namespace spillway::explore
