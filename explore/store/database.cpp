#include "explore/store/database.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/text.hpp"

#include <sqlite3.h>

#include <cstdio>
#include <filesystem>

namespace spillway::explore {

namespace {

/// How long another program may hold the file before that is an error.
constexpr int patience_ms = 10'000;

/// Instructions of SQLite's machine, some ten nanoseconds each.
constexpr int between_calls = 100'000;

[[noreturn]] void fail(sqlite3* database, const std::string& file, int code) {
  const std::string what = sqlite3_errstr(code);
  const std::string why = database ? sqlite3_errmsg(database) : what;
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      throw description::ScenarioError(
          {{file, 0, 0, "", "is no database", "name another file, or delete this one"}});
    case SQLITE_CORRUPT:
      throw description::DeviceError(damaged(file, why));
    case SQLITE_CANTOPEN:  // what SQLite keeps beside it
    case SQLITE_READONLY:
      throw description::DeviceError(file +
                                     ": cannot be written, nor what SQLite keeps beside it; copy "
                                     "it to a folder that may be written");
    case SQLITE_FULL:
      throw description::DeviceError(file +
                                     ": no space left for it (ENOSPC); what was explored is kept: "
                                     "free space there, then give the same command again");
    default:
      throw description::DeviceError(file + ": " + what + (why == what ? "" : ": " + why));
  }
}

/// Why a file cannot be opened or made: SQLite alone says that it is so.
std::string why_not_open(const std::string& file) {
  std::error_code error;  // what cannot be looked at is not there
  const std::filesystem::path folder = std::filesystem::absolute(file, error).parent_path();
  if (std::filesystem::is_directory(file, error)) return "is a folder; name a file in it";
  if (!std::filesystem::is_directory(folder, error))
    return "there is no folder " + folder.string() + "; make it first";
  return "cannot be opened or made there; name a file in a folder that may be written";
}

}  // namespace

std::string damaged(const std::string& file, const std::string& why) {
  return file + ": " + why + "; explore into another file, or save what can be read with sqlite3 " +
         description::shell_word(file) + " .recover";
}

std::string uri_of(const std::string& file, const std::string& query) {
  std::string uri = "file:";
  for (const char c : file)
    if (c == '?' || c == '#' || c == '%') {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(c));
      uri += code;
    } else {
      uri += c;
    }
  return uri + "?" + query;
}

Statement::Statement(sqlite3* database, const std::string& file, std::string_view sql)
    : database_(database), file_(file) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  statement_.reset(statement);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::check(int code) const {
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) fail(database_, file_, code);
}

Statement& Statement::bind(int parameter, std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}
Statement& Statement::bind(int parameter, std::int64_t number) {
  check(sqlite3_bind_int64(statement_.get(), parameter, number));
  return *this;
}
Statement& Statement::bind(int parameter, double number) {
  check(sqlite3_bind_double(statement_.get(), parameter, number));
  return *this;
}
Statement& Statement::bind_null(int parameter) {
  check(sqlite3_bind_null(statement_.get(), parameter));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    const int extended = sqlite3_extended_errcode(database_);
    sqlite3_reset(statement_.get());
    fail(database_, file_, extended);
  }
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::string Statement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text ? description::as_utf8({reinterpret_cast<const char*>(text), size}) : "";
}
std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::string& file, Access access) : file_(file) {
  std::error_code error;  // what cannot be looked at cannot be opened either
  if (access == Access::read && !std::filesystem::exists(file, error))
    throw description::ScenarioError(
        {{file, 0, 0, "", "no such file", "make it with spillway explore SPACE --db " + file}});
  if (access == Access::write) {
    open(uri_of(file, "mode=rwc"));
    return;
  }
  // beside a writer, or what a killed one left, nothing may be changed; else a reader has to be
  // able to take away again what SQLite keeps beside the file while it is open
  beside_log_ = std::filesystem::exists(file + "-wal", error);
  open(uri_of(file, beside_log_ ? "mode=ro" : "mode=rw"));
  if (!beside_log_ && !can_be_read())
    open(uri_of(file, "mode=ro&immutable=1"));  // on read-only media
  execute("PRAGMA query_only = ON");
}

void Database::open(const std::string& uri) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(uri.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, nullptr);
  database_.reset(database);
  if ((code & 0xff) == SQLITE_CANTOPEN)
    throw description::ScenarioError({{file_, 0, 0, "", why_not_open(file_), ""}});
  if (code != SQLITE_OK) fail(database, file_, code);
  sqlite3_busy_timeout(database, patience_ms);
}

/// Whether SQLite can keep beside the file what a reader of it needs.
bool Database::can_be_read() const {
  const int code = sqlite3_exec(database_.get(), "SELECT count(*) FROM sqlite_master", nullptr,
                                nullptr, nullptr) &
                   0xff;
  return code != SQLITE_CANTOPEN && code != SQLITE_READONLY;
}

void Database::keep_log() const {
  // a commit survives the end of any process; the end of the machine may undo the last ones
  execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
}

void Database::put_log_away(const std::string& file) {
  sqlite3* database = nullptr;
  // where that fails the log stays, which is no loss
  if (sqlite3_open_v2(uri_of(file, "mode=rw").c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, nullptr) == SQLITE_OK)
    sqlite3_exec(database, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
  sqlite3_close(database);
}

void Database::meanwhile(std::function<void()> call) {
  meanwhile_ = std::make_unique<std::function<void()>>(std::move(call));
  sqlite3_progress_handler(
      database_.get(), between_calls,
      [](void* what) {
        (*static_cast<std::function<void()>*>(what))();
        return 0;  // go on
      },
      meanwhile_.get());
}

Statement Database::prepare(std::string_view sql) const {
  return Statement(database_.get(), file_, sql);
}

void Database::execute(const std::string& sql) const {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database_.get(), file_, sqlite3_extended_errcode(database_.get()));
}

}  // namespace spillway::explore
