#include "hw_backend/probe/probe.hpp"

#include "hw_backend/device/host_device.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/probe/device_loop.hpp"
#include "hw_backend/probe/session.hpp"
#include "hw_backend/storage/open_engine.hpp"
#include "scenarios/document/read_machine.hpp"
#include "tests/long_test.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <csignal>
#include <fstream>
#include <thread>

namespace spillway::hw_backend {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

/// Two empty directories on one file system.
class Probing : public testing::Test {
 protected:
  Probing() {
    fs::remove_all(root_);
    for (const char* name : {"nvme", "other"}) fs::create_directories(root_ / name);
    options_.quick = true;
    options_.in_memory = true;
    options_.products = {{128, 512, 512}};
    options_.name = "a box";
  }
  ~Probing() override { fs::remove_all(root_); }

  std::size_t left() const {
    return static_cast<std::size_t>(
        std::distance(fs::recursive_directory_iterator(root_), fs::recursive_directory_iterator()));
  }

  fs::path root_ = fs::path(testing::TempDir()) /
                   ("spillway_probe_" +
                    std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
  ProbeOptions options_;
};

/// Paths of numbers and choices without a source.
void unsourced(const json& value, const std::string& path,
               const std::map<std::string, std::string>& sources, std::vector<std::string>& out) {
  if (value.is_object() || value.is_array()) {
    for (const auto& [key, item] : value.items()) {
      if (key == "name" || (path.empty() && key == "sources")) continue;
      const std::string step = value.is_array() ? item.at("name").get<std::string>() : key;
      unsourced(item, path.empty() ? step : path + "." + step, sources, out);
    }
    return;
  }
  if (!sources.contains(path)) out.push_back(path);
}

/// A death test: only the end of the process ends the thread that hangs.
TEST(DeviceLoopDeathTest, ADeviceThatNeverAnswersIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto engine = open_engine({});
        HostDevice device(true);
        DeviceLoop loop(device, *engine, 0.2);
        loop.run([](Primitives&) { std::this_thread::sleep_for(std::chrono::seconds(100)); });
      },
      testing::ExitedWithCode(3), "host device.*: a measurement hangs: no end within 0.2 s");
}

TEST(Products, OfAModelAreCountedByShape) {
  models::StepProgram program;
  for (const std::uint64_t columns : {64, 32, 64}) {
    models::Operator op;
    op.gemm = {16, columns, 8};
    program.operators.push_back(op);
  }
  program.operators.emplace_back();                        // no product
  program.operators.push_back(program.operators.front());  // of backward
  models::LayerSpan layer;
  layer.forward = {0, 4};
  program.layers = {layer};
  const std::vector<ProductShape> shapes = products_of(program);
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].columns, 64u);
  EXPECT_EQ(shapes[0].times, 2u);
  EXPECT_EQ(shapes[1].inner, 8u);
  EXPECT_EQ(shapes[1].times, 1u);
}

TEST(Attention, OfAModelIsThatOfOneRank) {
  models::Model model;
  model.architecture.heads = 32;
  model.architecture.kv_heads = 8;
  model.architecture.head_dim = 64;
  models::StepProgram program;
  program.workload.tensor = 2;
  program.workload.micro_batch = 3;
  program.workload.sequence = 512;
  EXPECT_FALSE(attention_of(model, program));  // nothing attends
  program.operators.emplace_back().function = models::OperatorFunction::attention;
  program.operators.back().causal = true;
  const auto shape = attention_of(model, program);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->samples, 3u);
  EXPECT_EQ(shape->sequence, 512u);
  EXPECT_EQ(shape->heads, 16u);
  EXPECT_EQ(shape->kv_heads, 4u);
  EXPECT_TRUE(shape->causal);
  EXPECT_FLOAT_EQ(shape->scale, 0.125f);
  program.workload.attention = models::Attention::materialized;
  EXPECT_FALSE(attention_of(model, program));
}

