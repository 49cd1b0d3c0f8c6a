#include <blkid/blkid.h>
#include <fmt/format.h>

#include <memory>

#include "hw_backend/raw_device/block_layer.hpp"

namespace spillway::hw_backend {

namespace {

struct FreedProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using Probe = std::unique_ptr<blkid_struct_probe, FreedProbe>;

std::string value_of(const Probe& probe, const char* name) {
  const char* text = nullptr;
  return blkid_probe_lookup_value(probe.get(), name, &text, nullptr) == 0 && text != nullptr ? text
                                                                                             : "";
}

std::string in_words(const Probe& probe) {
  if (const std::string table = value_of(probe, "PTTYPE"); !table.empty()) {
    return fmt::format("a partition table ({})", table);
  }
  const std::string type = value_of(probe, "TYPE");
  const std::string usage = value_of(probe, "USAGE");
  const std::string label = value_of(probe, "LABEL");
  return fmt::format("{}{}{}", type.empty() ? "a signature without a name" : type,
                     usage.empty() ? "" : fmt::format(" ({})", usage),
                     label.empty() ? "" : fmt::format(", label \"{}\"", label));
}

}  // namespace

std::vector<std::string> signatures_of(int fd) {
  const Probe probe(blkid_new_probe());
  if (!probe || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) {
    return {"contents that libblkid cannot open"};
  }
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
                                                     BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC |
                                                     BLKID_SUBLKS_BADCSUM);
  blkid_probe_enable_partitions(probe.get(), 1);
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);

  std::vector<std::string> found;
  int outcome = 0;
  // Each call goes on behind the last find; more finds than there are kinds is no device to touch.
  while (found.size() < 1000 && (outcome = blkid_do_probe(probe.get())) == 0) {
    found.push_back(in_words(probe));
  }
  if (outcome < 0) found.push_back("contents that libblkid cannot read");
  return found;
}

}  // namespace spillway::hw_backend
