#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::explore {

/// When who asked is told a part of the answer.
enum class Told : unsigned char { now, at_the_end, now_and_at_the_end };

/// Writes what one request of a worker is answered into a pipe, whole lines: progress with a
/// part as soon as it is known, and at last the answer.
class Reply {
 public:
  /// Counts seconds from here.
  ///   id  of the request; null: its lines have none
  Reply(const nlohmann::json& id, int pipe);

  /// A part of the answer. Without an id nothing can be told before the end.
  ///   text  JSON; what was known by that name before is replaced
  void part(const std::string& name, std::string text, Told told);

  /// The last line: the parts, "seconds", and what `end` has: {"errors"}, {"failure"} or nothing.
  ///   Result  false when nobody reads any more
  bool end(const nlohmann::json& end = nlohmann::json::object());

 private:
  double seconds() const;

  std::string head_;  ///< "{" or "{"id":...,"
  int pipe_;
  std::vector<std::pair<std::string, std::string>> parts_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// {"id": ..., "progress": {"seconds": ...}} and a line end.
std::string progress_line(const nlohmann::json& id, double seconds);
bool is_progress(const nlohmann::json& id, std::string_view line);
/// {"id": ..., "seconds": ..., what `end` has} and a line end.
std::string end_line(const nlohmann::json& id, double seconds, const nlohmann::json& end);

}  // namespace spillway::explore
