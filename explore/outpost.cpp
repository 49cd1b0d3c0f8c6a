#include "explore/outpost.hpp"

#include "explore/child.hpp"
#include "explore/explorer.hpp"
#include "explore/resolver.hpp"
#include "explore/worker.hpp"

#include <fcntl.h>
#include <poll.h>

namespace spillway::explore {

using nlohmann::json;

namespace {

constexpr double look_every_s = 0.005;

/// The process: its shard, its worker, and the points that it was given.
class Keeper {
 public:
  Keeper(const Backend& backend, const Points& points, std::size_t jobs, double limit_s,
         int requests, int replies)
      : backend_(backend),
        points_(points),
        measures_(points),
        jobs_(jobs),
        limit_s_(limit_s),
        requests_(requests),
        replies_(replies) {
    ::fcntl(requests_, F_SETFL, O_NONBLOCK);
  }

  void run() {
    try {
      while (open_ && heard_) serve();
    } catch (const std::exception& error) {  // whoever asks has others to ask
      reply({{"lost", error.what()}});
    }
  }

 private:
  /// A request to the worker.
  struct Work {
    std::uint64_t number = 0;
    bool whole = false;
    Candidate candidate;
  };

  void serve() {
    const bool busy = worker_ && worker_->pending() > 0;
    pollfd asked{requests_, POLLIN, 0};
    if (::poll(&asked, 1, busy ? 0 : 100) > 0) {
      open_ = read_into(unread_, requests_);
      std::deque<std::string> lines;
      take_lines(unread_, lines);
      for (const std::string& line : lines) handle(json::parse(line));
    }
    while (!waiting_.empty() && worker_->pending() < 2 * jobs_) {
      const std::uint64_t number = waiting_.front();
      waiting_.pop_front();
      begin(number);
    }
    if (worker_ && worker_->pending() > 0)
      for (const Delivery& delivery : worker_->collect(look_every_s)) take(delivery);
    send_answers();
  }

  void handle(const json& request) {
    if (request.contains("begin")) {
      open(request.at("begin"), request.at("space"));
    } else if (request.contains("points")) {
      for (const std::uint64_t number : request.at("points")) waiting_.push_back(number);
    } else if (request.contains("whole")) {
      const std::uint64_t number = request.at("whole");
      work_[next_] = {number, true, {}};
      worker_->send(next_++, resolver_->scenario(points_.at(number)));
    } else if (request.contains("close")) {
      close();
    }
  }

  void open(const std::string& file, const std::string& id) {
    SpaceRow row = row_of(points_.space());
    if (row.id != id) {
      reply({{"lost", "its space file is not that of rank 0"}});
      open_ = false;
      return;
    }
    store_.emplace(file, Database::Access::write);
    worker_.emplace(backend_, jobs_, limit_s_,
                    AroundFork{[this] { store_->close(); },
                               [this] {
                                 if (!closed_) store_->open();
                               }});
    resolver_.emplace(points_, measures_, *store_);
    resolver_->begin(store_->begin_space(row));
    reply({{"ready", jobs_}});
  }

  void close() {
    waiting_.clear();
    if (store_) {
      worker_->forget();
      work_.clear();
      same_.clear();
      store_->put_counts(resolver_->space(), counts_, false);
      store_->close();
    }
    closed_ = true;
    reply({{"closed", true}});
  }

  void begin(std::uint64_t number) {
    Candidate candidate = resolver_->resolve(points_.at(number), counts_);
    ++counts_.points;
    if (candidate.known) {
      resolver_->put_on_front(candidate, front_, nullptr);
      return answer(candidate, candidate.row.verdict == "refused" ? "refused" : "known");
    }
    auto& same = same_[candidate.row.key];
    same.push_back(candidate);
    if (same.size() > 1) return;
    const json scenario = candidate.scenario;
    work_[next_] = {number, false, std::move(candidate)};
    worker_->send(next_++, scenario);
  }

  void take(const Delivery& delivery) {
    const auto found = work_.find(delivery.number);
    const Work work = std::move(found->second);
    work_.erase(found);
    json result;
    if (delivery.outcome.result) result = *delivery.outcome.result;
    if (work.whole) return reply({{"whole", work.number}, {"result", result}});
    const ScenarioRow row = resolver_->record(work.candidate, delivery);
    ++counts_.simulated;
    const auto node = same_.extract(work.candidate.row.key);
    for (Candidate& candidate : node.mapped()) {
      resolver_->judge(candidate, points_.at(candidate.row.number), row);
      counts_.failed += row.verdict == "failed";
      store_->put(resolver_->space(), candidate.row);
      resolver_->put_on_front(candidate, front_, &result);
      answer(candidate, "simulated");
    }
  }

  void answer(const Candidate& candidate, const char* how) {
    const ScenarioRow& row = candidate.outcome;
    const json outcome = {{"verdict", row.verdict},
                          {"reason", row.reason},
                          {"numbers", row.numbers},
                          {"seconds", row.seconds}};
    answers_ += json{{"number", candidate.row.number},
                     {"how", how},
                     {"key", candidate.row.key},
                     {"outcome", outcome}}
                    .dump() +
                "\n";
  }

  void send_answers() {
    if (answers_.empty()) return;
    store_->commit();
    heard_ = write_all(replies_, answers_) && heard_;
    answers_.clear();
  }

  void reply(const json& line) { heard_ = write_all(replies_, line.dump() + "\n") && heard_; }

  const Backend& backend_;
  const Points& points_;
  const Measures measures_;
  const std::size_t jobs_;
  const double limit_s_;
  const int requests_, replies_;
  bool open_ = true, heard_ = true, closed_ = false;
  std::string unread_, answers_;
  std::optional<Store> store_;
  std::optional<Worker> worker_;
  std::optional<Resolver> resolver_;
  Front front_;
  Counts counts_;
  std::deque<std::uint64_t> waiting_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Work> work_;                  ///< by its number in the worker
  std::map<std::string, std::vector<Candidate>> same_;  ///< that wait for one simulation, by key
};

}  // namespace

Outpost::Outpost(const Backend& backend, const Points& points, std::size_t jobs, double limit_s)
    : process_([&](int requests, int replies) {
        Keeper(backend, points, jobs, limit_s, requests, replies).run();
      }) {}

std::deque<std::string> Outpost::collect(double wait_s) {
  std::deque<std::string> lines;
  alive_ = process_.collect(wait_s, lines) && alive_;
  return lines;
}

}  // namespace spillway::explore
