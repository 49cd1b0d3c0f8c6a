#include "strategies/bounds/left_open.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::left_open_test {
namespace {

description::Strategy parts_of(const std::string& system) {
  return find_system(system)->defaults();
}

TEST(LeftOpen, SaysWhatEachSystemDecidesByTheMachine) {
  const LeftOpen nothing, recomputation{true, false, false}, states{false, true, false},
      placement{false, false, true};
  const std::map<std::string, LeftOpen> expected = {
      {"angel_ptm", placement},     {"capuchin", recomputation},    {"checkmate", recomputation},
      {"colossal_gemini", nothing}, {"flashneuron", recomputation}, {"g10", placement},
      {"lohan", recomputation},     {"memascend", nothing},         {"mlp_offload", states},
      {"resident", nothing},        {"smart_infinity", nothing},    {"ssdtrain", nothing},
      {"stronghold", nothing},      {"teraio", placement},          {"zero_infinity", nothing},
      {"zero_offload", nothing},    {"slideformer", nothing},       {"megatrain", nothing},
      {"superoffload", nothing},    {"greedysnake", nothing},       {"zenflow", nothing}};
  for (const System& system : catalogue())
    EXPECT_EQ(left_open(parts_of(system.name)), expected.at(system.name)) << system.name;
}

/// The parts say it, and so does a mix of them.
TEST(LeftOpen, IsWhatThePartsLeaveOpenTogether) {
  description::Strategy mix = parts_of("zero_offload");
  mix.activations = parts_of("lohan").activations;
  EXPECT_EQ(left_open(mix), (LeftOpen{true, false, false}));
  mix.optimizer = parts_of("angel_ptm").optimizer;
  EXPECT_EQ(left_open(mix), (LeftOpen{true, false, true}));
}

/// Buffers whose number is written fill no memory that is spare.
TEST(LeftOpen, IsClosedByAValue) {
  description::Strategy parts = parts_of("mlp_offload");
  parts.optimizer.buffers = 4;
  parts.optimizer.host_cache = description::Bytes(0);
  EXPECT_EQ(left_open(parts), LeftOpen());
}

}  // namespace
}  // namespace spillway::strategies::left_open_test
