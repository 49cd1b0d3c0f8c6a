#pragma once

#include "explore/expressions/expression.hpp"
#include "scenarios/reading/read_space.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spillway::explore {

/// Of each axis, which of its values.
using Coordinates = std::vector<std::uint32_t>;

/// The points of a space by number, the last axis fastest; none of them is stored. Owns the
/// conditions between axes.
class Points {
 public:
  /// Keeps a reference to `space`.
  ///   Throws  ScenarioError: a condition that is no expression or names no number of the scenario,
  ///           more than 2^62 points
  explicit Points(const scenarios::Space& space);

  /// All of them, those included that a condition leaves out.
  std::uint64_t count() const { return count_; }
  const scenarios::Space& space() const { return space_; }

  Coordinates at(std::uint64_t number) const;
  std::uint64_t number(const Coordinates& at) const;

  /// Whether all conditions hold.
  bool allowed(const Coordinates& at) const;

  /// "path=value" of every axis, in their order.
  std::vector<std::string> overrides(const Coordinates& at) const;
  /// {axis: value}.
  nlohmann::json shown(const Coordinates& at) const;

  /// Where the numbers of a name of the scenario come from: one for each value of an axis, or one
  /// for all.
  struct Source {
    std::size_t axis = no_axis;
    std::vector<double> by_value;
    double constant = 0;
    double of(const Coordinates& at) const {
      return axis == no_axis ? constant : by_value[at[axis]];
    }
    static constexpr std::size_t no_axis = static_cast<std::size_t>(-1);
  };
  /// The machine of the base, with its defaults; nothing when it has none.
  const std::optional<description::MachineFile>& machine() const { return machine_; }
  /// Of `path` ("machine.storage.nvme.count"); nothing where the scenario has no such number.
  std::optional<Source> source_of(const std::string& path) const;

 private:
  struct Compiled {
    Expression expression;
    std::vector<Source> sources;  ///< as the expression's names
  };
  void add_condition(const scenarios::Condition& condition,
                     std::vector<description::Complaint>& complaints);

  const scenarios::Space& space_;
  std::uint64_t count_ = 1;
  nlohmann::json base_;  ///< the scenario with model and machine in it, and what is default
  std::optional<description::MachineFile> machine_;
  std::vector<Compiled> where_;
};

/// Calls visit(coordinates) for each point that fulfils the conditions, coarse first: the ends of
/// all axes, then their middles, then what lies between, each once. Stops when it returns false.
///   fast  axes that vary first, in the inner loop; by axis
void coarse_first(const Points& points, const std::vector<bool>& fast,
                  const std::function<bool(const Coordinates&)>& visit);

/// A number, a quantity in base units, or true and false as 1 and 0; nothing for the rest.
std::optional<double> number_of(const nlohmann::json& value);

}  // namespace spillway::explore
