#include "scenarios/evidence/evidence.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/reports/text/words_of.hpp"

namespace spillway::evidence {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Evidence shipped(const std::string& name) {
  return read_evidence((description::data_root() / "tests/data/evidence" / name).string());
}

/// A file of a test, gone with it.
class Written {
 public:
  explicit Written(const std::string& text, const std::string& name = "evidence_test.txt")
      : path_(testing::TempDir() + std::to_string(getpid()) + name) {
    std::ofstream(path_) << text;
  }
  ~Written() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string refusal_of(const std::string& text) {
  const Written file(text);
  try {
    read_evidence(file.path());
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(error.complaints(), SizeIs(1));
    EXPECT_EQ(to_string(error.complaints().front()).find('\n'), std::string::npos);
    return error.complaints().front().message;
  }
  return "read";
}

double reading(const Evidence& evidence, const std::string& path) {
  for (const Reading& one : evidence.readings)
    if (one.path == path) return one.value;
  ADD_FAILURE() << "no " << path;
  return 0;
}

TEST(Evidence, OfFioAreTheRatesOfLargeRequestsAndWhatAMixCosts) {
  const Evidence fio = shipped("fio.json");
  EXPECT_EQ(fio.kind, "fio 3.33");
  EXPECT_EQ(reading(fio, "storage.read"), 1016800969);
  EXPECT_EQ(reading(fio, "storage.write"), 883011368);
  // 533,486,035 / 1,016,800,969 + 643,862,456 / 883,011,368 = 0.52467 + 0.72917 = 1.25383, reads
  // x = 0.41845 of it: 4x(1 - x) = 0.97340, and 0.25383 / 0.97340 more than 1 at half
  EXPECT_NEAR(reading(fio, "storage.mixed_efficiency"), 1.26077, 1e-4);
  ASSERT_THAT(fio.notes, SizeIs(1));
  EXPECT_THAT(text::words(fio.notes[0]), HasSubstr("randread of 4.00 KiB"));
}

// What is left of a group is not what its jobs move together.
TEST(Evidence, OfFioNamesAJobThatFailedAndLeavesItsGroupOut) {
  const Written file(R"({"fio version":"fio-3.33","jobs":[
    {"jobname":"r","groupid":0,"error":0,"job options":{"rw":"read","bs":"1M","iodepth":"32",
     "ioengine":"libaio","direct":"1"},"read":{"bw_bytes":6600000000},"write":{"bw_bytes":0}},
    {"jobname":"w1","groupid":1,"error":28,"job options":{"rw":"write","bs":"1M","direct":"1"}},
    {"jobname":"w2","groupid":1,"error":0,"job options":{"rw":"write","bs":"1M","iodepth":"32",
     "direct":"1"},"read":{"bw_bytes":0},"write":{"bw_bytes":1000000000}}]})");
  const Evidence fio = read_evidence(file.path());
  EXPECT_THAT(fio.readings, ElementsAre(Field(&Reading::path, "storage.read")));
  ASSERT_THAT(fio.notes, SizeIs(1));
  EXPECT_THAT(text::words(fio.notes[0]), HasSubstr("job w1 ended with error 28 (No space left"));
}

TEST(Evidence, OfFioHasNoNegativeRates) {
  const Written file(R"({"fio version":"fio-3.33","jobs":[{"jobname":"r","error":0,
    "job options":{"rw":"read","bs":"1M"},"read":{"bw_bytes":-675},"write":{"bw_bytes":0}}]})");
  try {
    read_evidence(file.path());
    FAIL();
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("job r has a negative rate"));
  }
}

// nvidia-smi -q -i 0 describes one card, and its head counts all.
TEST(Evidence, OfOneOfSeveralCardsCountsThoseThatAreAttached) {
  const Written file(
      "==============NVSMI LOG==============\n"
      "Attached GPUs                             : 4\n"
      "GPU 00000000:1B:00.0\n"
      "    Product Name                          : NVIDIA H100 80GB HBM3\n");
  const Evidence query = read_evidence(file.path());
  EXPECT_EQ(reading(query, "gpu.count"), 4);
  ASSERT_FALSE(query.notes.empty());
  EXPECT_THAT(text::words(query.notes[0]), HasSubstr("1 of 4 GPUs described"));
}

