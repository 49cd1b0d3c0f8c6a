#include "explore/workers/fork_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "explore/processes/line_process.hpp"
#include "explore/workers/reply.hpp"

namespace spillway::explore::fork_server_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using Seconds = std::chrono::duration<double>;
using std::this_thread::sleep_for;

constexpr double long_enough_s = 60;

/// Does what the scenario says: {"sleep": seconds, "raise": signal, "hold": bytes that it keeps};
/// tells its process first.
void obey(const Request& request, int pipe) {
  static std::string held;
  Reply reply(request.id, pipe);
  reply.part("process", std::to_string(::getpid()),
             request.scenario.contains("tell") ? Told::now_and_at_the_end : Told::at_the_end);
  sleep_for(Seconds(request.scenario.value("sleep", 0.0)));
  held.resize(std::max(held.size(), request.scenario.value("hold", std::size_t{0})), 'x');
  if (request.scenario.contains("raise")) ::raise(request.scenario["raise"].get<int>());
  reply.end();
}

json task(const json& id, const json& scenario) { return {{"id", id}, {"scenario", scenario}}; }

/// A worker that does what it is told.
class Server {
 public:
  explicit Server(std::size_t jobs, double limit_s = long_enough_s)
      : process_([=](int requests, int replies) {
          ForkServer(obey, jobs, limit_s, requests, replies).run();
        }) {}

  void send(const std::string& line) { process_.send(line + "\n"); }
  void send(const json& request) { send(request.dump()); }

  /// The next line.
  json read() {
    const auto start = std::chrono::steady_clock::now();
    while (lines_.empty() && seconds_since(start) < long_enough_s) process_.collect(0.1, lines_);
    if (lines_.empty()) return "nothing came";
    const json line = json::parse(lines_.front());
    lines_.pop_front();
    return line;
  }
  /// The next that is not progress.
  json answer() {
    json line = read();
    while (line.contains("progress")) line = read();
    return line;
  }
  /// The ids of as many lines, which come within a time.
  std::vector<json> ids(std::size_t count) {
    std::vector<json> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(read().value("id", json()));
    return all;
  }
  pid_t pid() const { return process_.pid(); }

 private:
  LineProcess process_;
  std::deque<std::string> lines_;
};

/// Whether a process ends within two seconds; a zombie has ended.
bool ends(pid_t process) {
  for (int i = 0; i < 200; ++i) {
    std::string state;
    if (std::FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "r")) {
      char text[256] = {};
      state.assign(text, std::fread(text, 1, sizeof text - 1, file));
      std::fclose(file);
    }
    if (state.empty() || state.find(") Z ") != std::string::npos) return true;
    sleep_for(Seconds(0.01));
  }
  return false;
}

TEST(ForkServer, OneAtATimeAnswersInTheOrderOfTheLines) {
  Server server(1);
  server.send(task(1, {{"sleep", 0.2}}));
  server.send(std::string("nonsense"));
  server.send(json{{"id", 3}, {"scenario", json::object()}, {"want", {"bound"}}});
  EXPECT_THAT(server.ids(3), ::testing::ElementsAre(1, json(), 3));
}

TEST(ForkServer, WithMoreWhoeverIsDoneFirstAnswersFirst) {
  Server server(2);
  server.send(task("slow", {{"sleep", 0.5}}));
  server.send(task("fast", json::object()));
  EXPECT_THAT(server.ids(2), ::testing::ElementsAre("fast", "slow"));
}

/// Two simulations take both jobs for a minute, and a third waits: the bound is there nevertheless.
TEST(ForkServer, WhatNeedsNoSimulationWaitsForNone) {
  Server server(2);
  for (int i = 0; i < 3; ++i) server.send(task(i, {{"sleep", long_enough_s}}));
  server.send(json{{"id", 9}, {"scenario", json::object()}, {"want", {"bound", "settings"}}});
  EXPECT_EQ(server.read().at("id"), 9);
}

TEST(ForkServer, AChildThatHasGrownLargeGivesUpItsPlaceWhenItHasAnswered) {
  Server server(1);
  server.send(task(1, {{"hold", 300u << 20}}));
  server.send(task(2, json::object()));
  const json first = server.answer(), second = server.answer();
  EXPECT_EQ(first.at("id"), 1);
  EXPECT_EQ(second.at("id"), 2) << second;
  EXPECT_NE(second.value("process", json()), first.value("process", json()));
  EXPECT_TRUE(ends(first.at("process").get<pid_t>()));
}

