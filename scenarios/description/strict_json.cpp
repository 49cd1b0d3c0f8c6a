#include "scenarios/description/strict_json.hpp"

#include "scenarios/description/text.hpp"

#include <vector>

namespace spillway::description {

using nlohmann::json;

namespace {

/// Builds the value from the parser's events, as far as nothing is wrong.
class Builder : public nlohmann::json_sax<json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    json& object = *open_.back();
    if (object.contains(name))
      return refuse("the key \"" + printable(shortened(name)) + "\" stands twice in an object");
    slot_ = &object[name];
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const json::exception&) override {
    return refuse("no JSON at byte " + std::to_string(byte));
  }

  StrictJson finish() {
    if (!parsed_.problem.empty()) parsed_.value = nullptr;
    return std::move(parsed_);
  }

 private:
  bool refuse(std::string problem) {
    parsed_.problem = std::move(problem);
    return false;
  }

  json* put(json value) {
    if (open_.empty()) return &(parsed_.value = std::move(value));
    if (!open_.back()->is_array()) return &(*slot_ = std::move(value));
    open_.back()->push_back(std::move(value));
    return &open_.back()->back();
  }
  bool add(json value) {
    put(std::move(value));
    return true;
  }
  bool open(json value) {
    if (open_.size() == deepest_json)
      return refuse("nested deeper than " + std::to_string(deepest_json) + " levels");
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  StrictJson parsed_;
  std::vector<json*> open_;  ///< lists and objects around what comes next
  json* slot_ = nullptr;     ///< of the key that was read last
};

}  // namespace

StrictJson parse_strictly(std::string_view text) {
  Builder builder;
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.finish();
}

}  // namespace spillway::description