TEST(Evidence, OfAnOldFioCountKibibytesAndOfSeveralDrivesIsADrivesShare) {
  const Written file(
      "fio: this job asks for more than it gets\n"
      R"({"fio version":"fio-2.16","global options":{"ioengine":"libaio","iodepth":"8"},"jobs":[
        {"jobname":"a","groupid":0,"error":0,
         "job options":{"rw":"read","bs":"1m","direct":"1","filename":"/dev/nvme0n1:/dev/nvme1n1"},
         "read":{"io_bytes":1,"bw":4000000},"write":{"bw":0}},
        {"jobname":"b","groupid":0,"error":0,
         "job options":{"rw":"read","bs":"1m","direct":"1","filename":"/dev/nvme0n1:/dev/nvme1n1"},
         "read":{"io_bytes":1,"bw":2000000},"write":{"bw":0}}]})"
      "\nDisk stats (read/write):\n");
  // (4,000,000 + 2,000,000) KiB/s over two drives
  EXPECT_EQ(reading(read_evidence(file.path()), "storage.read"), 3000000.0 * 1024);
}

/// Output of fio with `own` options for each job of one group, 3 GB/s each.
std::string fio_of(const std::vector<std::string>& own, const std::string& all,
                   const std::string& more = "") {
  std::string text = R"({"fio version":"fio-3.33","global options":{"rw":"read","bs":"1m",)"
                     R"("direct":"1",)" +
                     all + "},\"jobs\":[";
  for (const std::string& options : own)
    text += (text.ends_with('[') ? "" : ",") +
            (R"({"jobname":"a","groupid":0,"error":0,"job options":{)" + options +
             R"(},"read":{"bw_bytes":3000000000},"write":{"bw_bytes":0}})");
  return text + "]" + more + "}";
}

constexpr const char* deep = R"("ioengine":"io_uring","iodepth":"32")";

TEST(Evidence, OfAJobADriveInOneGroupIsADrivesShare) {
  const Written devices(
      fio_of({R"("filename":"/dev/nvme0n1")", R"("filename":"/dev/nvme1n1p1")"}, deep));
  EXPECT_EQ(reading(read_evidence(devices.path()), "storage.read"), 3e9);
  const Written folders(fio_of({R"("filename":"/mnt/a/x")", R"("filename":"/mnt/b/x")"}, deep));
  EXPECT_EQ(reading(read_evidence(folders.path()), "storage.read"), 3e9);
  // Two files of one drive are one drive's rate.
  const Written files(fio_of({R"("filename":"/mnt/a/x")", R"("filename":"/mnt/a/y")"}, deep));
  EXPECT_EQ(reading(read_evidence(files.path()), "storage.read"), 6e9);
}

// With group_reporting one entry stands for all jobs of the group, with the files of the last.
TEST(Evidence, OfAGroupInOneEntryIsTheShareOfEachDiskAtWork) {
  const std::string disks =
      R"(,"disk_util":[{"name":"md0","read_ios":9,"write_ios":0},
          {"name":"nvme0n1","read_ios":9,"write_ios":0},
          {"name":"nvme1n1","read_ios":9,"write_ios":0},
          {"name":"sda","read_ios":0,"write_ios":0}])";
  const Written file(fio_of({R"("filename":"/dev/nvme1n1")"},
                            std::string(deep) + R"(,"group_reporting":"1")", disks));
  EXPECT_EQ(reading(read_evidence(file.path()), "storage.read"), 1.5e9);
  const Written array(fio_of({R"("filename":"/dev/md0")"}, deep, disks));
  EXPECT_EQ(reading(read_evidence(array.path()), "storage.read"), 1.5e9);
}

