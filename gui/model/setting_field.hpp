#pragma once

#include "gui/model/answer.hpp"
#include "gui/model/question.hpp"

#include <string>
#include <vector>

namespace spillway::gui {

/// A setting of the question that has no field of its own: a part of the system, or what else is
/// said of the training and of how it is split.
struct SettingField {
  std::string path;                  ///< "strategy.weights.pool"
  std::string group;                 ///< "weights", "training", "parallel"
  std::string name;                  ///< "pool"
  std::string value;                 ///< of the question, else of the answer
  std::string source;                ///< who decided it: "default of lohan"
  std::string words;                 ///< what it means
  std::string values;                ///< what it may be
  std::vector<std::string> choices;  ///< the words that it may be
  bool only_choices = false;         ///< nothing else may be said
  bool said = false;                 ///< the question says it itself
};

enum class SettingKind : unsigned char { training, parts };

/// Those of one kind, in the order of their paths, as far as the answer has told their values. Of a
/// search, which chooses parts and splits itself, only the training's.
std::vector<SettingField> setting_fields(const Question& question,
                                         const std::vector<Setting>& settings, SettingKind kind);

/// What the question says beside its fields that a search takes too: "training.loss=fused".
std::vector<std::string> said_beside_fields(const Question& question);

/// The question without what it says itself of that setting: its default holds again.
Question without_setting(const Question& question, const std::string& path);

}  // namespace spillway::gui
