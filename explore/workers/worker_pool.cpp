#include "explore/workers/worker_pool.hpp"

#include "explore/processes/child.hpp"
#include "explore/workers/fork_server.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>

namespace spillway::explore {

using nlohmann::json;

namespace {

/// Times that a scenario is tried whose process was ended from outside.
constexpr int most_tries = 2;
/// A process that did not listen for so long heard nobody, which is not the others' silence.
constexpr double busy_elsewhere_s = 1;

}  // namespace

WorkerPlace own_worker(const Backend& backend, std::size_t jobs, double limit_s,
                       AroundFork around) {
  const auto start = [backend, jobs, limit_s, around] {
    around.before();
    std::unique_ptr<LineProcess> process;
    try {
      process = std::make_unique<LineProcess>([&](int requests, int replies) {
        prepare_worker(backend);
        ForkServer(answer_with(backend), jobs, limit_s, requests, replies).run();
      });
    } catch (const description::DeviceError&) {
      around.after();
      throw;
    }
    around.after();
    return process;
  };
  return {"the worker of this machine", start};
}

WorkerPlace worker_of_command(std::string name, std::vector<std::string> command) {
  return {std::move(name),
          [command = std::move(command)] { return std::make_unique<LineProcess>(command); }};
}

WorkerPool::WorkerPool(std::vector<WorkerPlace> places, PoolOptions options)
    : options_(std::move(options)) {
  options_.jobs = std::max<std::size_t>(1, options_.jobs);
  for (WorkerPlace& place : places) members_.push_back({std::move(place), nullptr, 0, {}});
  for (Member& member : members_) {
    member.process = member.place.start();
    member.heard = Clock::now();
  }
}

WorkerPool::~WorkerPool() {
  for (Member& member : members_)
    if (member.process) member.process->end_requests();
}

std::size_t WorkerPool::jobs() const {
  std::size_t jobs = 0;
  for (const Member& member : members_) jobs += member.process ? options_.jobs : 0;
  return jobs;
}

/// To the worker with the least to do, the first of several.
void WorkerPool::assign(Pending& pending) {
  Member* least = nullptr;
  for (Member& member : members_)
    if (member.process && (!least || member.pending < least->pending)) least = &member;
  if (!least)
    throw description::DeviceError(
        "no worker is left that simulates; what was found is in the database, and the same command "
        "goes on");
  if (least->pending == 0) least->heard = Clock::now();  // it had nothing to say
  pending.member = static_cast<std::size_t>(least - members_.data());
  ++least->pending;
  least->process->send(pending.line);  // collect() finds out when it is gone
}

void WorkerPool::send(std::uint64_t number, const json& scenario) {
  const std::uint64_t id = next_++;
  Request request;
  request.id = id;
  request.scenario = scenario;
  request.when_full = WhenFull::stop;
  assign(pending_[id] = {number, line_of(request), 0, 0});
}

void WorkerPool::erase(std::map<std::uint64_t, Pending>::iterator pending) {
  --members_[pending->second.member].pending;
  pending_.erase(pending);
}

void WorkerPool::forget() {
  for (const auto& [id, pending] : pending_) {
    Member& member = members_[pending.member];
    member.pending = 0;
    if (member.process) member.process->send(json{{"cancel", id}}.dump() + "\n");
  }
  pending_.clear();  // what is answered nevertheless has no number any more
}

void WorkerPool::wait(double wait_s) const {
  std::vector<pollfd> watched;
  for (const Member& member : members_)
    if (member.process) member.process->watch(watched);
  ::poll(watched.data(), watched.size(), static_cast<int>(wait_s * 1000));
}

std::vector<Delivery> WorkerPool::collect(double wait_s) {
  std::vector<Delivery> delivered;
  if (seconds_since(listened_) > busy_elsewhere_s)
    for (Member& member : members_) member.heard = Clock::now();
  wait(wait_s);
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].process) listen(i, delivered);
  lose_silent(delivered);
  listened_ = Clock::now();
  return delivered;
}

void WorkerPool::listen(std::size_t index, std::vector<Delivery>& into) {
  Member& member = members_[index];
  std::deque<std::string> lines;
  const bool alive = member.process->collect(0, lines);
  if (!lines.empty()) member.heard = Clock::now();
  for (const std::string& line : lines) deliver(line, into);
  if (!alive) ended(index, into);
}

void WorkerPool::deliver(const std::string& line, std::vector<Delivery>& into) {
  const json said = json::parse(line, nullptr, false);
  // whatever starts workers may print lines of its own between theirs
  if (!said.is_object() || !said.contains("id") || !said["id"].is_number_unsigned()) return;
  const auto pending = pending_.find(said["id"]);
  if (pending == pending_.end() || said.contains("progress")) return;
  const json signal = said.value("signal", json()), seconds = said.value("seconds", json());
  if (signal == SIGKILL && ++pending->second.tries < most_tries) {
    --members_[pending->second.member].pending;
    return assign(pending->second);
  }
  into.push_back({pending->second.number, read_answer(said, pending->second),
                  seconds.is_number() ? seconds.get<double>() : 0.0});
  erase(pending);
}

/// What a worker says; that it cannot be read, of one that speaks otherwise.
Outcome WorkerPool::read_answer(const json& said, const Pending& pending) const {
  try {
    return outcome_of(said);
  } catch (const std::exception& error) {  // of the JSON library or of a reader
    Outcome unread;
    unread.failure =
        "the answer of " + members_[pending.member].place.name + " cannot be read: " + error.what();
    return unread;
  }
}

/// Of a worker whose process is gone.
void WorkerPool::ended(std::size_t index, std::vector<Delivery>& into) {
  if (!options_.again) return lose(index, "its process ended");
  Member& member = members_[index];
  if (member.process->gave_up())
    throw description::DeviceError(member.place.name + " cannot go on");
  restart(index, "its process was ended twice", into);
}

/// Anew, with what it had not answered.
///   twice  of what is given up, as this happened before while it was at work
void WorkerPool::restart(std::size_t index, const char* twice, std::vector<Delivery>& into) {
  Member& member = members_[index];
  member.process.reset();
  member.process = member.place.start();
  member.heard = Clock::now();
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    const auto next = std::next(pending);
    if (pending->second.member == index && ++pending->second.tries >= most_tries) {
      into.push_back({pending->second.number, {{}, {}, twice}, 0});
      erase(pending);
    } else if (pending->second.member == index) {
      member.process->send(pending->second.line);
    }
    pending = next;
  }
}

void WorkerPool::lose(std::size_t index, const std::string& why) {
  Member& member = members_[index];
  member.process.reset();
  options_.notice(fmt::format("{} is lost: {}; what it was doing, {} scenarios, goes to the others",
                              member.place.name, why, member.pending));
  member.pending = 0;
  for (auto& [id, pending] : pending_)
    if (pending.member == index) assign(pending);
}

/// One that is stopped, as by SIGSTOP, or whose machine is gone.
void WorkerPool::lose_silent(std::vector<Delivery>& into) {
  if (options_.silence_s <= 0) return;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double silent = seconds_since(members_[i].heard);
    if (!members_[i].process || members_[i].pending == 0 || silent <= options_.silence_s) continue;
    const std::string why = fmt::format("it has been silent for {:.0f} s", silent);
    if (!options_.again) {
      lose(i, why);
      continue;
    }
    options_.notice(fmt::format("{} is started anew: {}", members_[i].place.name, why));
    restart(i, "its process was silent twice", into);
  }
}

}  // namespace spillway::explore