TEST(Evidence, OfASynchronousEngineIsOneRequestAtATimeWhateverItsDepth) {
  for (const char* engine : {"", R"(,"ioengine":"psync")", R"(,"ioengine":"mmap")"}) {
    const Written file(
        fio_of({R"("filename":"/dev/nvme0n1")"}, std::string(R"("iodepth":"32")") + engine));
    const Evidence single = read_evidence(file.path());
    EXPECT_THAT(single.readings, IsEmpty()) << engine;
    ASSERT_THAT(single.notes, SizeIs(1));
    EXPECT_THAT(text::words(single.notes[0]), HasSubstr("one request at a time"));
  }
  // Two jobs keep one request on each of two drives.
  const Written two(fio_of({R"("filename":"/dev/nvme0n1")", R"("filename":"/dev/nvme1n1")"},
                           R"("iodepth":"32")"));
  EXPECT_THAT(read_evidence(two.path()).readings, IsEmpty());
}

TEST(Evidence, OfOneRequestAtATimeMovesNothing) {
  const Written file(R"({"fio version":"fio-3.33","jobs":[{"jobname":"a","groupid":0,"error":0,
      "job options":{"rw":"read","bs":"1m","direct":"1"},"read":{"bw_bytes":600000000},
      "write":{"bw_bytes":0}}]})");
  const Evidence single = read_evidence(file.path());
  EXPECT_THAT(single.readings, IsEmpty());
  ASSERT_THAT(single.notes, SizeIs(1));
  EXPECT_THAT(text::words(single.notes[0]), HasSubstr("one request at a time"));
}

TEST(Evidence, OfThePageCacheMovesNothing) {
  const Written file(R"({"fio version":"fio-3.33","jobs":[{"jobname":"a","groupid":0,"error":0,
      "job options":{"rw":"read","bs":"1m"},"read":{"bw_bytes":5000000000},
      "write":{"bw_bytes":0}}]})");
  const Evidence cached = read_evidence(file.path());
  EXPECT_THAT(cached.readings, IsEmpty());
  ASSERT_THAT(cached.notes, SizeIs(1));
  EXPECT_THAT(text::words(cached.notes[0]), HasSubstr("page cache"));
}

TEST(Evidence, OfADriveIsWhatItHasWrittenAndUsedUp) {
  const Evidence drive = shipped("smartctl.json");
  ASSERT_TRUE(drive.drive.has_value());
  EXPECT_EQ(drive.drive->model, "SAMSUNG MZVL21T0HCLR-00B00");
  EXPECT_EQ(drive.drive->bytes_written, 113671875.0 * 512000);  // 58.2 TB
  EXPECT_EQ(drive.drive->percent_used, 16u);
  EXPECT_EQ(reading(drive, "storage.capacity"), 1024209543168);
}

TEST(Evidence, OfADriveIsReadFromTextToo) {
  const Written file(
      "smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)\n"
      "=== START OF INFORMATION SECTION ===\nModel Number:                       X\n"
      "=== START OF SMART DATA SECTION ===\nPercentage Used:                    12%\n"
      "Data Units Written:                 682,594,316 [349 TB]\n");
  const Evidence drive = read_evidence(file.path());
  ASSERT_TRUE(drive.drive.has_value());
  EXPECT_EQ(drive.drive->bytes_written, 682594316.0 * 512000);
  EXPECT_EQ(drive.drive->percent_used, 12u);
}

// smartctl writes numbers as the locale has them.
TEST(Evidence, OfADriveIsReadInAnyLocale) {
  for (const char* units : {"682.594.316", "682 594 316", "682\u202f594\u202f316", "682594316"}) {
    SCOPED_TRACE(units);
    const Written file(
        "smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)\n"
        "=== START OF SMART DATA SECTION ===\nPercentage Used:    12%\n"
        "Data Units Written:   " +
        std::string(units) + " [349 TB]\n");
    const Evidence drive = read_evidence(file.path());
    ASSERT_TRUE(drive.drive.has_value());
    EXPECT_EQ(drive.drive->bytes_written, 682594316.0 * 512000);
  }
}

