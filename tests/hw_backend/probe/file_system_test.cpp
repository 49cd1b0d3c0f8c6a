#include "hw_backend/probe/file_system.hpp"

#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend {
namespace {

using description::StorageKind;

TEST(FileSystem, OfOtherMachinesIsRemote) {
  EXPECT_EQ(kind_of_magic(0x6969), StorageKind::remote);                        // NFS
  EXPECT_EQ(kind_of_magic(0x0BD00BD0), StorageKind::remote);                    // Lustre
  EXPECT_EQ(kind_of_magic(static_cast<int>(0xFF534D42)), StorageKind::remote);  // sign-extended
  EXPECT_EQ(kind_of_magic(0xEF53), StorageKind::ssd);                           // ext4
  EXPECT_EQ(kind_of_magic(0x58465342), StorageKind::ssd);                       // XFS
}

TEST(FileSystem, OfADirectoryHasADevice) {
  const FileSystem here = file_system_of(".");
  EXPECT_NE(here.device, 0u);
  EXPECT_EQ(file_system_of("..").device, here.device);
  EXPECT_THROW(file_system_of("/nowhere/at/all"), description::DeviceError);
}

TEST(StorageNames, AreBaseNamesMadeDifferent) {
  EXPECT_EQ(storage_names({"/mnt/nvme", "/data/nvme/", "/mnt/pfs", "/other/nvme"}),
            (std::vector<std::string>{"nvme", "nvme-2", "pfs", "nvme-3"}));
  // a name that would have been made up is there already
  EXPECT_EQ(storage_names({"/a/x-2", "/b/x", "/c/x"}),
            (std::vector<std::string>{"x-2", "x", "x-3"}));
}

TEST(StorageNames, CanBePartOfAPath) {
  EXPECT_EQ(storage_names({"/", "/mnt/disk.0"}), (std::vector<std::string>{"root", "disk_0"}));
  const std::filesystem::path here = std::filesystem::current_path();
  EXPECT_EQ(storage_names({"."}), storage_names({here}));
}

}  // namespace
}  // namespace spillway::hw_backend
