#pragma once

#include "models/architecture/model.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace spillway::strategies::rules {

/// Whether a person wrote the value at a dotted path ("strategy.weights.pool").
using Written = std::function<bool(const std::string& path)>;

/// What rows are asked about.
struct Case {
  const description::Scenario& scenario;
  const models::Model* model = nullptr;             ///< null where none is known
  const description::Strategy* defaults = nullptr;  ///< of the system; null: nothing is unused
  const Written* written = nullptr;                 ///< null: nobody wrote anything
  std::string item{};                               ///< one of those that Rule::broken_by found

  const description::Strategy& parts() const { return scenario.strategy; }
  const description::Training& training() const { return scenario.training; }
  const description::Parallel& parallel() const { return scenario.parallel; }
  bool says(const std::string& path) const { return written && (*written)(path); }
};

/// A text, or a function that makes it when a row is broken.
class Words {
 public:
  using Make = std::string (*)(const Case&);

  constexpr Words(const char* text = "") : text_(text) {}
  template <class F>
  requires std::is_convertible_v<F, Make>
  constexpr Words(F make) : make_(make) {}

  bool none() const { return !make_ && *text_ == '\0'; }
  std::string operator()(const Case& subject) const { return make_ ? make_(subject) : text_; }

 private:
  const char* text_ = "";
  Make make_ = nullptr;
};

/// Why a scenario that breaks a row cannot be run.
///   contradiction  the parts cannot work together, whatever the system
///   no_schedule    no schedule of this version trains so
///   no_stream      `run.io_bench` has nothing to do
enum class Ground : unsigned char { contradiction, no_schedule, no_stream };

/// What a broken row changes in place of a refusal.
struct Settling {
  void (*set)(description::Scenario&) = nullptr;  ///< null: nothing is changed
  Words reason{};
  bool over_written = false;  ///< also what a person wrote, not defaults and presets alone
  /// Where the value follows from others, so that the reason stands also where defaults say the
  /// same; null: where the row is broken.
  bool (*follows)(const Case&) = nullptr;
};

/// One fact about scenarios. It is broken where `holds` is false, or once for each of `broken_by`.
/// A broken row settles where it may, and refuses where it has a `why` and is broken still.
struct Rule {
  const char* path;  ///< what has to change; "{}" in it is the item
  /// The path that excludes it, else null; "{}" in it is the item. The message then names both
  /// values, and the complaint stands at `path` unless a person wrote the other one alone.
  const char* other = nullptr;
  Ground ground = Ground::no_schedule;
  bool (*holds)(const Case&) = nullptr;
  std::vector<std::string> (*broken_by)(const Case&) = nullptr;
  Words why{};   ///< none: nothing is refused
  Words hint{};  ///< the nearest fix
  Settling settles{};
  Words warning{};  ///< where it settles, or is broken and refuses nothing; a text of "": none
};

/// "weights.pool \"pages\"": a knob of the strategy as people name it, with its value as they write
/// it.
///   path  with or without "strategy."; or of the training or of its ranks
std::string part_with_value(const description::Scenario& scenario, std::string path);

/// The rows of one part.
using Table = std::span<const Rule>;

/// Values that follow from others, by dotted path, with the reason of the row that set each.
struct Settled {
  std::map<std::string, std::string> reasons;
  std::vector<std::string> warnings;  ///< legal, but hardly meant
};

/// Whether a row is broken: its items, one "" for a row without; none where it holds.
std::vector<std::string> broken(const Rule& rule, const Case& subject);

/// Which rows refuse.
///   contradictions   those of Ground::contradiction
///   what_cannot_run  all of them
///   no_schedule      all others than contradictions
enum class Refuse : unsigned char { contradictions, what_cannot_run, no_schedule };

/// The complaints of broken rows in their order; file and line are the caller's to add.
std::vector<description::Complaint> refusals(std::span<const Table> tables, Case subject,
                                             Refuse refuse);

struct Verdict {
  Settled settled;
  std::vector<description::Complaint> complaints;
};

/// Asks all rows in their order: first those that settle, so that a row's value may follow from
/// those of rows before it and nothing is refused that settles; then warnings and refusals.
///   subject  of `scenario`, which is changed
Verdict check(std::span<const Table> tables, description::Scenario& scenario, const Case& subject,
              Refuse refuse);

}  // namespace spillway::strategies::rules
