#pragma once

#include "explore/points/interval.hpp"
#include "explore/points/machine_field.hpp"
#include "explore/points/measure.hpp"
#include "strategies/bounds/mandatory.hpp"

#include <deque>
#include <map>

namespace spillway::explore {

/// What the bounds of a point say.
struct PointBound {
  bool hopeless = false;       ///< it cannot fulfil the constraints
  std::size_t constraint = 0;  ///< of a hopeless one: which, 0 the room that every step needs
  std::vector<double> costs;   ///< by objective: it has at least these; -infinity without a bound
};

/// Bounds of points from what their systems ask of any machine. Points that differ in nothing but
/// rates, sizes and prices of their machine share one count of that demand, or where a pipeline is
/// cut by time one for each cut.
class Bounder {
 public:
  /// Keeps references to both.
  Bounder(const Points& points, const Measures& measures);

  /// By axis: whether a step along it costs a closed form only.
  const std::vector<bool>& fast() const { return fast_; }

  /// The bound of a point; nullptr when it has none: its values contradict each other, or its
  /// system says nothing. Valid until the next call.
  const PointBound* of(const Coordinates& at);

  /// Why the last bounded point is hopeless: what does not fit, or a constraint.
  std::string why_hopeless() const;

  /// The scenario of the last bounded point as bounds see it.
  const description::Scenario* last() const { return group_ ? &group_->scenario : nullptr; }

 private:
  /// Points that differ along fast axes only.
  struct Group {
    description::Scenario scenario;                    ///< its machine is set to one of the points
    std::deque<strategies::Mandatory> counted;         ///< one, or of pipelines one for each cut
    const strategies::Mandatory* mandatory = nullptr;  ///< of these, that of the point; or nothing
    std::map<Coordinates, const strategies::Mandatory*> by_rates;  ///< of these, of pipelines
    Coordinates at;
    double tokens = 0, samples = 0;  ///< of a step
    double longest_s = 0;            ///< a step that the constraints accept takes no longer
    strategies::MandatoryBytes bytes;
  };

  void find_fast_axes();
  std::optional<description::Scenario> scenario_at(const Coordinates& at) const;
  Group* group_of(const Coordinates& at);
  std::unique_ptr<Group> make_group(const Coordinates& at);
  void move(Group& group, const Coordinates& at) const;
  void find_cut(Group& group, const Coordinates& at) const;
  void fill(const Group& group, const Coordinates& at);
  Interval number(const Group& group, const std::string& path) const;
  void measure_steps(const Group& group, Interval step_s);
  void measure_wear(const Group& group);
  double longest_step(const Group& group);

  const Points& points_;
  const Measures& measures_;
  const bool asks_wear_;
  const std::vector<scenarios::SystemInfo> systems_ = known_systems();
  std::vector<bool> fast_;
  std::vector<bool> rates_;  ///< by axis: it sets rates that the GPU's kernels of passes go at
  std::vector<std::vector<std::vector<SetField>>> setters_;  ///< by fast axis and value
  std::map<Coordinates, std::unique_ptr<Group>> groups_;     ///< by the coordinates of slow axes
  Coordinates slow_;
  Group* group_ = nullptr;
  bool known_ = false;  ///< group_ is of slow_
  PointBound bound_;
  Interval step_, tokens_, samples_, price_, feasible_, life_, wear_usd_;
};

}  // namespace spillway::explore