TEST(Evidence, OfACardNamesLanesAndAPowerLimitBelowTheirRating) {
  const Evidence card = shipped("nvidia_smi.txt");
  EXPECT_EQ(reading(card, "gpu.count"), 1);
  EXPECT_EQ(reading(card, "gpu.memory"), 24564.0 * 1024 * 1024);
  EXPECT_EQ(reading(card, "gpu.reserve"), 352.0 * 1024 * 1024);
  EXPECT_THAT(card.shortfalls,
              ElementsAre(AllOf(Field(&Shortfall::what, HasSubstr("lanes")),
                                Field(&Shortfall::rated, 16), Field(&Shortfall::found, 8)),
                          AllOf(Field(&Shortfall::what, HasSubstr("power limit")),
                                Field(&Shortfall::rated, 450), Field(&Shortfall::found, 350))));
}

TEST(Evidence, OfACardIsTheSameInXml) {
  const Written file(
      "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<gpu id=\"00000000:01:00.0\">\n"
      "<product_name>NVIDIA H100</product_name>\n<pci><pci_gpu_link_info><pcie_gen>"
      "<max_device_link_gen>5</max_device_link_gen><max_host_link_gen>4</max_host_link_gen>"
      "</pcie_gen><link_widths><max_link_width>16x</max_link_width>"
      "<current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info></pci>\n"
      "<fb_memory_usage><total>81559 MiB</total><reserved>551 "
      "MiB</reserved></fb_memory_usage>\n</gpu>\n</nvidia_smi_log>\n");
  const Evidence card = read_evidence(file.path());
  EXPECT_EQ(reading(card, "gpu.memory"), 81559.0 * 1024 * 1024);
  EXPECT_EQ(reading(card, "gpu.reserve"), 551.0 * 1024 * 1024);
  ASSERT_THAT(card.shortfalls, SizeIs(1));
  EXPECT_THAT(card.shortfalls[0].what, HasSubstr("generation"));
}

TEST(Evidence, OfProcessorsAreCoresNotThreads) {
  EXPECT_EQ(reading(shipped("lscpu.txt"), "host.cores"), 16);
  const Evidence topology = shipped("topology.xml");
  EXPECT_EQ(reading(topology, "host.cores"), 2);
  EXPECT_EQ(reading(topology, "host.memory"), 67386843136);
  EXPECT_EQ(reading(topology, "gpu.count"), 1);  // the board's own display is none
  const Written json(R"({"lscpu":[{"field":"CPU(s):","data":"8"},
      {"field":"Model name:","data":"X","children":[{"field":"Core(s) per socket:","data":"4"},
      {"field":"Socket(s):","data":"1"},{"field":"Thread(s) per core:","data":"2"}]}]})");
  EXPECT_EQ(reading(read_evidence(json.path()), "host.cores"), 4);
}

// 1002:164e is the graphics unit of a processor.
TEST(Evidence, OfATopologyAreNvidiasCardsWhereItHasThem) {
  const auto topology = [](const std::string& devices) {
    return "<topology version=\"2.0\"><object type=\"Core\" os_index=\"0\"/>" + devices +
           "</topology>";
  };
  const std::string amd = "<object type=\"PCIDev\" pci_type=\"0300 [1002:164e] [1462:7d78] c1\"/>";
  const std::string nvidia =
      "<object type=\"PCIDev\" pci_type=\"0300 [10de:2684] [1462:5104] a1\"/>";
  EXPECT_EQ(reading(read_evidence(Written(topology(amd + nvidia)).path()), "gpu.count"), 1);
  EXPECT_EQ(reading(read_evidence(Written(topology(nvidia + nvidia)).path()), "gpu.count"), 2);
  EXPECT_EQ(reading(read_evidence(Written(topology(amd)).path()), "gpu.count"), 1);
}

