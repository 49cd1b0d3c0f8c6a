#pragma once

#include "explore/store/database.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace spillway::explore {

/// What is known of a scenario, whatever space asked for it.
struct ScenarioRow {
  std::string verdict;     ///< fits, infeasible, refused, failed: not known
  std::string reason;      ///< of all but the first
  nlohmann::json numbers;  ///< {path of the result: value}
  double seconds = 0;      ///< that its simulation took
};

/// A point of a space.
struct PointRow {
  std::uint64_t number = 0;   ///< in the space
  std::string key;            ///< of its scenario; "" when it is refused
  nlohmann::json point;       ///< {axis: value}
  std::string verdict;        ///< accepted, rejected (a constraint), infeasible, refused, failed
  std::string reason;         ///< of all but the first
  nlohmann::json objectives;  ///< {path: value}, of those that fit
  bool front = false;
};

/// What a run did with the points of a space.
struct Counts {
  std::uint64_t points = 0;     ///< that fulfil the conditions between axes
  std::uint64_t bounded = 0;    ///< whose bounds were computed
  std::uint64_t pruned = 0;     ///< by their bounds
  std::uint64_t simulated = 0;  ///< in this run
  std::uint64_t reused = 0;     ///< that the database knew
  std::uint64_t refused = 0;    ///< whose values contradict each other
  std::uint64_t failed = 0;  ///< not known: the simulation crashed, took too long or had no process
};

/// Points that were ruled out by their bounds for one reason.
struct RuledOut {
  std::uint64_t points = 0;
  std::uint64_t number = 0;  ///< of the first of them
  nlohmann::json point;      ///< its values, by axis
  std::string reason;        ///< of that one
};

/// What should be small or large, in the order of importance.
struct ObjectiveRow {
  std::string path;
  bool smaller = true;
};

/// One of an axis's values.
struct AxisValueRow {
  nlohmann::json value;                ///< as it is shown
  std::vector<std::string> overrides;  ///< "path=value" that make it
};

struct SpaceRow {
  std::int64_t space = 0;  ///< its number in the database
  std::string id;          ///< hash of its definition
  std::string name;
  std::vector<std::string> axes;
  std::vector<ObjectiveRow> objectives;
  std::vector<std::string> constraints;
  std::vector<std::vector<AxisValueRow>> values;  ///< by axis; spaces() leaves it empty
  nlohmann::json base;  ///< the scenario that axes vary; spaces() leaves it empty
  Counts counts;
  bool finished = false;  ///< every point is pruned or known
};

/// The process that fills a space, or did last. It says each second that it is there.
struct RunRow {
  std::string host;
  std::int64_t process = 0;
  double started_s = 0, heartbeat_s = 0;  ///< since 1970
  double silent_s = 0;                    ///< since its heartbeat
  std::uint64_t points = 0;               ///< of which it looks at all
  std::uint64_t done = 0;                 ///< of them, pruned or known
  bool ended = false;                     ///< of its own accord
};

/// Results of explorations in one SQLite file; the README of this folder describes its tables.
/// What is written becomes durable with commit(), all of it or nothing.
class Store {
 public:
  Store(const std::string& file, Database::Access access);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  /// A reader puts away the log of a writer that ended meanwhile and could not do it; what one left
  /// that was killed stays as it is.
  ~Store();

  /// Lets go of the file for a fork, and takes it again. What is not committed is committed first.
  void close();
  void open();

  /// The number of the space with that id; its rows are kept when it was there already. Makes its
  /// view `points_<number>`, and `points` and `front`, which are of the space that was begun last.
  std::int64_t begin_space(const SpaceRow& space);
  void put_counts(std::int64_t space, const Counts& counts, bool finished);

  /// From now on that process fills the space.
  void begin_run(std::int64_t space, const std::string& host, std::int64_t process,
                 std::uint64_t points);
  /// It is still there, or ends with this.
  void beat(std::int64_t space, std::uint64_t done, bool ended);
  /// Nothing in a database that an older program filled.
  std::optional<RunRow> run(std::int64_t space);

  std::optional<ScenarioRow> find(const std::string& key);
  void put(const std::string& key, const ScenarioRow& row);
  void put(std::int64_t space, const PointRow& row);
  void put_result(const std::string& key, const nlohmann::json& result);
  void drop_result(const std::string& key);
  bool has_result(const std::string& key);
  /// Null when there is none.
  nlohmann::json result(const std::string& key);

  /// Puts a point on the front of its space or takes it off; its result goes with it, unless it is
  /// on another front.
  void set_front(std::int64_t space, std::uint64_t number, const std::string& key, bool on);
  /// Takes everything but these points off the front.
  void keep_front(std::int64_t space, const std::vector<std::uint64_t>& numbers);
  void drop_pruned(std::int64_t space);
  /// Numbers first .. last, none of which can meet the constraints or beat the front.
  void put_pruned(std::int64_t space, std::uint64_t first, std::uint64_t last);
  /// In place of what was said of that kind of reason before.
  void put_ruled_out(std::int64_t space, std::size_t kind, const RuledOut& row);
  /// None in a database that an older program filled.
  std::vector<RuledOut> ruled_out(std::int64_t space);

  /// Takes over what another database knows of scenarios and points. Exploring a space here then
  /// joins the fronts of its shards and simulates nothing of them again.
  ///   meanwhile  called every few milliseconds
  ///   Result     scenarios that were new
  ///   Throws     ScenarioError when `file` is no database of explorations
  std::uint64_t take_over(
      const std::string& file, std::function<void()> meanwhile = [] {});

  void commit();
  bool writing() const { return writing_; }

  std::vector<SpaceRow> spaces();
  /// The values of one of a space's axes, in their order; none in a database of an older program.
  std::vector<AxisValueRow> axis_values(std::int64_t space, const std::string& axis);
  /// The scenario that a space's axes vary; null in a database of an older program.
  nlohmann::json base(std::int64_t space);
  /// Points of a space by number.
  ///   where  a condition over columns of the table, such as "front"
  std::vector<PointRow> points(std::int64_t space, const std::string& where = "1");
  std::optional<PointRow> point(std::int64_t space, std::uint64_t number);
  bool has_points(std::int64_t space);
  /// SQLite's own check: "ok".
  std::string integrity();

 private:
  bool require_own() const;
  bool has_whole_log();
  Statement& statement(const char* sql);
  void write();
  void make_views(std::int64_t number, const SpaceRow& space);
  void put_axes(std::int64_t number, const SpaceRow& space);
  bool has_table(std::string_view name);

  std::string file_;
  Database::Access access_;
  std::optional<Database> database_;
  std::vector<std::pair<const char*, Statement>> statements_;
  bool writing_ = false;
};

}  // namespace spillway::explore
