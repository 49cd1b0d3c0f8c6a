#include "reports/trace/pickle.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace spillway::reports {

namespace {

using nlohmann::json;

/// Items of a list or dict that are added at once, as Python does: readers keep them on a stack.
constexpr std::size_t batch = 1000;

class Pickler {
 public:
  std::string text(const json& value) {
    out_ = "\x80\x02";
    put(value);
    return out_ + ".";
  }

 private:
  void bytes(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
  }

  void put(const std::string& words) {
    out_ += 'X';
    bytes(words.size(), 4);
    out_ += words;
  }

  void put(std::int64_t number) {
    if (number >= std::numeric_limits<std::int32_t>::min() &&
        number <= std::numeric_limits<std::int32_t>::max()) {
      out_ += 'J';
      return bytes(static_cast<std::uint64_t>(number), 4);
    }
    out_ += "\x8a\x08";  // as many bytes, two's complement
    bytes(static_cast<std::uint64_t>(number), 8);
  }

  void put(double number) {
    out_ += 'G';
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }

  /// The items between marks: `(` item item ... `end`.
  template <class Items, class Put>
  void batches(const Items& items, char end, Put put_one) {
    std::size_t at = 0;
    for (const auto& item : items) {
      if (at % batch == 0) out_ += '(';
      put_one(item);
      if (++at % batch == 0 || at == items.size()) out_ += end;
    }
  }

  void put(const json& value) {
    switch (value.type()) {
      case json::value_t::object:
        out_ += '}';
        return batches(value.get_ref<const json::object_t&>(), 'u', [this](const auto& item) {
          put(item.first);
          put(item.second);
        });
      case json::value_t::array:
        out_ += ']';
        return batches(value.get_ref<const json::array_t&>(), 'e',
                       [this](const json& item) { put(item); });
      case json::value_t::string:
        return put(value.get_ref<const std::string&>());
      case json::value_t::boolean:
        out_ += value.get<bool>() ? '\x88' : '\x89';
        return;
      case json::value_t::number_integer:
      case json::value_t::number_unsigned:
        return put(value.get<std::int64_t>());
      case json::value_t::number_float:
        return put(value.get<double>());
      case json::value_t::null:
      case json::value_t::binary:
      case json::value_t::discarded:
        out_ += 'N';
    }
  }

  std::string out_;
};

}  // namespace

std::string pickled(const json& value) { return Pickler().text(value); }

}  // namespace spillway::reports
