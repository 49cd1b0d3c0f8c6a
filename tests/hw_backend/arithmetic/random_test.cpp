#include "hw_backend/arithmetic/random.hpp"

#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace spillway::hw_backend {
namespace {

std::array<std::uint32_t, 4> words(const Words& from) {
  return {from.word[0], from.word[1], from.word[2], from.word[3]};
}

TEST(Philox, GivesThePublishedWords) {
  // Random123's known answers for philox4x32, 10 rounds
  using Four = std::array<std::uint32_t, 4>;
  const std::uint32_t zero[2] = {0, 0}, ones[2] = {0xffffffff, 0xffffffff};
  const std::uint32_t pi[2] = {0xa4093822, 0x299f31d0};
  EXPECT_EQ(words(philox({{0, 0, 0, 0}}, zero)),
            (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, ones)),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, pi)),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, EveryPartOfTheKeyMatters) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> keys;
  const auto add = [&](RandomUse use, RandomKey key) {
    const RandomStream stream = random_stream(use, key);
    keys.insert({stream.key[0], stream.key[1]});
  };
  add(RandomUse::dropout, {1, 2, 3, 4, 5, 6});
  add(RandomUse::tokens, {1, 2, 3, 4, 5, 6});
  add(RandomUse::dropout, {2, 2, 3, 4, 5, 6});
  add(RandomUse::dropout, {1, 3, 3, 4, 5, 6});
  add(RandomUse::dropout, {1, 2, 4, 4, 5, 6});
  add(RandomUse::dropout, {1, 2, 3, 5, 5, 6});
  add(RandomUse::dropout, {1, 2, 3, 4, 6, 6});
  add(RandomUse::dropout, {1, 2, 3, 4, 5, 7});
  add(RandomUse::dropout, {1ull << 32 | 1, 2, 3, 4, 5, 6});
  add(RandomUse::dropout, {1, 1ull << 32 | 2, 3, 4, 5, 6});
  EXPECT_EQ(keys.size(), 10u);
}

TEST(Dropout, KeepsTheShareThatItShould) {
  const Dropout dropout{0.2f, random_stream(RandomUse::dropout, {})};
  int kept = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) kept += dropout.keeps(i) ? 1 : 0;
  EXPECT_NEAR(kept, 8000, 150);  // sqrt(10,000 x 0.2 x 0.8) = 40
  EXPECT_FLOAT_EQ(dropout.scale(), 1.25f);
}

TEST(Dropout, OfNothingKeepsAll) {
  const Dropout dropout;
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(dropout.keeps(i));
  EXPECT_EQ(dropout.scale(), 1.0f);
}

SyntheticText text(std::uint64_t step, std::uint64_t vocabulary = 512) {
  SyntheticText text;
  text.tokens = random_stream(RandomUse::tokens, {1, step, 0, 0, 0, 0});
  text.successors = random_stream(RandomUse::successors, {1, 0, 0, 0, 0, 0});
  text.vocabulary = vocabulary;
  text.sequence = 48;
  return text;
}

TEST(SyntheticText, LabelsAreTheNextTokens) {
  const SyntheticText t = text(0);
  for (std::uint64_t row = 0; row < 4 * 48; ++row)
    if (row % 48 != 47) {
      EXPECT_EQ(t.label(row), t.input(row + 1)) << row;
    }
  EXPECT_EQ(t.label(47), t.token(0, 48));
}

TEST(SyntheticText, HasFewSuccessorsOfEachToken) {
  std::map<std::uint64_t, std::map<std::uint64_t, int>> followers;
  for (std::uint64_t step = 0; step < 20; ++step) {
    const SyntheticText t = text(step);
    for (std::uint64_t row = 0; row < 8 * 48; ++row) {
      ASSERT_LT(t.input(row), 512u);
      // a piece of 32 begins anew
      if (row % 48 % 32 != 31) ++followers[t.input(row)][t.label(row)];
    }
  }
  EXPECT_GT(followers.size(), 64u);
  for (const auto& [token, next] : followers) EXPECT_LE(next.size(), 4u) << token;
}

TEST(SyntheticText, DiffersBetweenStepsAndSamples) {
  int steps = 0, samples = 0;
  for (std::uint64_t i = 0; i < 48; ++i) {
    steps += text(0).token(0, i) == text(1).token(0, i) ? 1 : 0;
    samples += text(0).token(0, i) == text(0).token(1, i) ? 1 : 0;
  }
  EXPECT_LT(steps, 12);
  EXPECT_LT(samples, 12);
}

TEST(SyntheticText, FitsAVocabularyOfOneWord) {
  for (std::uint64_t row = 0; row < 48; ++row) EXPECT_EQ(text(0, 1).input(row), 0u);
}

}  // namespace
}  // namespace spillway::hw_backend
