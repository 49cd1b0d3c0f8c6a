#include "strategies/planner/milp/milp.hpp"

#include <coin/Cbc_C_Interface.h>
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

/// The plugin: CBC by its C interface, in one thread.
namespace spillway::milp {

namespace {

struct Delete {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, Delete>;

/// CBC's infinity is the largest number.
std::vector<double> finite(std::vector<double> values) {
  constexpr double most = std::numeric_limits<double>::max();
  for (double& value : values) value = std::clamp(value, -most, most);
  return values;
}

/// The matrix by columns, as CBC takes it.
struct Matrix {
  std::vector<CoinBigIndex> starts;
  std::vector<int> rows;
  std::vector<double> values;

  explicit Matrix(const Program& program) : starts(program.columns.size() + 1, 0) {
    for (const Row& row : program.rows)
      for (const auto& [column, value] : row.terms) ++starts[static_cast<std::size_t>(column) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    rows.resize(static_cast<std::size_t>(starts.back()));
    values.resize(rows.size());
    std::vector<CoinBigIndex> next(starts.begin(), starts.end() - 1);
    for (std::size_t row = 0; row < program.rows.size(); ++row)
      for (const auto& [column, value] : program.rows[row].terms) {
        const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(column)]++);
        rows[place] = static_cast<int>(row);
        values[place] = value;
      }
  }
};

template <class Item>
std::vector<double> values_of(const std::vector<Item>& items, double Item::*member) {
  std::vector<double> values;
  for (const Item& item : items) values.push_back(item.*member);
  return values;
}

void load(Cbc_Model* model, const Program& program) {
  const Matrix matrix(program);
  const auto lower = values_of(program.columns, &Column::lower);
  const auto upper = finite(values_of(program.columns, &Column::upper));
  const auto cost = values_of(program.columns, &Column::cost);
  const auto row_lower = finite(values_of(program.rows, &Row::lower));
  const auto row_upper = finite(values_of(program.rows, &Row::upper));
  Cbc_loadProblem(model, static_cast<int>(program.columns.size()),
                  static_cast<int>(program.rows.size()), matrix.starts.data(), matrix.rows.data(),
                  matrix.values.data(), lower.data(), upper.data(), cost.data(), row_lower.data(),
                  row_upper.data());
  for (std::size_t column = 0; column < program.columns.size(); ++column)
    if (program.columns[column].integer) Cbc_setInteger(model, static_cast<int>(column));
  Cbc_setObjSense(model, 1);
}

}  // namespace

}  // namespace spillway::milp

bool spillway_milp_solve(const spillway::milp::Program& program,
                         const spillway::milp::Limits& limits, spillway::milp::Solution& solution) {
  const spillway::milp::Model model(Cbc_newModel());
  Cbc_setLogLevel(model.get(), 0);
  spillway::milp::load(model.get(), program);
  Cbc_setAllowableFractionGap(model.get(), limits.gap);
  Cbc_setMaximumNodes(model.get(),
                      static_cast<int>(std::min<std::uint64_t>(limits.nodes, 1u << 30)));
  if (limits.seconds > 0) Cbc_setMaximumSeconds(model.get(), limits.seconds);
  Cbc_solve(model.get());
  if (Cbc_isAbandoned(model.get())) return false;
  solution.proven = Cbc_isProvenOptimal(model.get()) || Cbc_isProvenInfeasible(model.get());
  const double* const best = Cbc_bestSolution(model.get());
  if (!best) return true;
  solution.found = true;
  solution.columns.assign(best, best + program.columns.size());
  solution.cost = Cbc_getObjValue(model.get());
  solution.bound = std::min(solution.cost, Cbc_getBestPossibleObjValue(model.get()));
  return true;
}