TEST(Evidence, OfModulesAreTheirSizeAndAProfileThatIsOff) {
  const Written file(
      "# dmidecode 3.4\nHandle 0x0011, DMI type 17, 92 bytes\nMemory Device\n\tSize: 32 GB\n"
      "\tLocator: DIMM_A2\n\tSpeed: 6000 MT/s\n\tConfigured Memory Speed: 3600 MT/s\n\n"
      "Memory Device\n\tSize: No Module Installed\n\tLocator: DIMM_A1\n\n"
      "Memory Device\n\tSize: 32 GB\n\tLocator: DIMM_B2\n\tSpeed: 6000 MT/s\n"
      "\tConfigured Memory Speed: 3600 MT/s\n");
  const Evidence memory = read_evidence(file.path());
  EXPECT_EQ(reading(memory, "host.memory"), 64.0 * 1024 * 1024 * 1024);
  EXPECT_THAT(memory.shortfalls,
              ElementsAre(AllOf(Field(&Shortfall::what, "memory module DIMM_A2"),
                                Field(&Shortfall::rated, 6000), Field(&Shortfall::found, 3600))));
}

TEST(Evidence, OfDeepSpeedAreStepsPhasesAndPeaks) {
  const Evidence log = shipped("deepspeed.log");
  ASSERT_THAT(log.runs, SizeIs(1));
  const LoggedRun& run = log.runs[0];
  EXPECT_EQ(run.program, "DeepSpeed");
  EXPECT_FALSE(run.step_s);  // its timers leave out what lies between them
  EXPECT_NEAR(run.stamped_step_s.value(), 9, 1e-6);
  EXPECT_THAT(run.phases_s, testing::Contains(testing::Pair("bwd", testing::DoubleEq(3.01))));
  EXPECT_NEAR(run.samples_per_s.value(), (0.8922 + 0.8928) / 2, 1e-9);
  EXPECT_EQ(run.gpu_bytes.value(), 16.25 * 1024 * 1024 * 1024);
  EXPECT_EQ(run.host_bytes.value(), 41.5 * 1024 * 1024 * 1024);
}

// Every ten steps, the sum of ten.
TEST(Evidence, OfDeepSpeedsPipelinesAreMeansOfTheStepsBetween) {
  const Written file(
      "[Rank 0] steps: 10 loss: 2.1 iter time (s): 1.234 samples/sec: 6.483\n"
      "[Rank 0] time (ms) | pipe_send_output: 120.00 | batch_input: 40.00 | forward: 3000.00 | "
      "backward: 7000.00 | step: 1000.00\n"
      "[Rank 0] steps: 20 loss: 2.0 iter time (s): 1.236 samples/sec: 6.472\n"
      "[Rank 0] time (ms) | pipe_send_output: 120.00 | batch_input: 40.00 | forward: 3000.00 | "
      "backward: 7000.00 | step: 1000.00\n");
  const LoggedRun run = read_evidence(file.path()).runs.at(0);
  EXPECT_NEAR(run.step_s.value(), 1.235, 1e-9);
  EXPECT_NEAR(run.samples_per_s.value(), (6.483 + 6.472) / 2, 1e-9);
  EXPECT_THAT(run.phases_s, testing::Contains(testing::Pair("backward", testing::DoubleEq(0.7))));
}

TEST(Evidence, OfMegatronAreIterationsAndTimers) {
  const Evidence log = shipped("megatron.log");
  ASSERT_THAT(log.runs, SizeIs(1));
  const LoggedRun& run = log.runs[0];
  EXPECT_EQ(run.logged, 2u);
  EXPECT_NEAR(run.step_s.value(), 0.747, 1e-9);
  EXPECT_EQ(run.gpu_bytes.value(), 5670.39 * 1024 * 1024);
  EXPECT_THAT(run.phases_s, ElementsAre(testing::Pair("forward-backward", 0.610),
                                        testing::Pair("optimizer", 0.120)));
}

TEST(Evidence, OfTheTrainerAreItsRatesOnceItHasEnded) {
  const Evidence log = shipped("trainer.log");
  ASSERT_THAT(log.runs, SizeIs(1));
  EXPECT_NEAR(log.runs[0].step_s.value(), 1800.0 / 200, 1e-9);
  EXPECT_EQ(log.runs[0].samples_per_s.value(), 0.889);
  EXPECT_THAT(refusal_of("{'loss': 1.8, 'epoch': 0.1}\n"), HasSubstr("has not ended"));
  const Written state(R"({"global_step":200,"log_history":[{"loss":1.0},
      {"train_runtime":40.0,"train_samples_per_second":40.0,"train_steps_per_second":5.0}]})");
  EXPECT_NEAR(read_evidence(state.path()).runs.at(0).step_s.value(), 0.2, 1e-12);
}

