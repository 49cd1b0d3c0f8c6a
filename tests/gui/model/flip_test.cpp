// Where the verdict flips: the search among the steps of a knob, and the finder over a session.
#include "gui/model/flip_finder.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <QUndoStack>

#include <functional>

namespace spillway::gui {
namespace {

/// Looks with an oracle; counts how often it was asked.
struct Looked {
  Flip flip;
  int asked = 0;
};

Looked look(const char* field, std::uint64_t present,
            const std::function<std::optional<bool>(std::uint64_t)>& fits) {
  FlipSearch search(knob(field), present, *fits(present));
  Looked looked;
  while (const auto value = search.next()) {
    search.take(fits(*value));
    if (++looked.asked > 100) break;
  }
  looked.flip = search.flip();
  return looked;
}

TEST(Flip, IsFoundFromBothSides) {
  const auto from_96 = [](std::uint64_t gib) { return gib >= 96; };
  for (const std::uint64_t present : {8u, 64u, 95u, 96u, 100u, 128u, 4096u}) {
    const Looked looked = look("memory", present, from_96);
    EXPECT_EQ(looked.flip.kind, Flip::Kind::from) << present;
    EXPECT_EQ(looked.flip.at, 96u) << present;
    EXPECT_LT(looked.flip.other, 96u) << present;
    EXPECT_LE(looked.asked, 6) << present;
  }
}

TEST(Flip, OfALimitIsTheLastValueThatFits) {
  const auto to_8192 = [](std::uint64_t tokens) { return tokens <= 8192; };
  for (const std::uint64_t present : {256u, 4096u, 8192u, 16384u, 1048576u}) {
    const Looked looked = look("sequence", present, to_8192);
    EXPECT_EQ(looked.flip.kind, Flip::Kind::up_to) << present;
    EXPECT_EQ(looked.flip.at, 8192u) << present;
    EXPECT_EQ(looked.flip.other, 16384u) << present;
  }
}

TEST(Flip, BetweenStepsIsOnTheSideThatIsKnown) {
  const auto from_90 = [](std::uint64_t gib) { return gib >= 90; };
  EXPECT_EQ(look("memory", 92, from_90).flip.at, 92u);  // 64 does not, 92 does: the present value
}

TEST(Flip, IsLookedForOnBothSidesOfTheNumberOfCards) {
  const auto only_few = [](std::uint64_t cards) { return cards <= 2; };
  const Looked many = look("gpus", 4, only_few), few = look("gpus", 1, only_few);
  EXPECT_EQ(many.flip.kind, Flip::Kind::up_to);
  EXPECT_EQ(many.flip.at, 2u);
  EXPECT_EQ(few.flip.at, 2u);
}

TEST(Flip, IsNoneWhereNoStepChangesTheVerdict) {
  EXPECT_EQ(look("memory", 64, [](auto) { return true; }).flip.kind, Flip::Kind::always);
  EXPECT_EQ(look("memory", 64, [](auto) { return false; }).flip.kind, Flip::Kind::never);
}

TEST(Flip, IsFoundBelowStepsThatTakeTooLong) {
  const auto slow = [](std::uint64_t value) -> std::optional<bool> {
    if (value > 32) return std::nullopt;
    return value <= 4;
  };
  EXPECT_EQ(look("accumulation", 1, slow).flip.at, 4u);
  const auto all_slow = [](std::uint64_t value) -> std::optional<bool> {
    if (value > 1) return std::nullopt;
    return true;
  };
  EXPECT_EQ(look("accumulation", 1, all_slow).flip.kind, Flip::Kind::unknown);
}

TEST(Flip, IsSaidInWords) {
  EXPECT_EQ(short_words({Flip::Kind::from, 96, 64}, knob("memory")), "fits from 96 GiB");
  EXPECT_EQ(short_words({Flip::Kind::up_to, 8192, 16384}, knob("sequence")), "fits up to 8,192");
  EXPECT_EQ(sentence_of({Flip::Kind::from, 96, 64, true}, knob("memory")),
            "The way that was found fits from 96 GiB on, not with 64 GiB");
}

TEST(Knob, GoesFromStepToStep) {
  const Knob& memory = knob("memory");
  EXPECT_EQ(memory.beside(64, true), 96);
  EXPECT_EQ(memory.beside(70, true), 96);
  EXPECT_EQ(memory.beside(70, false), 64);
  EXPECT_EQ(memory.beside(8, false), 8);
  EXPECT_EQ(memory.beside(8000, true), 8000);
  EXPECT_EQ(memory.steps[static_cast<std::size_t>(memory.nearest(70))], 64);
  EXPECT_EQ(knob("drives").steps[static_cast<std::size_t>(knob("drives").nearest(0))], 0);
}

Question small_question() {
  Question question;
  question.model = "llama-3.2-1b";
  question.box.memory_gib = 64;
  question.system = "zero_infinity";
  return question;
}

class Finder : public testing::Test {
 public:
  bool found() {
    return until([&] { return session_.idle() && !finder_.busy() && looked_; }, 60'000);
  }
  /// The verdict with this much memory, by a worker of its own.
  bool fits_with(std::uint64_t gib) {
    Question question = session_.question();
    question.box.memory_gib = gib;
    Worker worker;
    std::optional<bool> fits;
    QObject::connect(&worker, &Worker::answered, &worker, [&](Worker::Id, const Line& line) {
      Answer answer;
      take_answer(*line, answer);
      fits = answer.fits();
    });
    worker.ask({session_.scenario_for(question), {"result"}, 60});
    EXPECT_TRUE(until([&] { return fits.has_value(); }));
    return fits.value_or(false);
  }
  void SetUp() override {
    QObject::connect(&finder_, &FlipFinder::changed, &finder_, [&] { looked_ = true; });
  }

  Session session_;
  FlipFinder finder_{session_};
  bool looked_ = false;
};

TEST_F(Finder, SaysWhereASimulationSaysSo) {
  finder_.set_active(true);
  session_.change(small_question(), "ask");
  ASSERT_TRUE(found());
  const Flip memory = finder_.flip_of("memory");
  ASSERT_EQ(memory.kind, Flip::Kind::from);
  EXPECT_TRUE(fits_with(memory.at)) << memory.at;
  EXPECT_FALSE(fits_with(memory.other)) << memory.other;
  EXPECT_EQ(finder_.flip_of("sequence").kind, Flip::Kind::up_to);
  EXPECT_FALSE(memory.of_one_way);
}

TEST_F(Finder, NeverStopsTheEventLoop) {
  finder_.set_active(true);
  session_.change(small_question(), "ask");
  qint64 longest = 0;
  QElapsedTimer turn;
  EXPECT_TRUE(until(
      [&] {
        if (turn.isValid()) longest = std::max(longest, turn.elapsed());
        turn.start();
        return looked_ && session_.idle() && !finder_.busy();
      },
      60'000));
  EXPECT_LT(longest, 400) << "ms";  // all probes together take seconds
}

TEST_F(Finder, ForgetsWhenTheQuestionChanges) {
  LONG_TEST();
  finder_.set_active(true);
  session_.change(small_question(), "ask");
  ASSERT_TRUE(found());
  ASSERT_NE(finder_.flip_of("memory"), Flip());
  Question other = small_question();
  other.model = "qwen2.5-0.5b";
  session_.change(other, "other model");
  EXPECT_EQ(finder_.flip_of("memory"), Flip());
  EXPECT_FALSE(finder_.busy());
  looked_ = false;
  ASSERT_TRUE(found());
  EXPECT_NE(finder_.flip_of("memory"), Flip());
}

TEST_F(Finder, AsksNothingWhileNobodyLooks) {
  session_.change(small_question(), "ask");
  ASSERT_TRUE(until([&] { return session_.idle() && session_.answer().result; }));
  until([&] { return finder_.busy(); }, 700);
  EXPECT_FALSE(finder_.busy());
  EXPECT_EQ(finder_.flip_of("memory"), Flip());
}

}  // namespace
}  // namespace spillway::gui
