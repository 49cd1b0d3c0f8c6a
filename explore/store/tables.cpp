#include "explore/store/tables.hpp"

namespace spillway::explore {

const char* const store_tables = R"(
CREATE TABLE IF NOT EXISTS spaces (
  space INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, name TEXT NOT NULL, axes TEXT NOT NULL,
  objectives TEXT NOT NULL, constraints TEXT NOT NULL, points INTEGER DEFAULT 0,
  bounded INTEGER DEFAULT 0, pruned INTEGER DEFAULT 0, simulated INTEGER DEFAULT 0,
  reused INTEGER DEFAULT 0, refused INTEGER DEFAULT 0, failed INTEGER DEFAULT 0,
  finished INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS scenarios (
  key TEXT PRIMARY KEY, verdict TEXT NOT NULL, reason TEXT NOT NULL, numbers TEXT NOT NULL,
  seconds REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS space_points (
  space INTEGER NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, point TEXT NOT NULL,
  verdict TEXT NOT NULL, reason TEXT NOT NULL, objectives TEXT NOT NULL,
  front INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (space, number)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fronts ON space_points (key) WHERE front;
CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pruned (
  space INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (space, first)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ruled_out (
  space INTEGER NOT NULL, kind INTEGER NOT NULL, points INTEGER NOT NULL, number INTEGER NOT NULL,
  point TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (space, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS axis_values (
  space INTEGER NOT NULL, axis TEXT NOT NULL, position INTEGER NOT NULL, value TEXT NOT NULL,
  overrides TEXT NOT NULL, PRIMARY KEY (space, axis, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bases (space INTEGER PRIMARY KEY, base TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  space INTEGER PRIMARY KEY, host TEXT NOT NULL, process INTEGER NOT NULL, started REAL NOT NULL,
  heartbeat REAL NOT NULL, points INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0);
)";

std::int64_t number_of(const Database& database, const char* sql) {
  Statement read = database.prepare(sql);
  return read.step() ? read.integer(0) : 0;
}

bool is_foreign(const Database& database) {
  if (number_of(database, "PRAGMA application_id") == store_application) return false;
  const std::int64_t all = number_of(database, "SELECT count(*) FROM sqlite_master");
  const std::int64_t ours =
      number_of(database,
                "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                "('spaces', 'scenarios', 'space_points', 'results')");
  return all > 0 && ours < 4;
}

}  // namespace spillway::explore
