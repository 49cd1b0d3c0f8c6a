#include "reports/text/text_json.hpp"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

namespace spillway::text {

using nlohmann::json;

namespace {

std::string numbers_name(const std::string& key) { return key + "_numbers"; }

/// In a string of JSON every space is one that a search finds.
std::string said(const Number& number) { return breakable(words(number)); }

json json_of(const Number& number, std::size_t at) {
  return {{"at", at},
          {"words", said(number)},
          {"value", number.value},
          {"quantity", to_string(number.quantity)},
          {"unit", unit_of(number)},
          {"origin", to_string(number.origin)}};
}

/// The numbers of `text`; `whole` gets it as people read it.
json numbers_of(const Text& text, std::string& whole) {
  json numbers = json::array();
  for (const Text::Piece& piece : text.pieces()) {
    if (piece.is_number && std::isfinite(piece.number.value))
      numbers.push_back(json_of(piece.number, whole.size()));
    whole += piece.is_number ? said(piece.number) : breakable(piece.words);
  }
  return numbers;
}

const json* member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

std::string string_of(const json& object, const char* key) {
  const json* found = member(object, key);
  return found && found->is_string() ? found->get<std::string>() : "";
}

/// What words(Number) may be asked about: whole things are counted in 64 bits.
bool can_be_said(const Number& number) {
  const bool whole = number.quantity == Quantity::count || number.quantity == Quantity::memory;
  return std::isfinite(number.value) && (!whole || (number.value >= 0 && number.value < 0x1p63));
}

std::optional<Number> number_of(const json& in) {
  const json* value = member(in, "value");
  const auto quantity = quantity_of(string_of(in, "quantity"));
  if (!value || !value->is_number() || !quantity) return std::nullopt;
  Number number{value->get<double>(), *quantity, origin_of(string_of(in, "origin"))};
  const std::string unit = string_of(in, "unit");
  if (unit_of(number) != unit) number.unit = unit;
  if (!can_be_said(number) || unit_of(number) != unit || said(number) != string_of(in, "words"))
    return std::nullopt;
  return number;
}

/// `whole` with its numbers; nothing where one does not stand in it as `numbers` say.
std::optional<Text> with_numbers(const std::string& whole, const json& numbers) {
  Text text;
  std::size_t done = 0;
  for (const json& one : numbers) {
    const json* where = member(one, "at");
    const auto number = number_of(one);
    if (!number || !where || !where->is_number_unsigned()) return std::nullopt;
    const auto at = where->get<std::size_t>();
    const std::string says = said(*number);
    if (at < done || at > whole.size() || whole.compare(at, says.size(), says) != 0)
      return std::nullopt;
    text += whole.substr(done, at - done);
    text += *number;
    done = at + says.size();
  }
  return text + whole.substr(done);
}

Text text_of(const std::string& whole, const json* numbers) {
  if (!numbers || !numbers->is_array()) return whole;
  return with_numbers(whole, *numbers).value_or(whole);
}

}  // namespace

void put(json& object, const std::string& key, const Text& text) {
  std::string whole;
  json numbers = numbers_of(text, whole);
  object[key] = std::move(whole);
  if (!numbers.empty()) object[numbers_name(key)] = std::move(numbers);
}

void put(json& object, const std::string& key, const std::vector<Text>& texts) {
  json strings = json::array(), lists = json::array();
  bool any = false;
  for (const Text& text : texts) {
    std::string whole;
    lists.push_back(numbers_of(text, whole));
    strings.push_back(std::move(whole));
    any = any || !lists.back().empty();
  }
  object[key] = std::move(strings);
  if (any) object[numbers_name(key)] = std::move(lists);
}

Text take(const json& object, const std::string& key) {
  return text_of(object.at(key).get<std::string>(), member(object, numbers_name(key).c_str()));
}

std::vector<Text> take_all(const json& object, const std::string& key) {
  const auto strings = object.at(key).get<std::vector<std::string>>();
  const json* lists = member(object, numbers_name(key).c_str());
  const bool paired = lists && lists->is_array() && lists->size() == strings.size();
  std::vector<Text> texts;
  for (std::size_t i = 0; i < strings.size(); ++i)
    texts.push_back(text_of(strings[i], paired ? &(*lists)[i] : nullptr));
  return texts;
}

}  // namespace spillway::text
