#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// A model or a machine that a scenario names, or holds itself.
struct Referenced {
  LocatedJson json;
  std::string name;  ///< library name or file stem; "" when inline
  std::string file;  ///< where it was read; "" when inline
  /// What names it from the working directory: a shipped name or a path; "" when inline.
  std::string shown_by;
  bool present = false;
  bool inline_object() const { return present && file.empty(); }
};

/// What a person wrote, put together: `extends` followed, `--set` applied, model and machine read.
struct Document {
  LocatedJson scenario;  ///< without `extends`
  Referenced model;
  Referenced machine;
  std::vector<description::Complaint> complaints;
};

/// Puts a scenario together. Relative paths are relative to the file in which they stand, or to the
/// working directory for `overrides` and for a scenario that has no file.
///   overrides  "training.micro_batch=8": a dotted path, list items by index or by `name`; the
///              value is JSON or, when it is none, text
Document assemble(LocatedJson scenario, const std::vector<std::string>& overrides);

/// The scenario of a document so that it stands alone: with the contents of the files that it
/// names; names of what ships stay names.
///   Throws  ScenarioError with the document's complaints
nlohmann::json standing_alone(const Document& document);

/// Reads what `text` names: a shipped name of `folder`, a path, or a directory with a config.json.
/// In the place of a machine a whole scenario may be named: its machine.
/// Complaints about an unknown name go to `complaints` with `place` and `path`.
Referenced read_reference(const std::string& text, const std::string& folder, const Place& place,
                          const std::string& path, std::vector<description::Complaint>& complaints);

/// `top` over `base`: objects key by key; lists, scalars and `optimizer.paths` of a strategy whole.
///   strategy  pointer of the strategy object inside both ("/strategy", or "" for a strategy alone)
void merge_over(LocatedJson& base, const LocatedJson& top, const std::string& strategy);

/// The part of `document` at `pointer` as a document of its own.
LocatedJson part_of(const LocatedJson& document, const std::string& pointer);

}  // namespace spillway::scenarios
