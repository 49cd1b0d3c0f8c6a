#include "hw_backend/cpu/optimizer_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/hw_backend/cpu/arrays.hpp"

namespace spillway::hw_backend {

namespace {

float canonical(float value) { return value == value ? value : std::bit_cast<float>(0x7FC00000u); }

/// The header's five lines, written out.
void adam_reference(const AdamArrays& a, const AdamScalars& s) {
  for (std::size_t i = 0; i < a.n; ++i) {
    const float g = load(a.gradient, i) * s.inverse_scale;
    const float m = (s.beta1 * load(a.momentum, i)) + (s.rest1 * g);
    const float square = g * g;
    const float v = (s.beta2 * load(a.variance, i)) + (s.rest2 * square);
    const float d = (std::sqrt(v) * s.inverse_root_correction2) + s.epsilon;
    const float w = canonical((s.keep * load(a.master, i)) - (s.step * (m / d)));
    store(a.momentum, i, canonical(m));
    store(a.variance, i, canonical(v));
    store(a.master, i, w);
    if (a.weight) store(*a.weight, i, w);
  }
}

AdamNumbers some_numbers() {
  AdamNumbers numbers;
  numbers.learning_rate = 3e-4;
  numbers.weight_decay = 0.01;
  numbers.inverse_scale = 1.0 / 1024;
  return at_step(numbers, 3);
}

struct Types {
  Element master, momentum, variance, gradient;
  std::optional<Element> weight;
};

/// The arrays of one step, filled with numbers of a training run or with bits of any kind.
struct AdamCase {
  AdamCase(const Types& types, std::size_t n, std::size_t shift, bool any_bits)
      : master(types.master, n, shift),
        momentum(types.momentum, n, shift * 3 % 32),
        variance(types.variance, n, shift * 5 % 32),
        gradient(types.gradient, n, shift * 7 % 32),
        weight(types.weight.value_or(Element::fp32), n, shift * 11 % 32),
        has_weight(types.weight.has_value()) {
    fill_normal(master, 0.02f, 1);
    fill_normal(momentum, 1e-3f, 2);
    fill_normal(gradient, 1.0f, 3);
    for (std::size_t i = 0; i < n; ++i) {
      const float m = load(momentum.array(), i);
      store(variance.array(), i, m * m);
    }
    if (!any_bits) return;
    fill_any(master, 4);
    fill_any(momentum, 5);
    fill_any(variance, 6);
    fill_any(gradient, 7);
  }

  AdamArrays arrays() {
    AdamArrays result{master.array(),   momentum.array(), variance.array(),
                      gradient.array(), std::nullopt,     master.size()};
    if (has_weight) result.weight = weight.array();
    return result;
  }
  bool guards_whole() const {
    return master.guards_whole() && momentum.guards_whole() && variance.guards_whole() &&
           gradient.guards_whole() && weight.guards_whole();
  }
  friend bool operator==(const AdamCase& a, const AdamCase& b) {
    return a.master == b.master && a.momentum == b.momentum && a.variance == b.variance &&
           a.weight == b.weight;
  }

