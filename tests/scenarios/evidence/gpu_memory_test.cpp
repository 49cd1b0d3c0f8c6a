#include "scenarios/evidence/gpu_memory.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

namespace spillway::evidence::gpu_memory_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double mib = 1 << 20;

Evidence read(const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "gpu_memory.txt";
  std::ofstream(path) << text;
  Evidence found = read_evidence(path);
  std::remove(path.c_str());
  return found;
}

double reserve(const Evidence& evidence) {
  for (const Reading& one : evidence.readings)
    if (one.path == "gpu.reserve") return one.value / mib;
  return 0;
}

const std::string head = "==============NVSMI LOG==============\n";

/// As nvidia-smi -q lists it.
std::string process(const std::string& type, const std::string& name, const std::string& used) {
  return "        GPU instance ID                   : N/A\n"
         "        Process ID                        : 4321\n"
         "            Type                          : " +
         type + "\n            Name                          : " + name +
         "\n            Used GPU Memory               : " + used + "\n";
}

/// A card of 24564 MiB of which the driver keeps 342.
std::string card(const std::string& display, int used, const std::string& processes) {
  return "GPU 00000000:01:00.0\n    Product Name       : X\n    Display Active     : " + display +
         "\n    FB Memory Usage\n        Total          : 24564 MiB\n"
         "        Reserved       : 342 MiB\n        Used           : " +
         std::to_string(used) +
         " MiB\n    BAR1 Memory Usage\n        Used           : 1 MiB\n    Processes" +
         (processes.empty() ? "          : None\n" : "\n" + processes);
}

const std::string xorg = process("G", "/usr/lib/xorg/Xorg :0", "1500 MiB");

// 342 + 1850: of 24564 MiB 22372 are free, as the same file says.
TEST(GpuMemory, OfADesktopIsReservedWithWhatTheListLeavesOut) {
  const Evidence found = read(head + card("Enabled", 1850, xorg));
  EXPECT_EQ(reserve(found), 342 + 1850);
  EXPECT_THAT(text::words_of(found.notes),
              ElementsAre(AllOf(HasSubstr("a desktop holds 1.81 GiB of X (Xorg 1.46 GiB; 350.0 MiB "
                                          "more are in use"),
                                HasSubstr("without a desktop"))));
}

// Another job of 10000 MiB may be over: 342 + (11850 - 10000)
TEST(GpuMemory, OfProcessesThatComputeIsNamedAndNotReserved) {
  const std::string job = process("C", "/opt/venv/bin/python3 train.py", "10000 MiB");
  const Evidence both = read(head + card("Enabled", 11850, xorg + job));
  EXPECT_EQ(reserve(both), 342 + 1850);
  EXPECT_THAT(text::words_of(both.notes),
              ElementsAre(HasSubstr("a desktop holds 1.81 GiB"),
                          HasSubstr("compute held 9.77 GiB of GPU memory when the file was written "
                                    "(python3): not counted")));
  const Evidence alone = read(head + card("Disabled", 10020, job));
  EXPECT_EQ(reserve(alone), 342);
  EXPECT_THAT(text::words_of(alone.notes), ElementsAre(HasSubstr("(python3): not counted")));
}

TEST(GpuMemory, OfAnIdleCardWithoutAScreenIsTheDrivers) {
  const Evidence idle = read(head + card("Disabled", 11, ""));
  EXPECT_EQ(reserve(idle), 342);
  EXPECT_THAT(idle.notes, IsEmpty());
}

// Inside a container nvidia-smi lists nobody.
TEST(GpuMemory, OfNobodyThatIsListedIsADesktopsWhereAScreenIsOn) {
  const Evidence screen = read(head + card("Enabled", 900, ""));
  EXPECT_EQ(reserve(screen), 342 + 900);
  EXPECT_THAT(text::words_of(screen.notes),
              ElementsAre(HasSubstr("(a screen is on, and no program")));
  const Evidence server = read(head + card("Disabled", 9000, ""));
  EXPECT_EQ(reserve(server), 342);
  EXPECT_THAT(text::words_of(server.notes),
              ElementsAre(AllOf(HasSubstr("8.79 GiB of a card's memory were in use"),
                                HasSubstr("not counted"))));
}

// Windows says no numbers of processes, so one that computes cannot be told from a desktop.
TEST(GpuMemory, OfWindowsIsADesktopsUnlessSomethingComputes) {
  const std::string none = "Not available in WDDM driver model";
  const std::string desktop = process("C+G", "C:\\Windows\\explorer.exe", none);
  const Evidence alone = read(head + card("Enabled", 1200, desktop));
  EXPECT_EQ(reserve(alone), 342 + 1200);
  EXPECT_THAT(text::words_of(alone.notes), ElementsAre(HasSubstr("(explorer.exe): it stays held")));
  const Evidence both =
      read(head + card("Enabled", 9200, desktop + process("C", "C:\\py\\python.exe", "N/A")));
  EXPECT_EQ(reserve(both), 342);
  EXPECT_THAT(text::words_of(both.notes),
              ElementsAre(HasSubstr("does not follow from the file: nothing is counted"),
                          HasSubstr("(python.exe), and the file does not say how much")));
}

// Until version 510 Used has what the driver keeps in it.
TEST(GpuMemory, OfAnOldDriverIsInUseWithWhatItKeeps) {
  std::string old = card("Enabled", 1850, xorg);
  old.erase(old.find("        Reserved"), std::string("        Reserved       : 342 MiB\n").size());
  EXPECT_EQ(reserve(read(head + old)), 1850);
}

TEST(GpuMemory, OfSeveralCardsIsReservedAsOnTheFullest) {
  const Evidence two = read(head + card("Disabled", 5, "") + card("Enabled", 700, xorg));
  EXPECT_EQ(reserve(two), 342 + 1500);  // the list says more than Used, which is of another moment
  EXPECT_THAT(text::words_of(two.notes),
              ElementsAre(HasSubstr("at 00000000:01:00.0, the most of 2 cards, and a machine file "
                                    "has one reserve for all")));
}

TEST(GpuMemory, InXmlIsTheSame) {
  const Evidence found = read(
      "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<gpu id=\"00000000:01:00.0\">\n"
      "<product_name>X</product_name>\n<display_active>Enabled</display_active>\n"
      "<fb_memory_usage><total>24564 MiB</total><reserved>342 MiB</reserved><used>11850 MiB</used>"
      "</fb_memory_usage>\n<processes><process_info><pid>1</pid><type>G</type>"
      "<process_name>/usr/lib/xorg/Xorg</process_name><used_memory>1500 MiB</used_memory>"
      "</process_info><process_info><pid>2</pid><type>C</type><process_name>python3"
      "</process_name><used_memory>10000 MiB</used_memory></process_info></processes>\n"
      "</gpu>\n</nvidia_smi_log>\n");
  EXPECT_EQ(reserve(found), 342 + 1850);
  EXPECT_THAT(text::words_of(found.notes),
              ElementsAre(HasSubstr("Xorg 1.46 GiB"), HasSubstr("(python3): not counted")));
}

}  // namespace
}  // namespace spillway::evidence::gpu_memory_test
