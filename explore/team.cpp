#include "explore/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace spillway::explore {

using nlohmann::json;

namespace {

/// Between looks at what arrives: a hundredth of what a simulation takes.
constexpr double look_every_s = 0.001;
constexpr std::chrono::seconds sign_of_life{1};

}  // namespace

Team::Team(const Points& points, const Measures& measures, Store& store,
           const std::string& database, Outpost& own, Messenger& messenger,
           const ExploreOptions& options)
    : points_(points),
      measures_(measures),
      store_(store),
      database_(database),
      own_(own),
      messenger_(messenger),
      options_(options),
      resolver_(points, measures, store),
      members_(messenger.ranks()) {}

std::string Team::shard(std::size_t rank) const { return database_ + "." + std::to_string(rank); }

bool Team::all_here() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& one) { return one.here; });
}

void Team::tell(std::size_t rank, const json& line) {
  if (rank == messenger_.rank())
    own_.send(line.dump() + "\n");
  else
    messenger_.send(rank, line.dump() + "\n");
}

void Team::begin(std::int64_t space) {
  resolver_.begin(space);
  merge_shards([this] { show_life(); });  // of a run whose rank 0 was lost
  by_number_ = store_.has_points(space);
  by_contents_ = store_.spaces().size() > 1;
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    tell(rank, {{"begin", shard(rank)}, {"space", row_of(points_.space()).id}});
}

std::size_t Team::batch_size() const {
  std::size_t jobs = 0;
  for (const Member& one : members_) jobs += one.here ? one.jobs : 0;
  return std::max<std::size_t>(256, 8 * jobs);
}

/// Up to three for each of its processes are with everybody who is there, fewer where a batch ends.
void Team::hand_out() {
  std::size_t jobs = 0;
  for (const Member& one : members_) jobs += one.here ? one.jobs : 0;
  for (std::size_t rank = 0; rank < members_.size() && !waiting_.empty(); ++rank) {
    Member& member = members_[rank];
    const std::size_t most = 3 * member.jobs;
    if (!member.here || member.jobs == 0 || member.busy.size() + member.jobs > most) continue;
    const std::size_t share = waiting_.size() * member.jobs / (2 * jobs) + 1;
    std::vector<std::uint64_t> chunk;
    while (!waiting_.empty() && chunk.size() < share && member.busy.size() < most) {
      chunk.push_back(waiting_.front());
      member.busy.insert(waiting_.front());
      waiting_.pop_front();
    }
    tell(rank, {{"points", chunk}});
  }
}

bool Team::run(std::span<const Coordinates> all, Front& front, Counts& counts,
               const std::function<bool()>& over) {
  all_ = all;
  counts_ = &counts;
  candidates_.assign(all.size(), {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    Candidate& candidate = candidates_[i];
    candidate.row.number = points_.number(all[i]);
    if (by_contents_)
      candidate = resolver_.resolve(all[i], counts);
    else if (by_number_)
      resolver_.recall(candidate, all[i], counts);
    known_ += candidate.known;
    if (candidate.known) continue;
    missing_[candidate.row.number] = i;
    waiting_.push_back(candidate.row.number);
  }
  bool going = !over();
  while (going && !missing_.empty()) {
    hand_out();
    listen(look_every_s);
    going = !over();
  }
  waiting_.clear();
  missing_.clear();
  costs_.clear();
  for (Candidate& candidate : candidates_) {
    costs_.push_back(candidate.judgement.costs);
    if (costs_.back().empty()) continue;
    if (!front.beats(costs_.back())) {
      candidate.row.point = points_.shown(points_.at(candidate.row.number));
      store_.put(candidate.row.key, candidate.outcome);
      store_.put(resolver_.space(), candidate.row);
    }
    resolver_.put_on_front(candidate, front, nullptr);
  }
  store_.commit();
  return going;
}

void Team::tend() { listen(0); }

void Team::show_life() {
  const auto now = Clock::now();
  if (now - told_ < sign_of_life) return;
  told_ = now;
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    if (rank != messenger_.rank() && members_[rank].here) messenger_.send(rank, "");
}

void Team::listen(double wait_s) {
  for (const std::string& line : own_.collect(wait_s)) hear(messenger_.rank(), line);
  while (const auto letter = messenger_.receive()) {
    Member& member = members_.at(letter->from);
    member.heard = Clock::now();
    if (!member.here) continue;  // too late: others have its points
    std::string text = letter->text;
    std::deque<std::string> lines;
    take_lines(text, lines);
    for (const std::string& line : lines) hear(letter->from, line);
  }
  const auto now = Clock::now();
  if (!own_.alive()) lose(messenger_.rank(), "its process was ended");
  show_life();
  // what has arrived while this process did something else was heard just now
  const bool busy_elsewhere = now - heard_letters_ > sign_of_life;
  heard_letters_ = now;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (rank == messenger_.rank() || !members_[rank].here) continue;
    const std::chrono::duration<double> silent = now - members_[rank].heard;
    if (silent.count() > options_.silence_s && !busy_elsewhere)
      lose(rank, fmt::format("it has been silent for {:.0f} s", silent.count()));
  }
  if (std::none_of(members_.begin(), members_.end(), [](const Member& one) { return one.here; }))
    throw description::DeviceError("no rank is left that simulates; what they found is in " +
                                   database_ + ".*, and the same command goes on");
}