TEST_F(Probing, GivesAMachineFileThatIsReadWithoutComplaint) {
  options_.directories = {root_ / "nvme", root_ / "other"};
  options_.devices = 2;
  double share = -1;
  std::string step;
  std::map<std::string, std::uint64_t> largest;  // request of a step
  options_.uring.answer = [&](const Transfer&, std::uint64_t, std::uint64_t bytes, int result) {
    largest[step] = std::max(largest[step], bytes);
    return result;
  };
  const Probed probed = probe(options_, [&](double done, const std::string& what) {
    step = what;
    EXPECT_GE(done, share);
    EXPECT_LE(done, 1);
    EXPECT_FALSE(what.empty());
    share = done;
  });
  EXPECT_EQ(left(), 2u);  // the two directories
  const fs::path file = root_ / "machine.json";
  std::ofstream(file) << json(probed.machine).dump();
  const description::MachineFile read = scenarios::read_machine(file.string());

  EXPECT_EQ(read.name, "a box");
  EXPECT_TRUE(read.gpu.shares_host);
  EXPECT_EQ(read.gpu.count, 2u);
  EXPECT_EQ(read.gpu.elementwise, description::ElementwiseCost::separate);
  EXPECT_EQ(read.gpu.context.value(), 0u);
  EXPECT_EQ(read.gpu.attention.size(), 3u);  // fp32, fp16, bf16
  EXPECT_GT(read.gpu.attention.at("bf16").value(), 0);
  ASSERT_TRUE(read.gpu.reduction);
  EXPECT_GT(read.gpu.reduction->value(), 0);
  EXPECT_EQ(read.host.cores, usable_cores());
  ASSERT_EQ(read.storage.size(), 2u);
  EXPECT_EQ(read.storage[0].name, "nvme");
  EXPECT_EQ(read.storage[1].name, "other");
  // they share a file system, so that each may have half
  EXPECT_EQ(read.storage[0].capacity.value(), read.storage[1].capacity.value());
  EXPECT_FALSE(read.storage[0].device.empty());
  EXPECT_EQ(read.storage[0].device, read.storage[1].device);
  EXPECT_THAT(text::words_of(probed.warnings), Contains(HasSubstr("nvme, other are on ")));
  EXPECT_LE(probed.bytes_written, 2 * probe_writes(options_));
  EXPECT_GT(probed.bytes_written, 0u);

  EXPECT_EQ(largest.at("nvme: 50 % reads, 1024 KiB requests"), 1u << 20);
  EXPECT_EQ(largest.at("nvme: 50 % reads, 256 KiB requests"), 256u << 10);
  EXPECT_EQ(largest.at("nvme: writing, 256 KiB requests"), 256u << 10);
  EXPECT_EQ(largest.at("nvme: files"), 1u << 20);  // the first engine is back
  ASSERT_EQ(probed.mixes.size(), 4u);
  for (std::size_t i = 0; i < probed.mixes.size(); ++i) {
    const MixedRequests& mix = probed.mixes[i];
    EXPECT_EQ(mix.storage, read.storage[i / 2].name);
    EXPECT_EQ(mix.in_machine_file, i % 2 == 0);
    EXPECT_EQ(mix.request_bytes, i % 2 == 0 ? 1u << 20 : 256u << 10);
    EXPECT_GT(mix.efficiency.median, 0);
  }
  EXPECT_EQ(read.storage[1].mixed_efficiency, four_digits(probed.mixes[2].efficiency.median));
  EXPECT_THAT(read.sources.at("storage.nvme.mixed_efficiency"),
              HasSubstr("r/R + w/W with 1024 KiB requests, by least squares"));

  std::vector<std::string> missing;
  unsourced(json(probed.machine), "", probed.machine.sources, missing);
  EXPECT_THAT(missing, testing::IsEmpty());
  for (const auto& [path, source] : read.sources)
    EXPECT_TRUE(source.starts_with("measured: ") || source.starts_with("assumed: "))
        << path << ": " << source;
  EXPECT_EQ(probed.products.size(), 3u);  // fp32, fp16, bf16
  for (const Measurement& each : probed.measurements) EXPECT_LE(each.least, each.most);
}

