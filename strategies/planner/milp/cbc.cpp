#include "strategies/planner/milp/messages.hpp"

#include <coin/Cbc_C_Interface.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <string>

/// The solver's program: CBC by its C interface, in one thread.
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

/// Result  false: the solver gave up
bool solve(const Program& program, const Limits& limits, Solution& solution) {
  const Model model(Cbc_newModel());
  Cbc_setLogLevel(model.get(), 0);
  load(model.get(), program);
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

Message everything_on(std::FILE* file) {
  Message message;
  for (std::size_t got = 1 << 16; got > 0;) {
    const std::size_t before = message.size();
    message.resize(before + (1 << 16));
    got = std::fread(message.data() + before, 1, 1 << 16, file);
    message.resize(before + got);
  }
  return message;
}

/// Ctrl-C is for the process that asks, and when that one is gone nobody waits for the answer.
void live_and_die_with(const char* asker) {
  std::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(::getppid()) != asker) std::_Exit(EXIT_FAILURE);
}

int answer() {
  const auto [program, limits] = question_in(everything_on(stdin));
  // CBC says on standard output what a log level of 0 does not keep back
  const int out = ::dup(STDOUT_FILENO);
  if (out < 0 || !std::freopen("/dev/null", "w", stdout)) return EXIT_FAILURE;
  Solution solution;
  if (!solve(program, limits, solution)) return EXIT_FAILURE;
  const Message message = message_of(solution);
  std::FILE* const file = ::fdopen(out, "w");
  if (!file || std::fwrite(message.data(), 1, message.size(), file) != message.size() ||
      std::fclose(file) != 0)
    return EXIT_FAILURE;
  return EXIT_SUCCESS;
}

}  // namespace

}  // namespace spillway::milp

/// spillway_milp ASKER < question > answer, where ASKER is the number of the process that asks.
int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("this is a part of spillway, which starts it when it needs it\n", stderr);
    return EXIT_FAILURE;
  }
  spillway::milp::live_and_die_with(argv[1]);
  try {
    std::_Exit(spillway::milp::answer());  // what CBC holds goes with the process
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spillway_milp: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
