#include "hw_backend/arithmetic/matrix_steps.hpp"
#include "tests/hw_backend/cuda/session.hpp"

#include <cmath>
#include <limits>

namespace spillway::hw_backend {

namespace {

/// Infinities, NaNs, zeros and numbers too small to be normal, among others.
void salt(Operand& operand) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float odd[] = {infinity, -infinity, std::nanf(""), 0.0f, -0.0f, 1e-40f, 6e-8f, 65504.0f};
  for (std::uint64_t i = 0; i < operand.elements(); i += 37)
    store(operand.array(Side::host), i, odd[i / 37 % std::size(odd)]);
  operand.upload();
}

void non_negative(Operand& operand) {
  for (std::uint64_t i = 0; i < operand.elements(); ++i)
    store(operand.array(Side::host), i, std::abs(load(operand.array(Side::host), i)));
  operand.upload();
}

void check_adam(Device& device, Report& report, Element states, Element gradient, bool weight) {
  Session session(device, report);
  constexpr std::uint64_t n = 20011;
  Operand master(device, n, states, 1), momentum(device, n, states, 2, 0.01f);
  Operand variance(device, n, states, 3, 1e-4f), slope(device, n, gradient, 4, 0.1f);
  Operand small(device, n, gradient, 5);
  non_negative(variance);
  salt(slope);
  AdamNumbers numbers;
  numbers.weight_decay = 0.01;
  numbers.inverse_scale = 1.0 / 1024;
  for (std::uint64_t step = 1; step <= 3; ++step)
    session.both([&](Primitives& p, Side side) {
      AdamArrays arrays{
          master.array(side), momentum.array(side), variance.array(side), slope.array(side), {}, n};
      if (weight) arrays.weight = small.array(side);
      p.adam(arrays, at_step(numbers, step));
    });
  const std::string name = "Adam of " + std::string(to_string(gradient)) + " gradients, ";
  session.equal(name + "master", master);
  session.equal(name + "momentum", momentum);
  session.equal(name + "variance", variance);
  session.equal(name + "weight", small);
}

void adam(Device& device, Report& report) {
  for (const Element states : all_types)
    for (const Element gradient : all_types) check_adam(device, report, states, gradient, true);
  check_adam(device, report, Element::fp32, Element::fp32, false);
}

// Blocks of packed numbers that are not all full, and gradients that are no numbers.
void adam_in_8_bits(Device& device, Report& report) {
  for (const Element gradient : all_types) {
    Session session(device, report);
    constexpr std::uint64_t n = 20011, halves = (PackedState::bytes(n) + 1) / 2;
    Operand master(device, n, Element::fp32, 1), slope(device, n, gradient, 4, 0.1f);
    Operand momentum(device, halves, Element::fp16, 2), variance(device, halves, Element::fp16, 3);
    Operand small(device, n, gradient, 5);
    salt(slope);
    session.both([&](Primitives& p, Side side) {
      p.zero(momentum.data(side), momentum.bytes());
      p.zero(variance.data(side), variance.bytes());
      for (std::uint64_t step = 1; step <= 3; ++step)
        p.adam_in_8_bits({master.array(side),
                          {momentum.data(side), n, true},
                          {variance.data(side), n, false},
                          slope.array(side),
                          small.array(side),
                          n},
                         at_step({}, step));
    });
    const std::string name = "Adam in 8 bits of " + std::string(to_string(gradient)) + ", ";
    session.equal(name + "master", master);
    session.equal(name + "momentum", momentum);
    session.equal(name + "variance", variance);
    session.equal(name + "weight", small);
  }
}

/// A matrix with factors, and a row with an average for each element.
void adafactor(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t rows = 61, columns = 331;
  for (const bool factored : {true, false}) {
    Operand master(device, rows * columns, Element::fp32, 1);
    Operand slope(device, rows * columns, Element::bf16, 2, 0.1f);
    Operand small(device, rows * columns, Element::bf16, 3);
    Operand row_means(device, rows, Element::fp32, 4),
        column_means(device, columns, Element::fp32, 5);
    Operand squares(device, rows * columns, Element::fp32, 6);
    for (Operand* averages : {&row_means, &column_means, &squares}) non_negative(*averages);
    session.both([&](Primitives& p, Side side) {
      AdafactorArrays arrays{master.array(side), slope.array(side), small.array(side), rows,
                             columns};
      if (factored) {
        arrays.row_means = row_means.as<float>(side);
        arrays.column_means = column_means.as<float>(side);
      } else {
        arrays.rows = 1;
        arrays.columns = rows * columns;
        arrays.squares = squares.as<float>(side);
      }
      p.adafactor(arrays, adafactor_scalars(0.01, 0.1, 0.5, 3));
    });
    session.near("Adafactor's means of rows", row_means, 1e-5);
    session.near("Adafactor's means of columns", column_means, 1e-5);
    session.near("Adafactor's averages", squares, 1e-5);
    session.near("Adafactor's masters", master, 1e-5);
  }
}

// Both ways round: of more columns than rows, and of fewer.
void muon(Device& device, Report& report) {
  Session session(device, report);
  for (const auto& [rows, columns] : {std::pair{48u, 160u}, std::pair{160u, 48u}}) {
    const std::uint64_t n = 2u * rows * columns;
    Operand master(device, n, Element::fp32, 1), momentum(device, n, Element::fp32, 2);
    Operand slope(device, n, Element::bf16, 3), small(device, n, Element::bf16, 4);
    Operand workspace(device, 2u * (2u * rows * columns + 2u * 48u * 48u), Element::bf16, 5);
    session.both([&, rows = rows, columns = columns](Primitives& p, Side side) {
      MuonArrays arrays{master.array(side), momentum.array(side), slope.array(side),
                        small.array(side)};
      arrays.rows = rows;
      arrays.columns = columns;
      arrays.count = 2;
      arrays.workspace = workspace.data(side);
      muon_step(p, arrays, {.learning_rate = 0.1});
    });
    session.near("Muon's momentum", momentum, 1e-5);
    session.near("Muon's masters", master, 5e-3);
  }
}

void adam_by_parts(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t n = 20011;
  for (const Element gradient : all_types) {
    Operand master(device, n, Element::fp32, 1), momentum(device, n, Element::fp32, 2, 0.01f);
    Operand variance(device, n, Element::fp32, 3, 1e-4f), slope(device, n, gradient, 4, 0.1f);
    Operand denominator(device, n, Element::fp32, 5), small(device, n, gradient, 6);
    non_negative(variance);
    salt(slope);
    AdamNumbers numbers;
    numbers.weight_decay = 0.01;
    numbers.inverse_scale = 1.0 / 1024;
    for (const AdamPart part :
         {AdamPart::momentum, AdamPart::decay, AdamPart::variance, AdamPart::root,
          AdamPart::correct, AdamPart::shift, AdamPart::apply})
      session.both([&](Primitives& p, Side side) {
        AdamPartArrays arrays{master.array(side),
                              momentum.array(side),
                              variance.array(side),
                              denominator.array(side),
                              slope.array(side),
                              {},
                              n};
        if (part == AdamPart::apply) arrays.weight = small.array(side);
        p.adam_part(part, arrays, at_step(numbers, 2));
      });
    const std::string name = "Adam's lines of " + std::string(to_string(gradient)) + " gradients, ";
    session.equal(name + "master", master);
    session.equal(name + "momentum", momentum);
    session.equal(name + "variance", variance);
    session.equal(name + "denominator", denominator);
    session.equal(name + "weight", small);
  }
}

void sgd(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t n = 20011;
  for (const Element gradient : all_types) {
    Operand master(device, n, Element::fp32, 1), slope(device, n, gradient, 2);
    salt(slope);
    const SgdNumbers numbers{1e-2, 0.1, 1.0 / 8};
    session.both([&](Primitives& p, Side side) {
      // the new weight takes the gradient's place
      p.sgd({master.array(side), slope.array(side), slope.array(side), n}, numbers);
    });
    session.equal("master", master);
    session.equal("weight", slope);
  }
}

void with_momentum(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t n = 20011;
  for (const MomentumRule rule : {MomentumRule::sgd, MomentumRule::lion})
    for (const Element gradient : all_types)
      for (const Element kept : {Element::fp32, Element::bf16}) {
        Operand master(device, n, Element::fp32, 1), momentum(device, n, kept, 3);
        Operand slope(device, n, gradient, 2);
        salt(slope);
        const MomentumNumbers numbers{rule, 1e-2, 0.99, 0.9, 0.1, 1.0 / 8};
        session.both([&](Primitives& p, Side side) {
          p.momentum_step(
              {master.array(side), momentum.array(side), slope.array(side), slope.array(side), n},
              numbers);
        });
        session.equal("master", master);
        session.equal("momentum", momentum);
        session.equal("weight", slope);
      }
}

/// One infinity or NaN anywhere is found; the largest finite numbers are none.
void overflows(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t n = 5003;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const Element type : all_types)
    for (const float odd : {65504.0f, infinity, -infinity, std::nanf("")})
      for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{2049}, n - 1}) {
        Operand values(device, n, type, 1), found(device, 3, Element::fp32, 2);
        store(values.array(Side::host), at, odd);
        values.upload();
        session.both([&](Primitives& p, Side side) {
          p.check(n, values.in(side), found.as<float>(side) + 1);
          p.set(-2.5f, found.as<float>(side) + 2);
        });
        session.equal("flags", found);
      }
}

