#include "reports/trace/pickle.hpp"
#include "reports/trace/memory_snapshot.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::reports {
namespace {

using namespace std::string_literals;
using nlohmann::json;

// What Python's pickletools say of these bytes: PROTO 2, then the value, then STOP.
TEST(Pickle, WritesProtocolTwo) {
  EXPECT_EQ(pickled(nullptr), "\x80\x02N."s);
  EXPECT_EQ(pickled(true), "\x80\x02\x88."s);
  EXPECT_EQ(pickled(258), "\x80\x02J\x02\x01\x00\x00."s);
  EXPECT_EQ(pickled(-1), "\x80\x02J\xff\xff\xff\xff."s);
  EXPECT_EQ(pickled(1.5), "\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."s);
  EXPECT_EQ(pickled("ab"), "\x80\x02X\x02\x00\x00\x00"s + "ab.");
  EXPECT_EQ(pickled(json::array()), "\x80\x02]."s);
  EXPECT_EQ(pickled(json::array({1})), "\x80\x02](J\x01\x00\x00\x00"s + "e.");
  EXPECT_EQ(pickled({{"a", nullptr}}), "\x80\x02}(X\x01\x00\x00\x00"s + "aNu.");
}

TEST(Pickle, WritesNumbersBeyondThirtyTwoBitsAsEightBytes) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(pickled(large), "\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x01\x00\x00."s);
}

TEST(MemorySnapshot, PutsABufferWhereAnEarlierOneWas) {
  result::Trace trace;
  trace.buffers = {{"gpu 0", 0, "weights", "init", 60, 64, false, 0, 1.0},
                   {"gpu 0", 0, "activations", "forward", 60, 64, false, 1, std::nullopt}};
  const std::string text = memory_snapshot(trace);
  const std::string size = "total_sizeJ\x40\x00\x00\x00"s;  // 64 bytes are enough for both
  EXPECT_NE(text.find(size), std::string::npos);
  EXPECT_NE(text.find("active_allocated"), std::string::npos);
}

}  // namespace
}  // namespace spillway::reports
