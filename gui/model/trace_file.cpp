#include "gui/model/trace_file.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/reading/lifetimes_file.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// The fields of one event that mean something here.
struct Event {
  std::string phase, name, category, id, named;
  double at_us = 0, length_us = 0;
  double process = 0, thread = 0;
  std::vector<std::pair<std::string, double>> numbers;  ///< of `args`
};

Instant from_us(double microseconds) {
  constexpr double most = 9e15;  // 285 years
  if (!(std::abs(microseconds) < most)) return 0;
  return std::llround(microseconds * 1e3);
}

std::int64_t whole(double number) {
  return std::abs(number) < 1e15 ? static_cast<std::int64_t>(number) : 0;
}

/// Adds events to a trace; remembers bars that are open (B) until they end (E).
class Events {
 public:
  void add(const Event& event) {
    ++count_;
    const std::int64_t process = whole(event.process), thread = whole(event.thread);
    const char kind = event.phase.empty() ? '\0' : event.phase[0];
    if (kind == 'X')
      builder_.slice(process, thread, event.name, event.category, from_us(event.at_us),
                     from_us(event.at_us + event.length_us), bytes_of(event));
    else if (kind == 'C')
      add_counter(event);
    else if (kind == 'M' && event.name == "process_name")
      builder_.process_name(process, event.named);
    else if (kind == 'M' && event.name == "thread_name")
      builder_.thread_name(process, thread, event.named);
    else if (kind == 's' || kind == 'f')
      builder_.flow_end(event.category + "/" + event.id, kind == 's', process, thread,
                        from_us(event.at_us));
    else if (kind == 'B')
      open_[{process, thread}].push_back(event);
    else if (kind == 'E')
      close(process, thread, event);
  }
  std::size_t count() const { return count_; }
  Trace finish() { return builder_.finish(); }

 private:
  static std::uint64_t bytes_of(const Event& event) {
    for (const auto& [key, value] : event.numbers)
      if (key == "bytes" && value >= 0 && value < 1e19) return static_cast<std::uint64_t>(value);
    return 0;
  }
  void add_counter(const Event& event) {
    for (const auto& [key, value] : event.numbers)
      if (value >= 0 && value < 1e19)
        builder_.sample(event.name, key, from_us(event.at_us), static_cast<std::uint64_t>(value));
  }
  void close(std::int64_t process, std::int64_t thread, const Event& end) {
    std::vector<Event>& open = open_[{process, thread}];
    if (open.empty()) return;
    const Event begun = std::move(open.back());
    open.pop_back();
    builder_.slice(process, thread, begun.name, begun.category, from_us(begun.at_us),
                   from_us(end.at_us), bytes_of(begun));
  }

  TraceBuilder builder_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Event>> open_;
  std::size_t count_ = 0;
};

/// Takes the events of a list, which is the whole text or its `traceEvents`, as they are parsed.
class Handler : public nlohmann::json_sax<json> {
 public:
  explicit Handler(Events& events) : events_(events) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    if (depth_ == event_depth_ && in_events_) {
      if (key_ == "ph")
        event_.phase = std::move(value);
      else if (key_ == "name")
        event_.name = std::move(value);
      else if (key_ == "cat")
        event_.category = std::move(value);
      else if (key_ == "id")
        event_.id = std::move(value);
      else if (key_ == "pid")
        event_.process = static_cast<double>(hash(value));
      else if (key_ == "tid")
        event_.thread = static_cast<double>(hash(value));
    } else if (depth_ == event_depth_ + 1 && in_args_ && key_ == "name") {
      event_.named = std::move(value);
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    ++depth_;
    if (in_events_ && depth_ == event_depth_) event_ = Event();
    if (in_events_ && depth_ == event_depth_ + 1) in_args_ = key_ == "args";
    return true;
  }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool end_object() override {
    if (in_events_ && depth_ == event_depth_) events_.add(event_);
    if (in_events_ && depth_ == event_depth_ + 1) in_args_ = false;
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (!in_events_ && (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents"))) {
      in_events_ = true;
      has_events_ = true;
      event_depth_ = depth_ + 1;
    }
    return true;
  }
  bool end_array() override {
    if (in_events_ && depth_ + 1 == event_depth_) in_events_ = false;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    failed_at_ = position;
    return false;
  }

  bool has_events() const { return has_events_; }
  std::size_t failed_at() const { return failed_at_; }

 private:
  /// Some writers name processes and threads by text.
  static std::uint32_t hash(const std::string& text) {
    std::uint32_t sum = 2166136261U;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619U;
    return sum;
  }
  bool number(double value) {
    if (depth_ == event_depth_ && in_events_) {
      if (key_ == "ts")
        event_.at_us = value;
      else if (key_ == "dur")
        event_.length_us = value;
      else if (key_ == "pid")
        event_.process = value;
      else if (key_ == "tid")
        event_.thread = value;
      else if (key_ == "id")
        event_.id = std::to_string(static_cast<std::int64_t>(value));
    } else if (depth_ == event_depth_ + 1 && in_args_) {
      event_.numbers.emplace_back(key_, value);
    }
    return true;
  }

  Events& events_;
  Event event_;
  std::string key_;
  std::size_t depth_ = 0, event_depth_ = 0, failed_at_ = 0;
  bool in_events_ = false, in_args_ = false, has_events_ = false;
};

[[noreturn]] void refuse_trace(const std::string& file, const std::string& message,
                               const std::string& hint) {
  throw description::ScenarioError({{file, 0, 0, "", message, hint}});
}

}  // namespace

Trace read_trace(std::string_view text, const std::string& file) {
  Events events;
  Handler handler(events);
  const bool whole_text = json::sax_parse(text.begin(), text.end(), &handler);
  if (!handler.has_events())
    refuse_trace(file, whole_text ? "has no list of trace events" : "is no JSON",
                 "open a trace that `spillway simulate SCENARIO --trace FILE` wrote");
  // a run that was killed leaves a list without its end: what is there is shown
  if (events.count() == 0) refuse_trace(file, "its list of trace events is empty", "");
  Trace trace = events.finish();
  if (trace.slices == 0 && trace.counters.empty())
    refuse_trace(file, "has trace events, but neither operations nor counters", "");
  return trace;
}

Trace read_trace_file(const std::string& path) {
  return read_trace(scenarios::read_packed(path), path);
}

Trace read_trace(const json& given) {
  Events events;
  Handler handler(events);
  const std::string text = given.dump();
  json::sax_parse(text, &handler);
  return events.finish();
}

}  // namespace spillway::gui
