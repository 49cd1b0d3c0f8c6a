#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace spillway::explore {

/// What is said of a file whose contents are not what was written: why, and what to do.
std::string damaged(const std::string& file, const std::string& why);

/// Owns a prepared statement; parameters are numbered from 1, columns from 0.
class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* database, const std::string& file, std::string_view sql);

  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, std::int64_t number);
  Statement& bind(int parameter, double number);
  Statement& bind_null(int parameter);

  /// True: there is a row to read.  Throws  DeviceError
  bool step();
  /// Runs it to its end and makes it ready for the next parameters.
  void run();
  void reset();

  /// "" for NULL; UTF-8 whatever the file holds.
  std::string text(int column) const;
  std::int64_t integer(int column) const;
  std::optional<double> number(int column) const;
  const std::string& file() const { return file_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  sqlite3* database_ = nullptr;
  std::string file_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// The file as SQLite's URI, with a query such as "mode=ro".
std::string uri_of(const std::string& file, const std::string& query);

/// Owns a connection to a database file. It does not survive a fork.
class Database {
 public:
  enum class Access : unsigned char { read, write };

  /// Opens `file`, and changes nothing of it; for writing it is made where it is not there. One
  /// that is only read may be filled by another process meanwhile.
  ///   Throws  ScenarioError: it is no database, or not there and only to be read; DeviceError: the
  ///           system refuses
  Database(const std::string& file, Access access);

  /// Puts a file that is ours to write into WAL mode, where others read what is committed while it
  /// is written.
  void keep_log() const;

  /// Whether a writer's log lay beside it, which this connection cannot put away.
  bool beside_log() const { return beside_log_; }
  /// Puts the log of `file` into it, unless somebody else has it open: what the last writer does.
  static void put_log_away(const std::string& file);

  Statement prepare(std::string_view sql) const;
  /// Runs statements without results.
  void execute(const std::string& sql) const;
  const std::string& file() const { return file_; }

  /// From now on long statements call this every few milliseconds.
  void meanwhile(std::function<void()> call);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  void open(const std::string& uri);
  bool can_be_read() const;

  std::string file_;
  bool beside_log_ = false;
  std::unique_ptr<std::function<void()>> meanwhile_;  ///< stays where it is when this moves
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace spillway::explore
