#include "scenarios/json/input_file.hpp"

#include "scenarios/json/hjson.hpp"
#include "scenarios/json/located_json.hpp"
#include "scenarios/json/schema_check.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <cstdlib>
#include <thread>

namespace spillway::scenarios::input_file_test {
namespace {

std::string packed(const std::string& file, std::size_t bytes) {
  gzFile out = gzopen(file.c_str(), "wb");
  const std::string blanks(1 << 20, ' ');
  for (std::size_t written = 0; written < bytes; written += blanks.size())
    gzwrite(out, blanks.data(), static_cast<unsigned>(blanks.size()));
  gzclose(out);
  return file;
}

std::string refusal(const std::string& file) {
  return complaints_of([&] { text_of_file(file); });
}

TEST(TextOfFile, LooksAtTheKindFirst) {
  const TemporaryFiles files;
  EXPECT_NE(refusal("/dev/zero").find("/dev/zero: is a device, not a file"), std::string::npos);
  EXPECT_NE(refusal("/dev/null").find("is a device"), std::string::npos);
  EXPECT_NE(refusal(files.path("")).find("is a folder"), std::string::npos);
  EXPECT_NE(refusal(files.path("gone")).find("cannot be read: No such file"), std::string::npos);
  EXPECT_NE(complaints_of([] {
              text_of_file(std::string("a\0b", 3), "a b");
            }).find("no character of code 0"),
            std::string::npos);
  EXPECT_NE(refusal(std::string(300, 'a')).find("File name too long"), std::string::npos);
}

TEST(TextOfFile, ReadsAPipeToItsEnd) {
  const TemporaryFiles files;
  const std::string pipe = files.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(pipe) << std::string(300'000, 'x'); });
  EXPECT_EQ(text_of_file(pipe).size(), 300'000u);
}

TEST(TextOfFile, ReadsNoMoreThanTheLimitAndSaysHowToSetIt) {
  const TemporaryFiles files;
  const std::string file = files.write("a.json", std::string(5000, ' '));
  EXPECT_EQ(text_of_file(file).size(), 5000u);
  EXPECT_NE(complaints_of([&] {
              text_of_file(file, "", 4096);
            }).find("has more than 4 KiB, which is the limit; SPILLWAY_LARGEST_FILE="),
            std::string::npos);
  ::setenv("SPILLWAY_LARGEST_FILE", "4 KiB", 1);
  EXPECT_NE(refusal(file).find("more than 4 KiB"), std::string::npos);
  ::setenv("SPILLWAY_LARGEST_FILE", "much", 1);
  EXPECT_NE(refusal(file).find("SPILLWAY_LARGEST_FILE: "), std::string::npos);
  ::unsetenv("SPILLWAY_LARGEST_FILE");
}

TEST(ReadPacked, UnpacksNoMoreThanTheLimit) {
  const TemporaryFiles files;
  const std::string file = packed(files.path("a.gz"), 8u << 20);
  EXPECT_EQ(read_packed(file).size(), 8u << 20);
  ::setenv("SPILLWAY_LARGEST_FILE", "4 MiB", 1);
  EXPECT_NE(complaints_of([&] { read_packed(file); }).find("more than 4 MiB unpacked"),
            std::string::npos);
  ::unsetenv("SPILLWAY_LARGEST_FILE");
  const std::string whole = text_of_file(file);
  EXPECT_NE(complaints_of([&] {
              read_packed(files.write("b.gz", whole.substr(0, 500)));
            }).find("a damaged gzip file"),
            std::string::npos);
  EXPECT_EQ(read_packed(files.write("two.gz", whole + whole)).size(), 16u << 20);
  EXPECT_EQ(read_packed(files.write("padded.gz", whole + "rest")).size(), 8u << 20);
  EXPECT_EQ(read_packed(files.write("plain", "text")), "text");
}

TEST(ParseLocated, HoldsNoMoreThanItsLimits) {
  std::string values = "[0";
  for (int i = 0; i < 1'000'000; ++i) values += ",0";
  EXPECT_NE(complaints_of([&] {
              parse_located(values + "]", "a");
            }).find("more than 1,000,000 keys and values"),
            std::string::npos);
  std::string keys = "{\"" + std::string(200'000, 'k') + "\":[0";
  for (int i = 0; i < 5000; ++i) keys += ",0";
  EXPECT_NE(complaints_of([&] { parse_located(keys + "]}", "a"); }).find("more than 256 MiB"),
            std::string::npos);
}

TEST(ParseHjson, RefusesWhatIsNoTextAndNumbersThatAreNone) {
  EXPECT_NE(complaints_of([] {
              parse_hjson("{\n \"a\": \"\xff\"}", "a");
            }).find("a:2:8: not JSON: the text is not UTF-8"),
            std::string::npos);
  EXPECT_EQ(parse_hjson(R"({"a": -inf, "b": -nan, "c": "\ud800"})", "a").value,
            nlohmann::json::parse(R"({"a": "-inf", "b": "-nan", "c": "???"})"));
}

TEST(CheckSchema, RefusesAListOrAnObjectInPlaceOfAQuantity) {
  for (const char* memory : {R"(["64 GiB"])", R"({"a": 1})", "[]", "7", "null"}) {
    const LocatedJson machine =
        parse_located(std::string("{\"host\": {\"memory\": ") + memory + "}}", "m.json");
    std::string all;
    for (const auto& one : check_schema(machine, "machine", "")) all += to_string(one) + "\n";
    EXPECT_NE(all.find("m.json:1:21: host.memory: "), std::string::npos) << memory << all;
  }
}

}  // namespace
}  // namespace spillway::scenarios::input_file_test
