#include "explore/worker.hpp"

#include "explore/fork_server.hpp"

#include <algorithm>
#include <csignal>

namespace spillway::explore {

using nlohmann::json;

namespace {

/// Times that a scenario is tried whose process was ended from outside.
constexpr int most_tries = 2;

}  // namespace

Worker::Worker(const Backend& backend, std::size_t jobs, double limit_s, AroundFork around)
    : backend_(backend),
      jobs_(std::max<std::size_t>(1, jobs)),
      limit_s_(limit_s),
      around_(std::move(around)) {
  start();
}

void Worker::start() {
  around_.before();
  try {
    process_.emplace([this](int requests, int replies) {
      backend_.prepare();
      ForkServer(answer_with(backend_), jobs_, limit_s_, requests, replies).run();
    });
  } catch (const description::DeviceError&) {
    around_.after();
    throw;
  }
  around_.after();
}

void Worker::restart() {
  process_.reset();
  start();
  for (auto& [id, pending] : pending_) process_->send(pending.line);
}

void Worker::forget() {
  for (const auto& [id, pending] : pending_) process_->send(json{{"cancel", id}}.dump() + "\n");
  pending_.clear();  // what is answered nevertheless has no number any more
}

void Worker::send(std::uint64_t number, const json& scenario) {
  const std::uint64_t id = next_++;
  const json request = {{"id", id}, {"scenario", scenario}, {"when_full", "stop"}};
  Pending& pending = pending_[id] = {number, request.dump() + "\n", 0};
  if (!process_->send(pending.line)) restart();
}

std::vector<Delivery> Worker::collect(double wait_s) {
  std::vector<Delivery> delivered;
  const bool alive = process_->collect(wait_s, lines_);
  for (const std::string& line : lines_) deliver(line, delivered);
  lines_.clear();
  if (alive) return delivered;
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (++pending->second.tries >= most_tries) {
      delivered.push_back({pending->second.number, {{}, {}, "its process was ended twice"}, 0});
      pending = pending_.erase(pending);
    } else {
      ++pending;
    }
  }
  restart();
  return delivered;
}

void Worker::deliver(const std::string& line, std::vector<Delivery>& into) {
  const json said = json::parse(line);
  const auto pending = pending_.find(said.value("id", next_));
  if (pending == pending_.end() || said.contains("progress")) return;
  if (said.value("signal", 0) == SIGKILL && ++pending->second.tries < most_tries) {
    process_->send(pending->second.line);  // collect() finds out when it is gone
    return;
  }
  into.push_back({pending->second.number, outcome_of(said), said.at("seconds")});
  pending_.erase(pending);
}

}  // namespace spillway::explore