// Rates have three decimals: 0.003 steps a second are 286 to 400 s each.
TEST(Evidence, OfTheTrainerAreTheRunTimeAndItsSteps) {
  const Written state(R"({"global_step":20,"log_history":[
      {"train_runtime":8000.0,"train_samples_per_second":0.005,"train_steps_per_second":0.003}]})");
  const Evidence of_state = read_evidence(state.path());
  EXPECT_NEAR(of_state.runs.at(0).step_s.value(), 400, 1e-9);
  EXPECT_FALSE(of_state.runs.at(0).samples_per_s);
  EXPECT_THAT(refusal_of("{'train_runtime': 8000.0, 'train_samples_per_second': 0.005, "
                         "'train_steps_per_second': 0.003}\n"),
              HasSubstr("three decimals"));
}

TEST(Evidence, OfTheTrainerAreTheStepsOfItsTrainingWhateverItEvaluates) {
  const Written file(
      "100%|##########| 50/50 [01:10<00:00,  1.40s/it]\n"
      "100%|##########| 200/200 [30:00<00:00,  9.00s/it]\n"
      "{'train_runtime': 1800.0, 'train_samples_per_second': 0.889, "
      "'train_steps_per_second': 0.111}\n"
      "100%|##########| 50/50 [01:10<00:00,  1.40s/it]\n");
  EXPECT_NEAR(read_evidence(file.path()).runs.at(0).step_s.value(), 9, 1e-9);
}

TEST(Evidence, OfATableAreALineARun) {
  const Evidence table = shipped("runs.csv");
  ASSERT_THAT(table.runs, SizeIs(3));
  EXPECT_EQ(table.runs[1].program, "model Llama-3.1-8B, batch size 16");
  EXPECT_EQ(table.runs[1].step_s.value(), 11.934);
  EXPECT_EQ(table.runs[1].gpu_bytes.value(), 10620.7 * 1024 * 1024);
  EXPECT_EQ(table.runs[1].host_bytes.value(), 176341.0 * 1024 * 1024);
}

TEST(Evidence, OfATableMayHaveBytesAndQuotedCells) {
  const Written file(
      "name,step_time_ms,peak_gpu_mem_bytes,tokens/s\na,1.2,21474836480,\"3,000\"\n");
  const Evidence table = read_evidence(file.path());
  ASSERT_THAT(table.runs, SizeIs(1));
  EXPECT_EQ(table.runs[0].gpu_bytes, 21474836480.0);
  EXPECT_EQ(table.runs[0].tokens_per_s, 3000);
}

TEST(Evidence, OfATableSaysWhichRatesAreOfOneCard) {
  const Written file("tokens per sec per gpu,samples/s/GPU,tokens/s (all GPUs)\n1500,0.5,12000\n");
  const Evidence table = read_evidence(file.path());
  ASSERT_THAT(table.runs, SizeIs(1));
  EXPECT_EQ(table.runs[0].tokens_per_s_of_rank, 1500);
  EXPECT_EQ(table.runs[0].samples_per_s_of_rank, 0.5);
  EXPECT_EQ(table.runs[0].tokens_per_s, 12000);
  EXPECT_FALSE(table.runs[0].samples_per_s);
}

