#include "scenarios/description/complaint_json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::description {
namespace {

using nlohmann::json;

TEST(ComplaintJson, HasEveryPartUnderItsNameAndComesBack) {
  const Complaint complaint{"a.json", 3, 7, "training.sequence", "513 tokens", "write at most 512"};
  const json written = complaint;
  EXPECT_EQ(written, json({{"file", "a.json"},
                           {"line", 3},
                           {"column", 7},
                           {"path", "training.sequence"},
                           {"message", "513 tokens"},
                           {"hint", "write at most 512"}}));
  EXPECT_EQ(json(written.get<Complaint>()), written);
}

TEST(ComplaintJson, WithoutAPlaceIsStillWhole) {
  EXPECT_EQ(json(Complaint{}).size(), 6u);
  EXPECT_THROW((void)json({{"file", ""}}).get<Complaint>(), json::exception);
}

}  // namespace
}  // namespace spillway::description