/// It may remember something. When it is gone another takes its place.
TEST(ForkServer, WhatIsOfOneKindIsAnsweredByTheSameProcess) {
  Server server(2);
  const auto process = [&](int id) {
    server.send(json{{"id", id}, {"scenario", json::object()}, {"want", {"bound"}}});
    const json answer = server.read();
    EXPECT_EQ(answer.at("id"), id);
    return answer.at("process").get<pid_t>();
  };
  const pid_t first = process(1);
  EXPECT_EQ(process(2), first);
  const auto simulation = [&](int id) {
    server.send(task(id, json::object()));
    return server.read().at("process").get<pid_t>();
  };
  const pid_t simulates = simulation(3);
  EXPECT_NE(simulates, first) << "what answers at once remembers bounds";
  EXPECT_EQ(simulation(8), simulates);
  EXPECT_EQ(process(4), first);
  ::kill(first, SIGKILL);
  EXPECT_TRUE(ends(first));
  EXPECT_NE(process(5), first);
  EXPECT_EQ(process(6), process(7));
}

TEST(ForkServer, ALimitHoldsForAProcessThatHasAnsweredBefore) {
  Server server(2);
  const auto ask = [&](int id, double sleep, double limit_s) {
    server.send(json{
        {"id", id}, {"scenario", {{"sleep", sleep}}}, {"want", {"bound"}}, {"limit_s", limit_s}});
    return server.read();
  };
  EXPECT_TRUE(ask(1, 0, 0.2).contains("process"));
  sleep_for(Seconds(0.3));
  EXPECT_EQ(ask(2, 30, 0.2).at("failure"), over_limit);
  EXPECT_TRUE(ask(3, 0.4, 30).contains("process"));
}

TEST(ForkServer, ACancelledRequestEndsAtOnceAndItsTurnIsFree) {
  Server server(1);
  server.send(task(1, {{"sleep", long_enough_s}, {"tell", true}}));
  const pid_t child = server.read().at("progress").at("process");
  server.send(task(2, {{"sleep", long_enough_s}}));
  server.send(task(3, json::object()));
  server.send(json{{"cancel", 2}});
  server.send(json{{"cancel", "somebody else"}});
  server.send(json{{"cancel", 1}});
  json answer = server.read();
  EXPECT_EQ(answer.at("id"), 2);
  EXPECT_EQ(answer.at("failure"), cancelled);
  answer = server.read();
  EXPECT_EQ(answer.at("id"), 1);
  EXPECT_EQ(answer.at("failure"), cancelled);
  EXPECT_GT(answer.at("seconds"), 0.0);
  EXPECT_EQ(server.read().at("id"), 3);
  EXPECT_TRUE(ends(child));
}

TEST(ForkServer, ARequestAfterACancelledOneMayHaveItsId) {
  Server server(1);
  server.send(task(1, {{"sleep", long_enough_s}}));
  server.send(task(1, json::object()));
  const json twice = server.read();
  EXPECT_FALSE(twice.contains("id"));
  EXPECT_EQ(twice.at("errors").at(0).at("message"), "the request 1 is not answered yet");
  server.send(json{{"cancel", 1}});
  EXPECT_EQ(server.read().at("failure"), cancelled);
  server.send(task(1, json::object()));
  EXPECT_TRUE(server.read().contains("process"));
}

TEST(ForkServer, SaysWhatIsWrongWithALine) {
  Server server(1);
  const auto complaint = [&](const std::string& line) {
    server.send(line);
    const json answer = server.read();
    const json& first = answer.at("errors").at(0);
    return first.at("path").get<std::string>() + ": " + first.at("message").get<std::string>() +
           "; " + first.at("hint").get<std::string>();
  };
  EXPECT_THAT(complaint("{"), HasSubstr("is no JSON; write one line {\"id\""));
  EXPECT_THAT(complaint("[1]"), HasSubstr("is no request"));
  EXPECT_THAT(complaint("{\"id\": 1}"), HasSubstr("scenario: missing"));
  EXPECT_THAT(complaint(R"({"scenaro": {}, "id": 1})"), HasSubstr("did you mean \"scenario\"?"));
  EXPECT_THAT(complaint(R"({"scenario": {}, "want": ["bund"]})"),
              HasSubstr("want[0]: no worker knows \"bund\"; did you mean \"bound\"?"));
  EXPECT_THAT(complaint(R"({"scenario": {}, "want": "result"})"), HasSubstr("want: is no list"));
  EXPECT_THAT(complaint(R"({"scenario": {}, "limit_s": 0})"), HasSubstr("limit_s: is no time"));
  EXPECT_THAT(complaint(R"({"scenario": {}, "today": "today"})"), HasSubstr("today: is no date"));
  EXPECT_THAT(complaint(R"({"cancel": 1, "scenario": {}})"), HasSubstr("cancel: stands alone"));
  EXPECT_THAT(complaint(R"({"cancel": null})"), HasSubstr("cancel: names no request"));
  EXPECT_THAT(complaint("{\"id\": \"\xff\"}"), HasSubstr("is no JSON"));
}

TEST(ForkServer, ALimitEndsARequestAndNoOther) {
  Server server(1, 1);
  server.send(json{{"id", 1}, {"scenario", {{"sleep", 30}}}, {"limit_s", 0.2}});
  server.send(task(2, json::object()));
  server.send(task(3, {{"sleep", 30}}));  // longer than any may take
  EXPECT_EQ(server.read().at("failure"), over_limit);
  EXPECT_EQ(server.read().at("id"), 2);
  json line = server.read();
  while (line.contains("progress")) line = server.read();
  EXPECT_EQ(line.at("failure"), over_limit);
}