TEST(Evidence, OfAProfilerAreRatesOfProductsAndOfCopies) {
  const Written file(R"trace({"traceEvents":[
      {"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":5,"args":{"External id":7,
       "Input Dims":[[4096,2048],[2048,4096]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
      {"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":500,"args":{"External id":7}},
      {"ph":"X","cat":"cpu_op","name":"aten::mm","ts":2,"dur":5,"args":{"External id":8,
       "Input Dims":[[4096,16],[16,4096]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
      {"ph":"X","cat":"kernel","name":"small","ts":3,"dur":500,"args":{"External id":8}},
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","ts":4,"dur":1000,
       "args":{
  "bytes" : 25000000}},
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","ts":5,"dur":1000,
       "args":{"bytes":8000000}},
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pinned)","ts":6,"dur":9,
       "args":{"bytes":4096}}]
})trace");
  const Evidence trace = read_evidence(file.path());
  EXPECT_THAT(trace.readings, SizeIs(3));
  // 2 x 4096 x 2048 x 4096 FLOPs in 500 us
  EXPECT_NEAR(reading(trace, "gpu.compute.bf16"), 2.0 * 4096 * 2048 * 4096 / 500e-6, 1);
  EXPECT_NEAR(reading(trace, "pcie.h2d"), 25e9, 1);
  EXPECT_NEAR(reading(trace, "pcie.pageable_h2d"), 8e9, 1);
}

// Spare below its threshold (bit 0) and degraded (bit 2): whatever endurance is left.
TEST(Evidence, OfADriveThatFailsSaysSo) {
  const std::string log = R"("data_units_written": 100, "percentage_used": 5, )";
  const auto notes = [&](const std::string& health) {
    const Written file(R"({"smartctl": {}, "model_name": "M", )"
                       R"("nvme_smart_health_information_log": {)" +
                       log + health + "}}");
    return text::words_of(read_evidence(file.path()).notes);
  };
  EXPECT_THAT(notes(R"("critical_warning": 0, "available_spare": 100, "media_errors": 0)"),
              IsEmpty());
  EXPECT_THAT(notes(R"("critical_warning": 5, "available_spare": 3,
                       "available_spare_threshold": 10, "media_errors": 17)"),
              ElementsAre(AllOf(HasSubstr("M says that it fails"), HasSubstr("degraded; 3 % of"),
                                HasSubstr("below 10 %; it lost data 17 times"))));
  EXPECT_THAT(notes(R"("critical_warning": 2, "available_spare": 100, "media_errors": 0)"),
              ElementsAre(AllOf(HasSubstr("temperature limits"), HasSubstr("cool it"))));
}

TEST(Evidence, ThatCannotBeReadIsRefusedInOneLine) {
  EXPECT_THAT(refusal_of(""), HasSubstr("an empty file"));
  EXPECT_THAT(refusal_of("hello\nworld\n"), HasSubstr("not known"));
  EXPECT_THAT(refusal_of("a,b\n1,2\n"), HasSubstr("no measurements of runs: a,b"));
  EXPECT_THAT(refusal_of(R"({"gpu":{},"host":{}})"), HasSubstr("a machine file"));
  EXPECT_THAT(refusal_of(R"({"model":"gpt2","strategy":{}})"), HasSubstr("a scenario"));
  EXPECT_THAT(refusal_of(R"({"x":1})"), HasSubstr("none of the kinds"));
  EXPECT_THAT(refusal_of("| NVIDIA-SMI 550.12 |\n"), HasSubstr("short form"));
  EXPECT_THAT(refusal_of(R"({"smartctl":{},"device":{"name":"/dev/sda"},"ata_smart_data":{}})"),
              HasSubstr("/dev/sda: no NVMe drive"));
  EXPECT_THAT(refusal_of(R"({"smartctl":{"exit_status":2,"messages":[{"string":"open device: )"
                         R"(/dev/nvme0 failed: Permission denied","severity":"error"}]}})"),
              HasSubstr("Permission denied"));
  EXPECT_THAT(refusal_of(R"({"fio version":"fio-3.1","jobs":[]})"), HasSubstr("without jobs"));
  EXPECT_THAT(refusal_of(R"({"traceEvents":[]})"), HasSubstr("without kernels"));
}

TEST(Evidence, NamesTheStorageThatAPersonSays) {
  const std::string file = (description::data_root() / "tests/data/evidence/fio.json").string();
  const Evidence named = read_evidence("nvme=" + file);
  EXPECT_EQ(named.storage, "nvme");
  EXPECT_EQ(named.file, file);
}

}  // namespace
}  // namespace spillway::evidence
