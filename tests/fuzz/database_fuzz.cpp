#include "answers/explore/exploration.hpp"
#include "cli/from_database.hpp"
#include "reports/exploration/exploration_report.hpp"
#include "tests/fuzz/harmless.hpp"
#include "tests/fuzz/read_text.hpp"
#include "tests/reports/samples.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace spillway::explore {

/// What an explanation simulates, which is not attacked here.
std::vector<NextStep> next_steps(const Backend&, const nlohmann::json&, const std::vector<AxisRow>&,
                                 const nlohmann::json&, const std::vector<std::string>&) {
  return {};
}

}  // namespace spillway::explore

namespace {

using namespace spillway;
using explore::Database;
using fuzz::ensure_harmless;

/// The columns that hold what is read again.
constexpr const char* columns[] = {
    "spaces SET name",
    "spaces SET axes",
    "spaces SET objectives",
    "spaces SET constraints",
    "spaces SET id",
    "scenarios SET verdict",
    "scenarios SET reason",
    "scenarios SET numbers",
    "space_points SET key",
    "space_points SET point",
    "space_points SET verdict",
    "space_points SET reason",
    "results SET result",
    "bases SET base",
    "runs SET host",
    "runs SET heartbeat",
    "axis_values SET value",
    "axis_values SET overrides",
    "axis_values SET axis",
    "spaces SET points",
    "space_points SET objectives",
    "space_points SET number",
};

explore::SpaceRow sample_space() {
  explore::SpaceRow space;
  space.id = "one", space.name = "a space";
  space.axes = {"training.micro_batch"};
  space.objectives = {{"step_time_s", true}, {"price_usd", false}};
  space.constraints = {"wear.lifetime_years > 3"};
  space.values = {{{1, {"training.micro_batch=1"}}, {2, {"training.micro_batch=2"}}}};
  space.base = {{"model", "gpt2"}, {"machine", "gaming_4090"}};
  return space;
}

/// The bytes of a database with an exploration of three points.
const std::string& sample_database() {
  static const std::string bytes = [] {
    const std::string file = fuzz::file_with("", "sample.db");
    {
      explore::Store store(file, Database::Access::write);
      const std::int64_t space = store.begin_space(sample_space());
      store.begin_run(space, "here", 1, 3);
      for (std::uint64_t number = 0; number < 3; ++number) {
        const std::string key = "key" + std::to_string(number);
        const bool fits = number < 2;
        store.put(key, {fits ? "fits" : "infeasible",
                        fits ? "" : "host memory: too small",
                        {{"step_time_s", 1.5}, {"wear.waf", 2}},
                        0.1});
        store.put(space, {number,
                          key,
                          {{"training.micro_batch", number}},
                          fits ? "accepted" : "infeasible",
                          fits ? "" : "host: peak of 3 GiB",
                          {{"step_time_s", 1.5}, {"price_usd", 100}},
                          fits});
        if (fits) store.put_result(key, reports::sample_that_fits());
      }
      store.put_pruned(space, 4, 9);
      store.put_counts(space, {3, 2, 0, 3, 0, 0, 0}, true);
      store.beat(space, 3, true);
      store.commit();
    }
    std::ifstream read(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(read), {});
  }();
  return bytes;
}

/// A file of bytes that are none of SQLite's is a database of ours, in which the column that the
/// first byte names has the text behind it.
std::string database_of(const std::string& text) {
  const bool whole = text.starts_with("SQLite format 3");
  const std::string file = fuzz::file_with(whole ? text : sample_database(), "fuzz.db");
  for (const char* beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(file + beside);
  if (whole || text.empty()) return file;
  const auto column = static_cast<unsigned char>(text[0]) % std::size(columns);
  Database(file, Database::Access::write)
      .prepare("UPDATE " + std::string(columns[column]) + " = ?")
      .bind(1, std::string_view(text).substr(1))
      .run();
  return file;
}

/// Calls what reads a database, which may find that it is damaged, and says so.
template <class Read>
void read_database(const std::string& file, const Read& read) {
  try {
    fuzz::read_or_refuse([&] { cli::from_database(file, read); });
  } catch (const description::DeviceError& error) {
    ENSURE(!std::string(error.what()).empty(), "a failure without words");
  }
}

void read_space(explore::Store& store, const std::string& file, const explore::SpaceRow& space) {
  const auto number = space.space;
  read_database(file,
                [&] { ensure_harmless(reports::front_document(answers::front(store, number))); });
  read_database(
      file, [&] { ensure_harmless(reports::reasons_document(answers::reasons(store, number))); });
  for (const std::string& axis : space.axes)
    read_database(file, [&] {
      store.axis_values(number, axis);
      ensure_harmless(reports::groups_document(answers::groups(store, number, axis)));
    });
  read_database(file, [&] {
    const auto front = answers::repriced(store, number, {{"dram", 3, "", ""}});
    ensure_harmless(reports::repriced_document(front));
  });
  read_database(file, [&] {
    store.base(number);
    store.run(number);
    store.point(number, 0);
  });
}

}  // namespace

/// Any database is either refused or damaged, in words, or can be read, shown, joined to another
/// and filled again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string file;
  try {
    file = database_of(fuzz::text_of(data, size));
  } catch (const description::DeviceError&) {
    return 0;  // the table does not take such a value
  }
  read_database(file, [&] {
    explore::Store store(file, Database::Access::read);
    for (const explore::SpaceRow& space : store.spaces()) read_space(store, file, space);
  });
  read_database(file, [&] {
    const std::string joined = fuzz::file_with("", "joined.db");
    explore::Store store(joined, Database::Access::write);
    store.begin_space(sample_space());
    store.take_over(file);
    store.commit();
  });
  read_database(file, [&] {
    explore::Store store(file, Database::Access::write);
    const auto space = store.begin_space(sample_space());
    store.keep_front(space, {0});
    store.commit();
  });
  return 0;
}
