#include "explore/store/store.hpp"

#include "explore/store/tables.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/strict_json.hpp"
#include "scenarios/description/text.hpp"

#include <algorithm>
#include <filesystem>

namespace spillway::explore {

using description::json_text;
using nlohmann::json;

namespace {

/// Seconds since 1970 by SQLite's clock.
constexpr const char* now = "(julianday('now') - 2440587.5) * 86400.0";

std::string quoted(const std::string& name, char quote) {
  std::string text(1, quote);
  for (const char c : name) text += c == quote ? std::string(2, c) : std::string(1, c);
  return text + quote;
}

/// `, point ->> '$."a.b"' AS "a.b"`.
std::string column(const char* from, const std::string& name) {
  return std::string(", ") + from + " ->> " + quoted("$.\"" + name + "\"", '\'') + " AS " +
         quoted(name, '"');
}

/// The JSON of a column.
///   Throws  DeviceError when it holds something else, as in a file that is damaged
json json_in(const Statement& read, int column) {
  auto [value, problem] = description::parse_strictly(read.text(column));
  if (!problem.empty())
    throw description::DeviceError(damaged(read.file(), "a row has " + problem));
  return std::move(value);
}

constexpr const char* point_columns =
    "SELECT number, key, point, verdict, reason, objectives, front FROM space_points "
    "WHERE space = ? AND ";

PointRow read_point(const Statement& read) {
  return {static_cast<std::uint64_t>(read.integer(0)),
          read.text(1),
          json_in(read, 2),
          read.text(3),
          read.text(4),
          json_in(read, 5),
          read.integer(6) != 0};
}

/// [[path, "min"], ...].
json written(const std::vector<ObjectiveRow>& objectives) {
  json list = json::array();
  for (const ObjectiveRow& one : objectives)
    list.push_back({one.path, one.smaller ? "min" : "max"});
  return list;
}

std::int64_t whole(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

Store::Store(const std::string& file, Database::Access access) : file_(file), access_(access) {
  open();
}

Store::~Store() {
  try {
    if (access_ != Database::Access::read || !has_whole_log()) return;
    statements_.clear();
    database_.reset();
    Database::put_log_away(file_);
  } catch (const description::DeviceError&) {  // it stays, and whoever opens the file next is told
  }
}

/// Whether a log lay beside the file, and all who filled it said that they are done.
bool Store::has_whole_log() {
  if (!database_ || !database_->beside_log()) return false;
  if (!has_table("runs")) return false;
  return number_of(*database_, "SELECT count(*) FROM runs WHERE NOT ended") == 0;
}

/// Looks at what is there without changing it.
///   Result  whether it is still empty
bool Store::require_own() const {
  std::error_code error;  // what cannot be looked at is opened below, which says why
  if (access_ == Database::Access::write &&
      (!std::filesystem::exists(file_, error) || std::filesystem::file_size(file_, error) == 0))
    return true;
  const Database database(file_, Database::Access::read);
  const std::int64_t version = number_of(database, "PRAGMA user_version");
  if (is_foreign(database))
    throw description::ScenarioError(
        {{file_, 0, 0, "", "is another program's database", "name another file"}});
  if (version != store_layout && !(version == 0 && access_ == Database::Access::write))
    throw description::ScenarioError(
        {{file_, 0, 0, "", "is a database, but not one of this version of spillway explore",
          "name another file"}});
  return version == 0;
}

void Store::open() {
  const bool empty = require_own();
  database_.emplace(file_, access_);
  if (access_ == Database::Access::read) return;
  // first the mark, in the file itself, so that nobody takes it for another program's
  if (empty)
    database_->execute("BEGIN IMMEDIATE; PRAGMA application_id = " +
                       std::to_string(store_application) + "; COMMIT;");
  database_->keep_log();
  database_->execute("BEGIN IMMEDIATE;" + std::string(store_tables) +
                     "PRAGMA application_id = " + std::to_string(store_application) +
                     "; PRAGMA user_version = " + std::to_string(store_layout) + "; COMMIT;");
}

void Store::close() {
  if (!database_) return;
  commit();
  statements_.clear();
  database_.reset();
}

Statement& Store::statement(const char* sql) {
  const auto known = std::find_if(statements_.begin(), statements_.end(),
                                  [&](const auto& one) { return one.first == sql; });
  if (known != statements_.end()) return known->second;
  return statements_.emplace_back(sql, database_->prepare(sql)).second;
}

void Store::write() {
  if (!writing_) database_->execute("BEGIN IMMEDIATE");
  writing_ = true;
}

void Store::commit() {
  if (writing_) database_->execute("COMMIT");
  writing_ = false;
}

std::int64_t Store::begin_space(const SpaceRow& space) {
  write();
  Statement& add = statement(
      "INSERT OR IGNORE INTO spaces (id, name, axes, objectives, constraints) "
      "VALUES (?, ?, ?, ?, ?)");
  add.bind(1, space.id).bind(2, space.name).bind(3, json_text(space.axes));
  add.bind(4, json_text(written(space.objectives))).bind(5, json_text(space.constraints)).run();
  Statement& find = statement("SELECT space FROM spaces WHERE id = ?");
  find.bind(1, space.id);
  ENSURE(find.step(), "a space that was just put is there");
  const std::int64_t number = find.integer(0);
  find.reset();
  put_axes(number, space);
  make_views(number, space);
  commit();
  return number;
}

void Store::put_axes(std::int64_t number, const SpaceRow& space) {
  Statement& put = statement("INSERT OR IGNORE INTO axis_values VALUES (?, ?, ?, ?, ?)");
  for (std::size_t a = 0; a < space.values.size(); ++a)
    for (std::size_t i = 0; i < space.values[a].size(); ++i) {
      const AxisValueRow& row = space.values[a][i];
      put.bind(1, number).bind(2, space.axes.at(a)).bind(3, static_cast<std::int64_t>(i));
      put.bind(4, json_text(row.value)).bind(5, json_text(row.overrides)).run();
    }
  if (!space.base.is_null())
    statement("INSERT OR IGNORE INTO bases VALUES (?, ?)")
        .bind(1, number)
        .bind(2, space.base.dump())
        .run();
}

/// A view of each space with a column for each axis and objective, and one of the last space.
void Store::make_views(std::int64_t number, const SpaceRow& space) {
  std::string columns = "number, verdict";
  for (const std::string& axis : space.axes) columns += column("point", axis);
  for (const ObjectiveRow& one : space.objectives) columns += column("objectives", one.path);
  const std::string own = "points_" + std::to_string(number);
  std::string sql =
      "DROP VIEW IF EXISTS " + own + "; CREATE VIEW " + own + " AS SELECT " + columns +
      ", front, reason, key FROM space_points WHERE space = " + std::to_string(number) + ";";
  sql += "DROP VIEW IF EXISTS points; CREATE VIEW points AS SELECT * FROM " + own + ";";
  sql += "DROP VIEW IF EXISTS front; CREATE VIEW front AS SELECT * FROM " + own + " WHERE front;";
  database_->execute(sql);
}

void Store::put_counts(std::int64_t space, const Counts& counts, bool finished) {
  write();
  Statement& put = statement(
      "UPDATE spaces SET points = ?, bounded = ?, pruned = ?, simulated = ?, reused = ?, "
      "refused = ?, failed = ?, finished = ? WHERE space = ?");
  put.bind(1, whole(counts.points)).bind(2, whole(counts.bounded)).bind(3, whole(counts.pruned));
  put.bind(4, whole(counts.simulated)).bind(5, whole(counts.reused));
  put.bind(6, whole(counts.refused)).bind(7, whole(counts.failed));
  put.bind(8, std::int64_t{finished}).bind(9, space).run();
}

void Store::begin_run(std::int64_t space, const std::string& host, std::int64_t process,
                      std::uint64_t points) {
  write();
  static const std::string sql = std::string("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ") +
                                 now + ", " + now + ", ?, 0, 0)";
  statement(sql.c_str()).bind(1, space).bind(2, host).bind(3, process).bind(4, whole(points)).run();
}

void Store::beat(std::int64_t space, std::uint64_t done, bool ended) {
  write();
  static const std::string sql =
      std::string("UPDATE runs SET heartbeat = ") + now + ", done = ?, ended = ? WHERE space = ?";
  statement(sql.c_str()).bind(1, whole(done)).bind(2, std::int64_t{ended}).bind(3, space).run();
}

/// False of a table that an older program did not make.
bool Store::has_table(std::string_view name) {
  Statement table = database_->prepare("SELECT 1 FROM sqlite_master WHERE name = ?");
  table.bind(1, name);
  return table.step();
}

std::optional<RunRow> Store::run(std::int64_t space) {
  if (!has_table("runs")) return std::nullopt;
  Statement read = database_->prepare(
      std::string("SELECT host, process, started, heartbeat, points, done, ended, ") + now +
      " - heartbeat FROM runs WHERE space = ?");
  read.bind(1, space);
  if (!read.step()) return std::nullopt;
  RunRow row;
  row.host = read.text(0);
  row.process = read.integer(1);
  row.started_s = read.number(2).value_or(0);
  row.heartbeat_s = read.number(3).value_or(0);
  row.points = static_cast<std::uint64_t>(read.integer(4));
  row.done = static_cast<std::uint64_t>(read.integer(5));
  row.ended = read.integer(6) != 0;
  row.silent_s = read.number(7).value_or(0);
  return row;
}

std::optional<ScenarioRow> Store::find(const std::string& key) {
  Statement& find =
      statement("SELECT verdict, reason, numbers, seconds FROM scenarios WHERE key = ?");
  find.bind(1, key);
  std::optional<ScenarioRow> row;
  if (find.step())
    row = ScenarioRow{find.text(0), find.text(1), json_in(find, 2), find.number(3).value_or(0)};
  find.reset();
  return row;
}

void Store::put(const std::string& key, const ScenarioRow& row) {
  write();
  statement("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?, ?, ?)")
      .bind(1, key)
      .bind(2, row.verdict)
      .bind(3, row.reason)
      .bind(4, json_text(row.numbers))
      .bind(5, row.seconds)
      .run();
}

void Store::put(std::int64_t space, const PointRow& row) {
  write();
  statement("INSERT OR REPLACE INTO space_points VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(1, space)
      .bind(2, whole(row.number))
      .bind(3, row.key)
      .bind(4, json_text(row.point))
      .bind(5, row.verdict)
      .bind(6, row.reason)
      .bind(7, json_text(row.objectives))
      .bind(8, std::int64_t{row.front})
      .run();
}

void Store::put_result(const std::string& key, const json& result) {
  write();
  statement("INSERT OR REPLACE INTO results VALUES (?, ?)")
      .bind(1, key)
      .bind(2, json_text(result))
      .run();
}

void Store::drop_result(const std::string& key) {
  write();
  statement("DELETE FROM results WHERE key = ?").bind(1, key).run();
}

bool Store::has_result(const std::string& key) {
  Statement& find = statement("SELECT 1 FROM results WHERE key = ?");
  find.bind(1, key);
  const bool found = find.step();
  find.reset();
  return found;
}

json Store::result(const std::string& key) {
  Statement& find = statement("SELECT result FROM results WHERE key = ?");
  find.bind(1, key);
  json result;
  if (find.step()) result = json_in(find, 0);
  find.reset();
  return result;
}

void Store::set_front(std::int64_t space, std::uint64_t number, const std::string& key, bool on) {
  write();
  statement("UPDATE space_points SET front = ? WHERE space = ? AND number = ?")
      .bind(1, std::int64_t{on})
      .bind(2, space)
      .bind(3, whole(number))
      .run();
  if (on) return;
  statement(
      "DELETE FROM results WHERE key = ?1 AND NOT EXISTS "
      "(SELECT 1 FROM space_points WHERE key = ?1 AND front)")
      .bind(1, key)
      .run();
}

void Store::keep_front(std::int64_t space, const std::vector<std::uint64_t>& numbers) {
  for (const PointRow& row : points(space, "front"))
    if (std::find(numbers.begin(), numbers.end(), row.number) == numbers.end())
      set_front(space, row.number, row.key, false);
}

void Store::drop_pruned(std::int64_t space) {
  write();
  statement("DELETE FROM pruned WHERE space = ?").bind(1, space).run();
  statement("DELETE FROM ruled_out WHERE space = ?").bind(1, space).run();
}

void Store::put_pruned(std::int64_t space, std::uint64_t first, std::uint64_t last) {
  write();
  statement("INSERT OR REPLACE INTO pruned VALUES (?, ?, ?)")
      .bind(1, space)
      .bind(2, whole(first))
      .bind(3, whole(last))
      .run();
}

void Store::put_ruled_out(std::int64_t space, std::size_t kind, const RuledOut& row) {
  write();
  statement("INSERT OR REPLACE INTO ruled_out VALUES (?, ?, ?, ?, ?, ?)")
      .bind(1, space)
      .bind(2, whole(kind))
      .bind(3, whole(row.points))
      .bind(4, whole(row.number))
      .bind(5, row.point.dump())
      .bind(6, row.reason)
      .run();
}

std::vector<RuledOut> Store::ruled_out(std::int64_t space) {
  if (!has_table("ruled_out")) return {};
  Statement read = database_->prepare(
      "SELECT points, number, point, reason FROM ruled_out WHERE space = ? ORDER BY kind");
  read.bind(1, space);
  std::vector<RuledOut> rows;
  while (read.step())
    rows.push_back({static_cast<std::uint64_t>(read.integer(0)),
                    static_cast<std::uint64_t>(read.integer(1)), json_in(read, 2), read.text(3)});
  return rows;
}

std::vector<SpaceRow> Store::spaces() {
  Statement& read = statement(
      "SELECT space, id, name, axes, objectives, constraints, points, bounded, pruned, simulated, "
      "reused, refused, failed, finished FROM spaces ORDER BY space");
  std::vector<SpaceRow> rows;
  while (read.step()) {
    SpaceRow& row = rows.emplace_back();
    row.space = read.integer(0);
    row.id = read.text(1);
    row.name = read.text(2);
    json_in(read, 3).get_to(row.axes);
    for (const json& one : json_in(read, 4))
      row.objectives.push_back({one.at(0).get<std::string>(), one.at(1) == "min"});
    json_in(read, 5).get_to(row.constraints);
    std::uint64_t* const counts[] = {
        &row.counts.points, &row.counts.bounded, &row.counts.pruned, &row.counts.simulated,
        &row.counts.reused, &row.counts.refused, &row.counts.failed};
    int column = 6;
    for (std::uint64_t* count : counts) *count = static_cast<std::uint64_t>(read.integer(column++));
    row.finished = read.integer(column) != 0;
  }
  read.reset();
  return rows;
}

std::vector<AxisValueRow> Store::axis_values(std::int64_t space, const std::string& axis) {
  std::vector<AxisValueRow> rows;
  if (!has_table("axis_values")) return rows;
  Statement& read = statement(
      "SELECT value, overrides FROM axis_values WHERE space = ? AND axis = ? ORDER BY position");
  read.bind(1, space).bind(2, axis);
  while (read.step()) rows.push_back({json_in(read, 0), json_in(read, 1)});
  read.reset();
  return rows;
}

json Store::base(std::int64_t space) {
  if (!has_table("bases")) return nullptr;
  Statement& read = statement("SELECT base FROM bases WHERE space = ?");
  read.bind(1, space);
  json base;
  if (read.step()) base = json_in(read, 0);
  read.reset();
  return base;
}

std::vector<PointRow> Store::points(std::int64_t space, const std::string& where) {
  Statement read = database_->prepare(point_columns + ("(" + where + ") ORDER BY number"));
  read.bind(1, space);
  std::vector<PointRow> rows;
  while (read.step()) rows.push_back(read_point(read));
  return rows;
}

std::optional<PointRow> Store::point(std::int64_t space, std::uint64_t number) {
  static const std::string sql = point_columns + std::string("number = ?");
  Statement& read = statement(sql.c_str());
  read.bind(1, space).bind(2, whole(number));
  std::optional<PointRow> row;
  if (read.step()) row = read_point(read);
  read.reset();
  return row;
}

bool Store::has_points(std::int64_t space) {
  Statement& find = statement("SELECT 1 FROM space_points WHERE space = ? LIMIT 1");
  find.bind(1, space);
  const bool found = find.step();
  find.reset();
  return found;
}

std::string Store::integrity() {
  Statement check = database_->prepare("PRAGMA integrity_check");
  check.step();
  return check.text(0);
}

}  // namespace spillway::explore