TEST(ForkServer, ACrashIsThatRequestsOwn) {
  Server server(1);
  server.send(task(1, {{"raise", SIGKILL}}));
  server.send(task(2, {{"raise", SIGSEGV}}));
  server.send(task(3, json::object()));
  const json killed = server.read(), crashed = server.read();
  EXPECT_EQ(killed.at("signal"), SIGKILL);
  EXPECT_EQ(killed.at("failure"), "the simulation was ended by signal Killed");
  EXPECT_THAT(crashed.at("failure"), HasSubstr("bug of spillway"));
  EXPECT_EQ(server.read().at("id"), 3);
}

TEST(ForkServer, TellsEachSecondThatItIsAtWork) {
  Server server(1);
  server.send(task("long", {{"sleep", 1.5}}));
  const json line = server.read();
  EXPECT_EQ(line.at("id"), "long");
  EXPECT_NEAR(line.at("progress").at("seconds").get<double>(), 1.0, 0.4);
}

TEST(ForkServer, KilledLeavesNoChildren) {
  Server server(1);
  server.send(task(1, {{"sleep", long_enough_s}, {"tell", true}}));
  const pid_t child = server.read().at("progress").at("process");
  ::kill(server.pid(), SIGKILL);
  EXPECT_TRUE(ends(child));
}

/// Requests and answers through pipes, as a program has them.
class Piped {
 public:
  Piped() {
    EXPECT_EQ(::pipe(in_), 0);
    EXPECT_EQ(::pipe(out_), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(in_[1]);
      ::close(out_[0]);
      ForkServer(obey, 2, long_enough_s, in_[0], out_[1]).run();
      ::_exit(0);
    }
    ::close(in_[0]);
    ::close(out_[1]);
  }
  void send(const json& request) { write_all(in_[1], request.dump() + "\n"); }
  void end_requests() { ::close(in_[1]); }
  void end_reading() { ::close(out_[0]); }
  std::string read_all() {
    std::string text;
    while (read_into(text, out_[0])) {
    }
    return text;
  }
  int exit_code() {
    int status = -1;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int in_[2], out_[2];
  pid_t pid_ = 0;
};

TEST(ForkServer, FinishesWhatItHasWhenRequestsEnd) {
  Piped server;
  for (int i = 0; i < 5; ++i) server.send(task(i, {{"sleep", 0.05}}));
  server.end_requests();
  const std::string text = server.read_all();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_EQ(server.exit_code(), 0);
}

TEST(ForkServer, EndsQuietlyWhenNobodyReads) {
  Piped server;
  server.send(task(1, {{"sleep", long_enough_s}}));
  sleep_for(Seconds(0.1));
  server.end_reading();
  EXPECT_EQ(server.exit_code(), 0);
}

/// Waits up to a minute until a pipe holds bytes that nobody has read yet, or none of them.
void wait_until(int pipe, bool holds_bytes) {
  for (int i = 0; i < 6000; ++i) {
    int bytes = -1;
    ASSERT_EQ(::ioctl(pipe, FIONREAD, &bytes), 0);
    if ((bytes > 0) == holds_bytes) return;
    sleep_for(Seconds(0.01));
  }
  FAIL() << "nothing changed within a minute";
}

/// An answer of 4 MB, of which a pipe holds 64 KiB, and a reader that waits: meanwhile requests are
/// heard and cancelled.
TEST(ForkServer, ASlowReaderStopsNothing) {
  int in[2], out[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out), 0);
  const pid_t server = ::fork();
  if (server == 0) {
    ::close(in[1]);
    ::close(out[0]);
    const AnswerRequest large = [](const Request& request, int pipe) {
      Reply reply(request.id, pipe);
      reply.part("text", json(std::string(4 << 20, 'x')).dump(), Told::at_the_end);
      if (request.id == 2) sleep_for(Seconds(long_enough_s));
      reply.end();
    };
    ForkServer(large, 2, long_enough_s, in[0], out[1]).run();
    ::_exit(0);
  }
  ::close(out[1]);
  write_all(in[1], task(1, json::object()).dump() + "\n" + task(2, json::object()).dump() + "\n");
  wait_until(out[0], true);
  write_all(in[1], "{\"cancel\": 2}\n");
  wait_until(in[0], false);
  ::close(in[0]);
  ::close(in[1]);
  std::string text;
  while (read_into(text, out[0])) {
  }
  ::close(out[0]);
  EXPECT_GT(text.size(), 4u << 20);
  EXPECT_THAT(text.substr(text.size() - 100), HasSubstr("\"failure\":\"cancelled\""));
  int status = -1;
  ::waitpid(server, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace spillway::explore::fork_server_test
