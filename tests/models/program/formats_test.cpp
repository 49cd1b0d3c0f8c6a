#include "models/program/formats.hpp"

#include <gmock/gmock.h>

namespace spillway::models::formats_test {
namespace {

using description::OptimizerKind;
using description::Precision;
using description::StateWidth;
using ::testing::ElementsAre;

TEST(NumberFormat, RoundsNumbersUpToWholeBytes) {
  EXPECT_EQ(NumberFormat(ElementType::fp32).bytes(3), 12u);
  EXPECT_EQ(NumberFormat(ElementType::bf16).bytes(3), 6u);
  EXPECT_EQ(NumberFormat(ElementType::int8).bytes(3), 3u);
  EXPECT_EQ(NumberFormat(ElementType::nf4).bytes(4), 2u);
  EXPECT_EQ(NumberFormat(ElementType::nf4).bytes(5), 3u);  // 20 bits
  EXPECT_EQ(NumberFormat(ElementType::nf4).bytes(0), 0u);
}

TEST(NumberFormat, HasAScaleForEachBlockThatIsBegun) {
  const NumberFormat states(ElementType::int8, 256);
  EXPECT_EQ(states.bytes(256), 256u + 4);
  EXPECT_EQ(states.bytes(257), 257u + 2 * 4);
  // QLoRA: 64 numbers of 4 bits share a scale
  const NumberFormat weights(ElementType::nf4, 64, ElementType::fp16);
  EXPECT_EQ(weights.bytes(64 * 10), 320u + 10 * 2);
  EXPECT_EQ(weights.bytes(1), 1u + 2);
}

TEST(NumberFormat, CountsAsManyBytesAsSixtyFourBitsHold) {
  const std::uint64_t most = std::uint64_t{1} << 61;
  EXPECT_EQ(NumberFormat(ElementType::fp32).bytes(most), 4 * most);
}

std::vector<ElementType> states_of(const WeightFormats& formats) {
  std::vector<ElementType> types;
  for (const StateFormat& state : formats.states) types.push_back(state.format.type);
  return types;
}

TEST(WeightFormats, MixedPrecisionHasFp32MastersUnlessStatesAreNarrow) {
  const WeightFormats wide =
      formats_of(Precision::fp16_mixed, OptimizerKind::adam, StateWidth::fp32);
  EXPECT_EQ(wide.weight, ElementType::fp16);
  EXPECT_EQ(wide.gradient, ElementType::fp16);
  EXPECT_EQ(wide.parameter, ElementType::fp32);
  EXPECT_TRUE(wide.has_master());
  EXPECT_THAT(states_of(wide),
              ElementsAre(ElementType::fp32, ElementType::fp32, ElementType::fp32));
  EXPECT_EQ(wide.state_bytes(10), 120u);

  const WeightFormats narrow =
      formats_of(Precision::bf16_mixed, OptimizerKind::adam, StateWidth::bf16);
  EXPECT_EQ(narrow.weight, ElementType::bf16);
  EXPECT_EQ(narrow.parameter, ElementType::fp32);
  EXPECT_FALSE(narrow.has_master());
  EXPECT_THAT(states_of(narrow), ElementsAre(ElementType::bf16, ElementType::bf16));
  EXPECT_EQ(narrow.state_bytes(10), 40u);
}

TEST(WeightFormats, OtherPrecisionsUpdateTheWeightItself) {
  for (const auto& [precision, type] : {std::pair(Precision::fp16, ElementType::fp16),
                                        std::pair(Precision::bf16, ElementType::bf16),
                                        std::pair(Precision::fp32, ElementType::fp32)}) {
    const WeightFormats formats = formats_of(precision, OptimizerKind::adam, StateWidth::fp32);
    EXPECT_EQ(formats.weight, type);
    EXPECT_EQ(formats.gradient, type);
    EXPECT_EQ(formats.parameter, type);
    EXPECT_FALSE(formats.has_master());
    EXPECT_THAT(states_of(formats), ElementsAre(ElementType::fp32, ElementType::fp32));
  }
}

TEST(WeightFormats, SgdKeepsNothingButAMaster) {
  EXPECT_THAT(states_of(formats_of(Precision::fp16_mixed, OptimizerKind::sgd, StateWidth::fp32)),
              ElementsAre(ElementType::fp32));
  EXPECT_THAT(states_of(formats_of(Precision::fp32, OptimizerKind::sgd, StateWidth::fp32)),
              ElementsAre());
}

TEST(WeightFormats, OneMomentumIsOneState) {
  for (const OptimizerKind kind : {OptimizerKind::lion, OptimizerKind::sgd_momentum}) {
    const WeightFormats formats = formats_of(Precision::bf16, kind, StateWidth::bf16);
    EXPECT_THAT(states_of(formats), ElementsAre(ElementType::bf16));
    EXPECT_EQ(formats.states.front().kind, StateKind::momentum);
  }
}

TEST(WeightFormats, StatesOf8BitsHaveAScaleForEach256ButInSmallTensors) {
  const Formats formats(Precision::bf16, OptimizerKind::adam8bit, StateWidth::fp32,
                        description::AdapterType::bf16, description::BaseType::bf16);
  WeightTensor weight;
  weight.parameters = description::Params(4096);
  // two states of 4096 bytes and 16 scales of 4
  EXPECT_EQ(formats.of(weight).state_bytes(4096), 2 * (4096 + 16 * 4));
  weight.parameters = description::Params(4095);
  EXPECT_EQ(formats.of(weight).state_bytes(4095), 2 * 4 * 4095);
  EXPECT_EQ(formats_of(Precision::bf16_mixed, OptimizerKind::adam, StateWidth::int8).states,
            formats_of(Precision::bf16_mixed, OptimizerKind::adam8bit, StateWidth::fp32).states);
  EXPECT_TRUE(
      formats_of(Precision::bf16_mixed, OptimizerKind::adam, StateWidth::int8).has_master());
}

}  // namespace
}  // namespace spillway::models::formats_test
