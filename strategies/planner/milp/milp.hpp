#pragma once

#include <cstdint>
#include <utility>
#include <vector>

/// Mixed-integer linear programs as numbers. Who solves them is a program of its own, started when
/// it is asked: CBC loads 15 libraries, and its licence does not go with those of others.
namespace spillway::milp {

struct Column {
  double lower = 0, upper = 1;
  double cost = 0;
  bool integer = true;
};

/// lower <= sum of coefficient x column <= upper
struct Row {
  std::vector<std::pair<std::int32_t, double>> terms;  ///< each column once
  double lower = 0, upper = 0;
};

/// To be made as cheap as it can be.
struct Program {
  std::vector<Column> columns;
  std::vector<Row> rows;

  std::int32_t add(const Column& column) {
    columns.push_back(column);
    return static_cast<std::int32_t>(columns.size() - 1);
  }
};

struct Limits {
  std::uint64_t nodes = 1'000'000;  ///< of the search tree: where it stops repeats itself
  double gap = 0;                   ///< relative: a solution this close to the bound will do
  double seconds = 0;               ///< 0: none. Where it stops depends on the machine
};

struct Solution {
  bool found = false;   ///< else no solution exists, or none was found within the limits
  bool proven = false;  ///< that there is none, or none better by more than the gap
  double cost = 0;
  double bound = 0;  ///< no solution costs less
  std::vector<double> columns;

  /// Relative, at most 1.
  double gap() const;
};

/// Solves it, the same way each time unless `seconds` stops it.
///   Throws  DeviceError: the solver cannot be started, or was killed; InternalError: it gave up
Solution solve(const Program& program, const Limits& limits);

}  // namespace spillway::milp
