#include "hw_backend/probe/ratings.hpp"

#include <gmock/gmock.h>
#include <fstream>

namespace spillway::hw_backend {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A made-up /sys.
class Ratings : public testing::Test {
 protected:
  Ratings() : root_(std::filesystem::path(testing::TempDir()) / "ratings_test") {
    std::filesystem::remove_all(root_);
  }
  ~Ratings() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / "sys" / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void device(const std::string& name, const std::string& code, const std::string& vendor,
              const std::string& lanes, const std::string& speed) {
    const std::string folder = "bus/pci/devices/" + name + "/";
    put(folder + "class", code);
    put(folder + "vendor", vendor);
    put(folder + "current_link_width", lanes);
    put(folder + "max_link_width", "16");
    put(folder + "current_link_speed", speed);
    put(folder + "max_link_speed", "16.0 GT/s PCIe");
  }
  std::vector<std::string> found() const {
    std::vector<std::string> words;
    for (const text::Text& each : below_ratings(root_)) words.push_back(text::words(each));
    return words;
  }

  std::filesystem::path root_;
};

TEST_F(Ratings, NameLanesAndAGenerationThatAreMissing) {
  device("0000:01:00.0", "0x030000", "0x10de", "8", "2.5 GT/s PCIe");  // at rest: no complaint
  device("0000:02:00.0", "0x010802", "0x144d", "16", "8.0 GT/s PCIe");
  put("kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  EXPECT_THAT(found(),
              ElementsAre(AllOf(HasSubstr("0000:01:00.0 has 8 lanes"), HasSubstr("have 16")),
                          AllOf(HasSubstr("NVMe drive at 0000:02:00.0"),
                                HasSubstr("link of 8.00 GT/s"), HasSubstr("one of 16.0 GT/s")),
                          HasSubstr("huge pages are off")));
}

TEST_F(Ratings, AreSilentWhereAllIsAsItShouldBe) {
  device("0000:01:00.0", "0x030200", "0x10de", "16", "2.5 GT/s PCIe");
  device("0000:03:00.0", "0x030000", "0x1a03", "1", "2.5 GT/s PCIe");  // the board's own display
  put("kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Ratings, NeedNoSysfs) { EXPECT_THAT(found(), IsEmpty()); }

}  // namespace
}  // namespace spillway::hw_backend
