#include "answers/calibrate/drive_readings.hpp"

#include "answers/calibrate/put.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::answers {

using description::MachineFile;
using description::StorageSpec;
using evidence::Evidence;
using evidence::Reading;

namespace {

constexpr std::string_view of_written = "storage.endurance.written";
constexpr std::string_view of_held = "storage.endurance.held";

/// Bytes that may still be written to a drive, by what the machine file will say of it: the rating
/// less what was written, and of a drive without a rating of its own by the share that it says is
/// used (put_life).
double left_of(const MachineFile& machine, const Evidence& each) {
  const StorageSpec& storage = storage_of(machine, each);
  const double written = each.drive->bytes_written;
  const auto used = static_cast<double>(each.drive->percent_used);
  if (drive_of(machine, each)->is_other && used >= least_percent)
    return written * (100 - used) / used;
  return (storage.endurance ? static_cast<double>(storage.endurance->rated.value()) : 0) - written;
}

const Reading* reading_of(const Evidence& each, std::string_view path) {
  for (const Reading& reading : each.readings)
    if (reading.path == path) return &reading;
  return nullptr;
}

void find_fullest(const std::vector<const Evidence*>& drives, DriveReadings& found) {
  for (const Evidence* one : drives) {
    const Reading* held = reading_of(*one, of_held);
    if (held && (!found.fullest || held->value > found.held.value))
      found.fullest = one, found.held = *held;
  }
}

/// Of which more drives there are files than drives, and how many drives have no file.
void note_other_drives(const StorageSpec& storage, const std::vector<const Evidence*>& drives,
                       DriveReadings& found) {
  const std::string path = "storage." + storage.name + ".endurance";
  for (std::size_t i = storage.count; i < drives.size(); ++i)
    found.kept.push_back(
        {path, drives[i]->file,
         storage.count == 1
             ? fmt::format("the drive of {} has less left to be written by the rating, and wears "
                           "out first: its numbers count for the storage",
                           found.files)
             : fmt::format("the machine has {} drives of {}, and those of {} have less left to be "
                           "written by the rating: their numbers count for the storage",
                           storage.count, storage.name, found.files)});
  if (drives.size() >= storage.count) return;
  const std::size_t missing = storage.count - drives.size();
  found.kept.push_back(
      {path + ".written", found.files,
       fmt::format("{} of the {} drives of {} {} no file: taken to be as worn as {}", missing,
                   storage.count, storage.name, missing == 1 ? "has" : "have",
                   drives.size() == 1 ? "this one" : "the one with least left of these")});
}

}  // namespace

std::vector<const Evidence*> drives_of(const MachineFile& machine, const std::vector<Evidence>& all,
                                       const Evidence& each) {
  std::vector<const Evidence*> drives;
  for (const Evidence& other : all)
    if (other.drive && &storage_of(machine, other) == &storage_of(machine, each))
      drives.push_back(&other);
  std::stable_sort(drives.begin(), drives.end(), [&](const Evidence* one, const Evidence* other) {
    return left_of(machine, *one) < left_of(machine, *other);
  });
  return drives;
}

bool is_of_each_drive(const Reading& reading) {
  return reading.path == of_written || reading.path == of_held;
}

DriveReadings drive_readings(const StorageSpec& storage,
                             const std::vector<const Evidence*>& drives) {
  DriveReadings found;
  find_fullest(drives, found);
  const Reading* first = reading_of(*drives.front(), of_written);
  if (!first) return found;
  found.sum = *first;
  if (storage.count > 1) found.sum.how = "what the drives say, added up";
  found.sum.value = 0;
  for (std::size_t i = 0; i < storage.count; ++i) {
    const bool has_file = i < drives.size();
    if (has_file) found.files += (found.files.empty() ? "" : ", ") + drives[i]->file;
    found.written.push_back(drives[has_file ? i : 0]->drive->bytes_written);
    found.sum.value += found.written.back();
  }
  note_other_drives(storage, drives, found);
  return found;
}

}  // namespace spillway::answers
