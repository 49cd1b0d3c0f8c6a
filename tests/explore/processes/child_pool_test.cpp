#include "explore/processes/child_pool.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace spillway::explore {
namespace {

using Seconds = std::chrono::duration<double>;
using std::this_thread::sleep_for;

constexpr double long_enough_s = 60;

TEST(ChildPool, GivesTextsByNumberWhateverFinishesFirst) {
  const auto pieces = in_children(5,
                                  [](std::size_t i) {
                                    sleep_for(Seconds(0.01 * static_cast<double>(5 - i)));
                                    return std::string(100'000 * i, 'x');  // more than a pipe holds
                                  },
                                  2, long_enough_s, {});
  ASSERT_EQ(pieces.size(), 5u);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].end, Piece::End::done);
    EXPECT_EQ(pieces[i].text.size(), 100'000 * i);
  }
}

TEST(ChildPool, ACrashIsThatPiecesOwn) {
  const auto pieces = in_children(2,
                                  [](std::size_t i) {
                                    if (i == 0) ::raise(SIGKILL);
                                    return std::string("well");
                                  },
                                  2, long_enough_s, {});
  EXPECT_TRUE(WIFSIGNALED(pieces[0].status));
  EXPECT_EQ(pieces[0].text, "");
  EXPECT_EQ(pieces[1].text, "well");
}

TEST(ChildPool, AChildTakesTheNextUntilItCrashes) {
  const auto pieces = in_children(4,
                                  [](std::size_t i) {
                                    if (i == 2) ::raise(SIGKILL);
                                    return std::to_string(::getpid());
                                  },
                                  1, long_enough_s, {});
  EXPECT_EQ(pieces[0].text, pieces[1].text);
  EXPECT_TRUE(WIFSIGNALED(pieces[2].status));
  EXPECT_EQ(pieces[3].end, Piece::End::done);
  EXPECT_NE(pieces[3].text, pieces[0].text);
}

TEST(ChildPool, AChildThatHasGrownLargeTakesNoMore) {
  const auto pieces = in_children(3,
                                  [](std::size_t i) {
                                    static std::string kept;
                                    if (i == 1) kept.assign(500u << 20, 'x');
                                    return std::to_string(::getpid());
                                  },
                                  1, long_enough_s, {});
  EXPECT_EQ(pieces[0].text, pieces[1].text);
  EXPECT_NE(pieces[1].text, pieces[2].text);
}

// Three of them together take longer than the limit of one.
TEST(ChildPool, ALimitIsOfEachPieceAndNotOfItsChild) {
  LONG_TEST();
  const auto pieces = in_children(4,
                                  [](std::size_t i) {
                                    sleep_for(Seconds(i == 3 ? long_enough_s : 0.8));
                                    return std::string("done");
                                  },
                                  1, 2, {});
  for (const std::size_t i : {0, 1, 2}) EXPECT_EQ(pieces[i].end, Piece::End::done) << i;
  EXPECT_EQ(pieces[3].end, Piece::End::over_limit);
}

TEST(ChildPool, EndsWhatTakesLongerThanItsLimit) {
  const auto pieces = in_children(1,
                                  [](std::size_t) {
                                    sleep_for(Seconds(long_enough_s));
                                    return std::string("late");
                                  },
                                  1, 0.05, {});
  EXPECT_EQ(pieces[0].end, Piece::End::over_limit);
}

TEST(ChildPool, LeavesUntriedWhatTheWatchHasNoTimeFor) {
  std::size_t done = 0;
  const auto pieces = in_children(
      3, [](std::size_t) { return std::string("done"); }, 1, long_enough_s,
      [&](std::size_t more) { return (done += more) < 1; });
  EXPECT_EQ(pieces[0].end, Piece::End::done);
  EXPECT_EQ(pieces[2].end, Piece::End::not_tried);
}

// A child writes its process id and waits; once the pool is gone, so is the child.
TEST(ChildPool, IsAtWorkBesideItsOwnerAndEndsWithIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t child = 0;
  {
    const ChildPool pool(1,
                         [&](std::size_t) {
                           const pid_t own = ::getpid();
                           EXPECT_EQ(::write(ends[1], &own, sizeof own),
                                     static_cast<ssize_t>(sizeof own));
                           sleep_for(Seconds(long_enough_s));
                           return std::string();
                         },
                         1, long_enough_s, {});
    ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_NE(::kill(child, 0), 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace spillway::explore