TEST_F(Probing, NeedsNoDirectory) {
  LONG_TEST();
  const Probed probed = probe(options_);
  EXPECT_TRUE(probed.machine.storage.empty());
  EXPECT_EQ(probed.bytes_written, 0u);
  EXPECT_GT(probed.machine.host.adam.value(), 0);
  for (const char* type : {"fp32", "fp16", "bf16"}) {
    EXPECT_GT(probed.machine.host.compute.at(type).value(), 0) << type;
    EXPECT_TRUE(probed.machine.sources.at(std::string("host.compute.") + type)
                    .starts_with("measured: products of"));
  }
}

TEST_F(Probing, ThatIsInterruptedLeavesNothing) {
  options_.directories = {root_ / "nvme"};
  const InterruptGuard guard;
  EXPECT_THROW(probe(options_,
                     [&](double, const std::string& what) {
                       if (what.find("writing") == std::string::npos) return;
                       EXPECT_GT(left(), 2u);
                       std::raise(SIGINT);
                     }),
               Interrupted);
  EXPECT_EQ(left(), 2u);
}

TEST(InterruptGuard, ForgetsASignalAtItsEnd) {
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_THROW(stop_if_interrupted(), Interrupted);
  }
  EXPECT_NO_THROW(stop_if_interrupted());
}

TEST_F(Probing, RefusesAWrongDirectoryBeforeItMeasuresAny) {
  options_.directories = {root_ / "nvme", root_ / "othr"};
  int steps = 0;
  try {
    probe(options_, [&](double, const std::string&) { ++steps; });
    FAIL();
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean"));
  }
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(left(), 2u);
}

TEST_F(Probing, RefusesADirectoryInMemory) {
  if (!fs::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  options_.directories = {"/dev/shm"};
  options_.in_memory = false;
  EXPECT_THROW(probe(options_), description::ScenarioError);
}

/// A GPU with memory of its own, as far as anybody can tell.
class Pretender final : public Device {
 public:
  std::string name() const override { return "a GPU"; }
  bool shares_host() const override { return false; }
  std::byte* allocate(std::uint64_t bytes) override { return host_.allocate(bytes); }
  void free(std::byte* memory, std::uint64_t bytes) noexcept override { host_.free(memory, bytes); }
  void pin(std::byte* memory, std::uint64_t) override { pinned.insert(memory); }
  void unpin(std::byte* memory) noexcept override { pinned.erase(memory); }
  using Device::run;
  void run(Stream stream, double at_least_s, std::vector<DeviceWork> parts, Done done) override {
    host_.run(stream, at_least_s, std::move(parts), std::move(done));
  }
  void copy(Stream stream, double at_least_s, std::byte* into, const std::byte* from,
            std::uint64_t bytes, Done done) override {
    host_.copy(stream, at_least_s, into, from, bytes, std::move(done));
  }
  void collective(double at_least_s, PeerCall call, Done done) override {
    host_.collective(at_least_s, std::move(call), std::move(done));
  }
  float fetch(const std::byte* from) override { return host_.fetch(from); }
  std::optional<std::string> quiesce(double limit_s) override { return host_.quiesce(limit_s); }

  static inline std::set<std::byte*> pinned;

 private:
  HostDevice host_{true};
};

TEST_F(Probing, OfAGpuTakesItsMemoryFromItsOpenerAndUnpinsWhatItPinned) {
  LONG_TEST();
  options_.open_device = [](std::size_t index) {
    EXPECT_EQ(index, 0u);  // one device, and a second could not be had
    return std::make_unique<Pretender>();
  };
  options_.device_memory = 512ull << 20;  // an eighth is what its kernels work on
  options_.attention = AttentionShape();
  options_.attention->samples = options_.attention->heads = options_.attention->kv_heads = 1;
  options_.attention->sequence = options_.attention->head_dim = 64;
  options_.device_context = 1ull << 29;
  const description::MachineFile machine = probe(options_).machine;
  EXPECT_FALSE(machine.gpu.shares_host);
  EXPECT_EQ(machine.gpu.memory.value(), 512ull << 20);
  EXPECT_EQ(machine.gpu.context.value(), 1ull << 29);
  EXPECT_FALSE(machine.gpu.peer_rate);
  EXPECT_TRUE(Pretender::pinned.empty());
}

}  // namespace
}  // namespace spillway::hw_backend