/// Of one tensor, of several together, and their root: also where a square is infinite.
void squares(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t sums = 3;
  for (const Element type : all_types)
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{5003}, std::uint64_t{2100011}})
      for (const bool infinite : {false, true}) {
        if (infinite && n > 10000) continue;
        Operand values(device, n, type, 1), found(device, 16 * (sums + 2), Element::fp32, 2);
        if (infinite)
          store(values.array(Side::host), n - 1, std::numeric_limits<float>::infinity());
        values.upload();
        session.both([&](Primitives& p, Side side) {
          float* const all = found.as<float>(side);
          for (std::uint64_t i = 0; i < sums; ++i)
            p.sum_squares(n - i * n / sums, values.in(side), all + 16 * i);
          p.add_squares(sums, all, all + 16 * sums);
          p.root_of_squares(all + 16 * sums, all + 16 * sums + 16);
        });
        session.equal("sums of squares", found);
      }
}

}  // namespace

std::span<const Check> state_checks() {
  static constexpr Check checks[] = {
      {"OverflowsAreFound", overflows},
      {"SumsOfSquaresHaveTheBitsOfTheProcessors", squares},
      {"AdamHasTheBitsOfTheProcessors", adam},
      {"AdamIn8BitsHasTheBitsOfTheProcessors", adam_in_8_bits},
      {"AdafactorIsTheProcessors", adafactor},
      {"MuonIsTheProcessors", muon},
      {"AdamsLinesHaveTheBitsOfTheProcessors", adam_by_parts},
      {"GradientDescentHasTheBitsOfTheProcessors", sgd},
      {"StepsWithMomentumHaveTheBitsOfTheProcessors", with_momentum},
  };
  return checks;
}

}  // namespace spillway::hw_backend
