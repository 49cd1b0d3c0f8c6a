#include "reports/view/chart_data.hpp"

#include "scenarios/description/text.hpp"

#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

namespace spillway::view {

namespace {

using nlohmann::json;

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// -1 for none.
std::int64_t index_of(std::uint32_t slice) {
  return slice == Slice::none ? -1 : static_cast<std::int64_t>(slice);
}

/// `"name":[1,2,3]`
template <class Items, class Value>
std::string column(const char* name, const Items& items, Value value) {
  std::string out = fmt::format("\"{}\":[", name);
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    fmt::format_to(std::back_inserter(out), "{}", value(item));
  }
  return out + "]";
}

}  // namespace

std::string chart_data(const Lanes& lanes) {
  json head = {{"kind", "lanes"},
               {"title", lanes.title},
               {"axis", lanes.axis},
               {"first", nanoseconds(lanes.first_s)},
               {"last", nanoseconds(lanes.last_s)},
               {"names", lanes.names},
               {"lanes", json::array()}};
  for (const Lane& lane : lanes.lanes)
    head["lanes"].push_back({{"title", lane.title}, {"group", lane.group}});
  std::string out = head.dump(-1, ' ', false, json::error_handler_t::replace);
  out.pop_back();
  const auto& all = lanes.slices;
  out += "," + column("start", all, [](const Slice& s) { return nanoseconds(s.start_s); });
  out += "," + column("length", all,
                      [](const Slice& s) { return nanoseconds(s.end_s) - nanoseconds(s.start_s); });
  out += "," + column("waited", all, [](const Slice& s) {
           return std::max<std::int64_t>(0, nanoseconds(s.start_s) - nanoseconds(s.asked_s));
         });
  out += "," + column("lane", all, [](const Slice& s) { return s.lane; });
  out += "," + column("name", all, [](const Slice& s) { return s.name; });
  out += "," + column("phase", all, [](const Slice& s) { return s.phase; });
  out += "," + column("bytes", all, [](const Slice& s) { return s.bytes; });
  out += "," + column("after", all, [](const Slice& s) { return index_of(s.after); });
  out += "," + column("from", all, [](const Slice& s) { return index_of(s.from); });
  return out + "}";
}

std::string chart_data(const Series& series) {
  json head = {{"kind", "series"},
               {"title", series.title},
               {"axis", series.axis},
               {"stacked", series.stacked},
               {"quantity", to_string(series.quantity)},
               {"limit", nullptr},
               {"limit_label", series.limit_label}};
  if (series.limit) head["limit"] = series.limit->value;
  std::string out = head.dump(-1, ' ', false, json::error_handler_t::replace);
  out.pop_back();
  out += ",\"curves\":[";
  bool first = true;
  for (const Curve& curve : series.curves) {
    out += first ? "{" : ",{";
    first = false;
    out += "\"label\":" + description::json_text(curve.label) + ",";
    out += column("at", curve.samples, [](const Sample& s) { return nanoseconds(s.at); }) + ",";
    out += column("value", curve.samples,
                  [](const Sample& s) {
                    return exact({s.value, Quantity::number});
                  }) +
           "}";
  }
  return out + "]}";
}

}  // namespace spillway::view
