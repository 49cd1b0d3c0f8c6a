#include "scenarios/json/python_json.hpp"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/reading/read_model.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::scenarios::python_json_test {
namespace {

TEST(PythonJson, QuotesTheNumbersThatJsonDoesNotHave) {
  EXPECT_EQ(without_python_numbers(R"({"a": [0.0, Infinity, -Infinity], "b": NaN})"),
            R"({"a": [0.0, "Infinity", "-Infinity"], "b": "NaN"})");
}

TEST(PythonJson, LeavesStringsAndTheRestAsTheyAre) {
  const std::string text = R"({"NaN": "Infinity \" NaN", "n": -1, "e": "\\"})";
  EXPECT_EQ(without_python_numbers(text), text);
  EXPECT_EQ(without_python_numbers(R"("open NaN)"), R"("open NaN)");
  EXPECT_EQ(without_python_numbers("\"open\\"), "\"open\\");
}

TEST(PythonJson, IsReadInModels) {
  const TemporaryFiles files;
  const std::string text = R"({"model_type": "llama", "time_step_limit": [0.0, Infinity]})";
  EXPECT_EQ(read_model(files.write("config.json", text)).hidden, 4096u);
}

TEST(PythonJson, IsNoNumberWhereAModelNeedsOne) {
  const TemporaryFiles files;
  const std::string path =
      files.write("config.json", "{\n\"model_type\": \"llama\",\n\"rope_theta\": NaN}");
  EXPECT_EQ(files.relative(complaints_of([&] { read_model(path); })),
            "config.json:3:15: rope_theta: \"NaN\" is not a number above 0");
}

TEST(PythonJson, AComplaintInAListHasItsLine) {
  const TemporaryFiles files;
  const std::string path = files.write("config.json", R"({"model_type": "nemotron-nas",
"num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 64,
"block_configs": [
{"attention": {"n_heads_in_group": 3}}]})");
  EXPECT_EQ(files.relative(complaints_of([&] { read_model(path); })),
            "config.json:4:36: block_configs[0].attention.n_heads_in_group: does not divide the 4 "
            "heads");
}

}  // namespace
}  // namespace spillway::scenarios::python_json_test
