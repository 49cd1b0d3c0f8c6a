#include "tests/e2e/server.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The whole program on a machine that has CUDA devices, as far as its plugin says: two emulated
// ones of 512 MiB.
namespace spillway::e2e {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

/// A profile of a server whose GPUs are its own, and a folder of plugins for the program.
class CudaServer : public Server {
 public:
  CudaServer() : Server(profile()) {
    const std::filesystem::path folder = place().path() / "plugins";
    std::filesystem::create_directory(folder);
    const std::filesystem::path own(SPILLWAY_PROGRAM);
    std::filesystem::create_symlink(
        own.parent_path().parent_path() / "lib/spillway/spillway_sim.so",
        folder / "spillway_sim.so");
    std::filesystem::create_symlink(SPILLWAY_EMULATED_PLUGIN, folder / "spillway_cuda.so");
  }
  /// Eight tokens: its kernels are threads of the processor.
  Ended run(const std::string& arguments, const std::string& environment = "") const {
    return shell(
        place(),
        environment +
            " SPILLWAY_PLUGINS=$PWD/plugins spillway validate --profile server.json --on a --json "
            "--set training.micro_batch=1 --set training.sequence=8 "
            "--set 'strategy.gradients.reduce_bucket=1e6 params' " +
            arguments);
  }

 private:
  static json profile() {
    json server = some_server();
    server["gpu"]["shares_host"] = false;
    server["gpu"]["memory"] = "80 GiB";
    server["gpu"]["context"] = "500 MiB";
    return server;
  }
};

TEST(ValidateOnCuda, TrainsOnTheDevicesAndHasTheMemoryTheyReallyGive) {
  LONG_TEST();
  const CudaServer server;
  const Ended ended = server.run("");  // nobody has to ask for them
  ASSERT_EQ(ended.exit, 0) << ended.err << ended.out;
  const json answer = ended.json();
  EXPECT_EQ(answer["device"], "emulated device, CUDA 13.0, driver for CUDA 13.0");
  EXPECT_THAT(answer["notes"], Contains("on CUDA devices: the driver shows 2"));
  EXPECT_THAT(answer["real"], Contains("forward, backward and their gradients, on the GPU"));
  EXPECT_TRUE(answer["emulated"].empty()) << answer["emulated"];
  EXPECT_EQ(answer["weights_equal"], true);
  ASSERT_EQ(answer["measured"]["feasible"], true) << ended.out;
  // how much is held at once depends on rates, and the profile's are not those of an emulation
  EXPECT_LT(std::abs(answer["errors"]["peak_bytes.gpu.total"].get<double>()), 0.1);
  // not the profile's 80 GiB; the context is scratch of 114 MiB, the kernels of a warm-up, and 32
  // MiB for kernels to come
  EXPECT_EQ(answer["machine"]["gpu"]["memory"], "512 MiB");
  const auto context = answer["machine"]["gpu"]["context"].get<std::string>();
  EXPECT_NEAR(std::stod(context) / (context.ends_with(" KiB") ? 1024 : 1), 148, 2) << context;
  EXPECT_THAT(ended.err, HasSubstr(" on the GPU."));
  EXPECT_TRUE(server.is_empty("a"));
}

TEST(ValidateOnCuda, SharesDevicesAmongMoreRanksAndSaysSo) {
  LONG_TEST();
  const Ended ended =
      CudaServer().run("--device cuda --synthetic --set parallel.data=4 --set run.steps=1");
  ASSERT_EQ(ended.exit, 0) << ended.err << ended.out;
  const json answer = ended.json();
  EXPECT_EQ(answer["measured"]["feasible"], true) << ended.out;
  EXPECT_THAT(answer["notes"], Contains(HasSubstr("4 ranks share 2 GPU(s)")));
  EXPECT_EQ(answer["machine"]["gpu"]["memory"], "256 MiB");
}

/// The devices fault at some call of CUDA and answer every later one with that, as real ones do.
TEST(ValidateOnCuda, EndsWithTheFaultOfADeviceAndLeavesNoFile) {
  LONG_TEST();
  for (const int calls : {500, 1500, 4000}) {
    const CudaServer server;
    const Ended ended = server.run("--device cuda --set run.steps=1",
                                   "EMULATED_CUDA_BREAKS_AFTER=" + std::to_string(calls));
    EXPECT_EQ(ended.exit, 3) << calls << ": " << ended.err << ended.out;
    EXPECT_THAT(ended.out, AnyOf(HasSubstr("cudaErrorIllegalAddress"),
                                 HasSubstr("CUBLAS_STATUS_EXECUTION_FAILED")))
        << calls;
    EXPECT_TRUE(server.is_empty("a")) << calls;
  }
}

TEST(ValidateOnCuda, LeavesAPacedRunToTheHost) {
  const Ended ended = CudaServer().run("--no-reference --pace paced_small");
  ASSERT_EQ(ended.exit, 0) << ended.err << ended.out;
  EXPECT_THAT(ended.json()["device"].get<std::string>(), HasSubstr("host device"));
  EXPECT_THAT(ended.json()["notes"], Contains(HasSubstr("on host devices: a paced run")));
}

}  // namespace
}  // namespace spillway::e2e