void Team::lose(std::size_t rank, const std::string& why) {
  Member& member = members_[rank];
  if (!member.here) return;
  member.here = false;
  std::size_t again = 0;
  for (const std::uint64_t number : member.busy)
    if (missing_.contains(number)) waiting_.push_front(number), ++again;
  member.busy.clear();
  options_.notice(
      fmt::format("rank {} is lost: {}; {} of its points go to the others", rank, why, again));
}

void Team::hear(std::size_t rank, const std::string& line) {
  const json said = json::parse(line);
  if (said.contains("number")) return answered(rank, said);
  if (said.contains("ready")) members_[rank].jobs = said.at("ready");
  if (said.contains("closed")) members_[rank].closed = true;
  if (said.contains("lost")) return lose(rank, said.at("lost"));
  if (!said.contains("whole")) return;
  const std::uint64_t number = said.at("whole");
  incomplete_.erase(number);
  if (const auto row = store_.point(resolver_.space(), number);
      row && said.at("result").is_object())
    store_.put_result(row->key, said.at("result"));
}

void Team::answered(std::size_t rank, const json& answer) {
  const std::uint64_t number = answer.at("number");
  members_[rank].busy.erase(number);
  const auto found = missing_.find(number);
  if (found == missing_.end()) return;
  Candidate& candidate = candidates_[found->second];
  const Coordinates& at = all_[found->second];
  missing_.erase(found);
  const json& outcome = answer.at("outcome");
  const std::string how = answer.at("how");
  ++known_;
  counts_->refused += how == "refused";
  counts_->simulated += how == "simulated";
  counts_->reused += how == "known";
  counts_->failed += how == "simulated" && outcome.at("verdict") == "failed";
  candidate.known = true;
  if (how == "refused") return;
  candidate.row.key = answer.at("key");
  resolver_.judge(
      candidate, at,
      {outcome.at("verdict"), outcome.at("reason"), outcome.at("numbers"), outcome.at("seconds")});
}

/// Shards are closed.
void Team::close_shards() {
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    if (members_[rank].here) tell(rank, {{"close", true}});
  const auto open = [](const Member& one) { return one.here && !one.closed; };
  while (std::any_of(members_.begin(), members_.end(), open)) listen(look_every_s);
}

/// Whoever is there leaves the job; together, when nobody would be waited for in vain.
void Team::part(bool together) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    if (rank != messenger_.rank()) messenger_.send(rank, json{{"leave", together}}.dump() + "\n");
  if (together) messenger_.leave();
}

/// Those that this machine can see: FILE.0, FILE.1, ...
void Team::merge_shards(const std::function<void()>& meanwhile) {
  namespace fs = std::filesystem;
  const fs::path file = fs::absolute(database_);
  const std::string beginning = file.filename().string() + ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(beginning) || name.size() == beginning.size() ||
        name.find_first_not_of("0123456789", beginning.size()) != std::string::npos)
      continue;
    store_.take_over(entry.path().string(), meanwhile);
  }
}

void Team::gather(const Front& front, const std::function<bool()>& over) {
  if (over()) return part(false);
  close_shards();
  part(all_here());
  merge_shards([] {});  // the others have left
  for (std::size_t rank = 0; rank < members_.size(); ++rank)
    if (members_[rank].jobs > 0 && !std::filesystem::exists(shard(rank)))
      options_.notice(
          fmt::format("{0}.{1} is on another machine: spillway explore merge {0} "
                      "{0}.{1} puts it in",
                      database_, rank));
  std::vector<std::uint64_t> numbers;
  for (const FrontPoint& point : front.points()) numbers.push_back(point.number);
  store_.keep_front(resolver_.space(), numbers);
  for (const FrontPoint& point : front.points())
    store_.set_front(resolver_.space(), point.number, point.key, true);
}

bool Team::complete_front(const Front& front, const std::function<bool()>& over) {
  for (const FrontPoint& point : front.points())
    if (!store_.has_result(point.key)) {
      incomplete_.insert(point.number);
      tell(messenger_.rank(), {{"whole", point.number}});
    }
  while (!incomplete_.empty() && own_.alive() && !over())
    for (const std::string& line : own_.collect(look_every_s)) hear(messenger_.rank(), line);
  store_.commit();
  return incomplete_.empty();
}

}  // namespace spillway::explore