  TestArray master, momentum, variance, gradient, weight;
  bool has_weight;
};

std::vector<Types> all_types() {
  std::vector<Types> result;
  const auto fp32 = Element::fp32, fp16 = Element::fp16, bf16 = Element::bf16;
  for (const Element state : {fp32, bf16}) {
    for (const Element gradient : all_elements) {
      for (const auto& weight : {std::optional<Element>(), std::optional(fp32), std::optional(fp16),
                                 std::optional(bf16)}) {
        result.push_back({state, state, state, gradient, weight});
      }
    }
  }
  result.push_back({bf16, fp32, fp32, bf16, std::nullopt});
  result.push_back({fp32, bf16, bf16, fp16, fp16});
  result.push_back({fp16, fp32, bf16, fp16, fp16});
  return result;
}

class Step : public testing::TestWithParam<Isa> {};

TEST_P(Step, AdamGivesTheWrittenOrdersBitsForAllTypes) {
  Team team(2, GetParam());
  for (const Types& types : all_types()) {
    for (const std::size_t n : {1, 31, 32, 33, 513, 2000}) {
      for (const bool any_bits : {false, true}) {
        AdamCase own(types, n, n % 7, any_bits), expected(types, n, 0, any_bits);
        adam(own.arrays(), some_numbers(), team);
        adam_reference(expected.arrays(), scalars(some_numbers()));
        ASSERT_TRUE(own == expected)
            << to_string(types.master) << ", gradient " << to_string(types.gradient) << ", " << n;
        ASSERT_TRUE(own.guards_whole());
      }
    }
  }
}

TEST_P(Step, AdamLineByLineHasTheBitsOfAllOfThem) {
  Team team(2, GetParam());
  for (const Element gradient : {Element::fp32, Element::fp16, Element::bf16})
    for (const bool any_bits : {false, true}) {
      const Types types{Element::fp32, Element::fp32, Element::fp32, gradient, Element::bf16};
      const std::size_t n = 70'001;  // two parts
      AdamCase own(types, n, 3, any_bits), expected(types, n, 0, any_bits);
      adam(expected.arrays(), some_numbers(), team);
      const AdamArrays all = own.arrays();
      std::vector<float> denominator(n);
      const AdamPartArrays arrays{all.master,
                                  all.momentum,
                                  all.variance,
                                  {reinterpret_cast<std::byte*>(denominator.data()), Element::fp32},
                                  all.gradient,
                                  all.weight,
                                  n};
      for (const AdamPart part :
           {AdamPart::momentum, AdamPart::decay, AdamPart::variance, AdamPart::root,
            AdamPart::correct, AdamPart::shift, AdamPart::apply})
        adam_part(part, arrays, some_numbers(), team);
      EXPECT_TRUE(own == expected) << to_string(gradient) << " " << any_bits;
    }
}

TEST_P(Step, AdamGivesTheSameBitsForEveryNumberOfThreads) {
  const Types types{Element::fp32, Element::fp32, Element::fp32, Element::fp16, Element::bf16};
  const std::size_t n = (std::size_t(3) << 20) + 77;  // streams its weight, 6 MiB
  Team one(1, GetParam());
  AdamCase expected(types, n, 0, false);
  adam(expected.arrays(), some_numbers(), one);
  for (const std::size_t threads : {2, 3, 5}) {
    Team team(threads, GetParam());
    AdamCase own(types, n, threads, false);
    adam(own.arrays(), some_numbers(), team);
    EXPECT_TRUE(own == expected) << threads;
  }
}

TEST_P(Step, SgdGivesTheWrittenOrdersBits) {
  Team team(2, GetParam());
  const SgdNumbers numbers{0.1, 0.01, 0.5};
  const SgdScalars s = scalars(numbers);
  for (const std::size_t n : lengths) {
    for (const Element master : all_elements) {
      for (const Element type : all_elements) {
        TestArray w(master, n, 3), g(type, n, 2), out(type, n, 1);
        fill_any(w, 1);
        fill_any(g, 2);
        TestArray expected(w), expected_out(type, n);
        for (std::size_t i = 0; i < n; ++i) {
          const float step = s.step * (load(g.array(), i) * s.inverse_scale);
          const float value = canonical((s.keep * load(w.array(), i)) - step);
          store(expected.array(), i, value);
          store(expected_out.array(), i, value);
        }
        sgd({w.array(), g.array(), out.array(), n}, numbers, team);
        ASSERT_TRUE(w == expected && out == expected_out) << to_string(master) << " " << n;
        ASSERT_TRUE(w.guards_whole() && out.guards_whole());
      }
    }
  }
}

TEST_P(Step, MomentumGivesTheWrittenOrdersBits) {
  Team team(2, GetParam());
  for (const MomentumRule rule : {MomentumRule::sgd, MomentumRule::lion}) {
    const MomentumNumbers numbers{rule, 0.1, 0.99, 0.8, 0.01, 0.5};
    const MomentumScalars s = scalars(numbers);
    EXPECT_EQ(s.rest, rule == MomentumRule::lion ? static_cast<float>(0.01) : 1.0F);
    for (const std::size_t n : lengths)
      for (const Element type : all_elements) {
        TestArray w(Element::fp32, n, 3), m(type, n, 1), g(type, n, 2), out(type, n, 1);
        fill_any(w, 1);
        fill_any(m, 3);
        fill_any(g, 2);
        TestArray expected(w), expected_m(m), expected_out(type, n);
        for (std::size_t i = 0; i < n; ++i) {
          const float gradient = load(g.array(), i) * s.inverse_scale;
          const float before = load(m.array(), i);
          const float after = (s.beta * before) + (s.rest * gradient);
          float move = after;
          if (rule == MomentumRule::lion) {
            move = (s.blend * before) + (s.other * gradient);
            if (move > 0) move = 1;
            if (move < 0) move = -1;
          }
          const float value = canonical((s.keep * load(w.array(), i)) - (s.step * move));
          store(expected_m.array(), i, canonical(after));
          store(expected.array(), i, value);
          store(expected_out.array(), i, value);
        }
        momentum_step({w.array(), m.array(), g.array(), out.array(), n}, numbers, team);
        ASSERT_TRUE(w == expected && m == expected_m && out == expected_out) << n;
        ASSERT_TRUE(w.guards_whole() && m.guards_whole() && out.guards_whole());
      }
  }
}

TEST(Lion, MovesByTheLearningRateWhicheverTheGradient) {
  Team team(1, Isa::portable);
  std::vector<float> master{1, 1, 1}, momentum{0, 0, 0}, gradient{3, -1e-20F, 0};
  const auto array = [](std::vector<float>& values) {
    return Array(reinterpret_cast<std::byte*>(values.data()), Element::fp32);
  };
  MomentumNumbers numbers;
  numbers.rule = MomentumRule::lion;
  numbers.learning_rate = 0.25;
  momentum_step({array(master), array(momentum), array(gradient), std::nullopt, 3}, numbers, team);
  EXPECT_EQ(master, (std::vector<float>{0.75F, 1.25F, 1}));
}

INSTANTIATE_TEST_SUITE_P(On, Step, testing::ValuesIn(available_isas()),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(Adam, FirstStepMovesByTheLearningRate) {
  // Step 1: m = 0.1 g, v = 0.001 g^2; m / (1 - 0.9) = g, sqrt(v / (1 - 0.999)) = |g|, so the
  // weight moves by the rate against the sign of g, whatever its size: 1 - 0.01, 1 + 0.01.
  Team team(1);
  TestArray master(Element::fp32, 2), momentum(Element::fp32, 2), variance(Element::fp32, 2),
      gradient(Element::fp32, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    store(master.array(), i, 1);
    store(momentum.array(), i, 0);
    store(variance.array(), i, 0);
    store(gradient.array(), i, i == 0 ? 250.0f : -0.5f);
  }
  AdamNumbers numbers;
  numbers.learning_rate = 0.01;
  adam({master.array(), momentum.array(), variance.array(), gradient.array(), std::nullopt, 2},
       at_step(numbers, 1), team);
  EXPECT_NEAR(load(master.array(), 0), 0.99, 1e-6);
  EXPECT_NEAR(load(master.array(), 1), 1.01, 1e-6);
}

TEST(Adam, CorrectionsAreThoseOfTheStep) {
  // 1 - 0.9^2 = 0.19, 1 - 0.999^2 = 0.001999
  const AdamNumbers numbers = at_step({}, 2);
  EXPECT_NEAR(numbers.correction1, 0.19, 1e-12);
  EXPECT_NEAR(numbers.correction2, 0.001999, 1e-12);
}

TEST(Adam, WeightDecayShrinksTheWeightWithoutGradient) {
  // 8 x (1 - 0.5 x 0.25) = 7
  Team team(1);
  TestArray master(Element::fp32, 1), zero(Element::fp32, 1), momentum(Element::fp32, 1),
      variance(Element::fp32, 1);
  store(master.array(), 0, 8);
  for (TestArray* array : {&zero, &momentum, &variance}) store(array->array(), 0, 0);
  AdamNumbers numbers;
  numbers.learning_rate = 0.5;
  numbers.weight_decay = 0.25;
  adam({master.array(), momentum.array(), variance.array(), zero.array(), std::nullopt, 1},
       at_step(numbers, 1), team);
  EXPECT_EQ(load(master.array(), 0), 7);
}

TEST(Adam, StoresOneNanWhateverCameIn) {
  Team team(1);
  TestArray master(Element::bf16, 1), momentum(Element::fp32, 1), variance(Element::fp32, 1),
      gradient(Element::fp16, 1), weight(Element::fp16, 1);
  for (TestArray* array : {&master, &momentum, &variance}) store(array->array(), 0, 1);
  gradient.set_bits(0, 0xFE12);
  adam({master.array(), momentum.array(), variance.array(), gradient.array(), weight.array(), 1},
       {}, team);
  EXPECT_EQ(master.bits(0), 0x7FC0u);
  EXPECT_EQ(momentum.bits(0), 0x7FC00000u);
  EXPECT_EQ(variance.bits(0), 0x7FC00000u);
  EXPECT_EQ(weight.bits(0), 0x7E00u);
}

}  // namespace

}  // namespace spillway::hw_backend
