#include "reports/answer/remedy.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using result::or_null;
using result::read;

void to_json(nlohmann::json& json, const Remedy& remedy) {
  json = {{"words", remedy.words}, {"set", remedy.overrides}, {"result", remedy.result}};
}

void from_json(const nlohmann::json& json, Remedy& remedy) {
  read(json, "words", remedy.words);
  read(json, "set", remedy.overrides);
  read(json, "result", remedy.result);
}

void to_json(nlohmann::json& json, const Remedies& remedies) {
  json = {{"memory", or_null(remedies.memory)},
          {"change", or_null(remedies.change)},
          {"runnable", or_null(remedies.runnable)},
          {"whole", remedies.whole},
          {"unanswered", remedies.unanswered}};
}

void from_json(const nlohmann::json& json, Remedies& remedies) {
  read(json, "memory", remedies.memory);
  read(json, "change", remedies.change);
  read(json, "runnable", remedies.runnable);
  read(json, "whole", remedies.whole);
  read(json, "unanswered", remedies.unanswered);
}

}  // namespace spillway::answer
