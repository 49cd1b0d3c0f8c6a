#include "explore/store/store.hpp"

namespace spillway::explore {

std::uint64_t Store::take_over(const std::string& file, std::function<void()> meanwhile) {
  const Store other(file, Database::Access::read);  // or this says what is wrong with it
  commit();
  database_->meanwhile(std::move(meanwhile));
  Statement attach = database_->prepare("ATTACH DATABASE ? AS other");
  attach.bind(1, uri_of(file, "mode=ro")).run();
  const auto count = [this] {
    Statement all = database_->prepare("SELECT count(*) FROM main.scenarios");
    all.step();
    return static_cast<std::uint64_t>(all.integer(0));
  };
  const std::uint64_t before = count();
  database_->execute(
      "BEGIN IMMEDIATE;"
      // what could not be simulated here and was there
      "CREATE TEMP TABLE answered AS SELECT key FROM main.scenarios AS mine "
      "JOIN other.scenarios AS theirs USING (key) "
      "WHERE mine.verdict = 'failed' AND theirs.verdict <> 'failed';"
      "DELETE FROM main.scenarios WHERE key IN (SELECT key FROM answered);"
      "DELETE FROM main.results WHERE key IN (SELECT key FROM answered);"
      "DELETE FROM main.space_points WHERE key IN (SELECT key FROM answered);"
      "DROP TABLE answered;"
      "INSERT OR IGNORE INTO main.scenarios SELECT * FROM other.scenarios;"
      "INSERT OR IGNORE INTO main.results SELECT * FROM other.results;"
      "INSERT OR IGNORE INTO main.spaces (id, name, axes, objectives, constraints) "
      "SELECT id, name, axes, objectives, constraints FROM other.spaces;"
      "INSERT OR IGNORE INTO main.space_points "
      "SELECT mine.space, number, key, point, verdict, reason, point.objectives, front "
      "FROM other.space_points AS point JOIN other.spaces AS theirs USING (space) "
      "JOIN main.spaces AS mine ON mine.id = theirs.id; COMMIT;");
  const std::uint64_t added = count() - before;
  database_->execute("DETACH DATABASE other");
  database_->meanwhile([] {});
  return added;
}

}  // namespace spillway::explore
