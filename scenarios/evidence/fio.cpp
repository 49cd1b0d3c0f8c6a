#include "scenarios/evidence/formats.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/mixed_traffic.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace spillway::evidence {

using nlohmann::json;

namespace {

/// Trainings move sub-groups and layers: requests of less than this are not their rate.
constexpr double least_request = 128 * 1024;

/// Jobs that ran together.
struct Group {
  double read = 0, written = 0;  ///< bytes/s
  double request = 0;            ///< bytes; the smallest of its jobs
  double write_bytes = 0;        ///< 0: the file does not say
  double ramp_s = 0;             ///< that its jobs wrote before they were timed
  std::uint64_t jobs = 0, depth = 0, targets = 1;
  std::set<std::string> drives;  ///< what its jobs name
  bool cached = false;           ///< some job went by the page cache
  std::string limited;           ///< the option that held some job back; "": none
  std::string pattern;
};

/// "1M", "128k", "4096": fio counts in 1024s.
double size_of(std::string text) {
  if (const std::size_t comma = text.find_first_of(",-"); comma != std::string::npos)
    text.resize(comma);
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  switch (end == text.c_str() ? 0 : *end | 0x20) {
    case 'k':
      value *= 1024;
      break;
    case 'm':
      value *= 1024 * 1024;
      break;
    case 'g':
      value *= 1024.0 * 1024 * 1024;
      break;
    default:
      break;
  }
  return value;
}

/// Version 3 says bytes; version 2 says KiB, in the same key in which version 3 does.
double rate_of(const json& job, const char* direction) {
  const auto found = job.find(direction);
  if (found == job.end() || !found->is_object()) return 0;
  if (const auto bytes = number_of(*found, "bw_bytes")) return *bytes;
  return number_of(*found, "bw").value_or(0) * 1024;
}

/// Of a direction. Both versions say the time in ms, and the bytes in the unit of their rates.
double seconds_of(const json& job, const char* direction) {
  const auto found = job.find(direction);
  if (found == job.end() || !found->is_object()) return 0;
  if (const auto runtime = number_of(*found, "runtime")) return *runtime * 1e-3;
  const auto rate = number_of(*found, found->contains("bw_bytes") ? "bw_bytes" : "bw");
  return rate && *rate > 0 ? number_of(*found, "io_bytes").value_or(0) / *rate : 0;
}

std::string option(const json& job, const json& all, const char* key, const char* usual) {
  for (const json* options : {&job, &all}) {
    const std::string said = text_of(*options, key);
    if (!said.empty()) return said;
  }
  return usual;
}

/// "30", "30s", "5m": fio takes a number without a unit for seconds.
double duration_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string_view unit = end;
  if (unit.starts_with("us")) return value * 1e-6;
  if (unit.starts_with("ms")) return value * 1e-3;
  if (unit.starts_with("m")) return value * 60;
  if (unit.starts_with("h")) return value * 3600;
  return unit.starts_with("d") ? value * 86400 : value;
}

/// What tells drives apart: a device without its namespace and partition, of a file its folder.
std::string drive_of(const std::string& target) {
  constexpr std::string_view nvme = "/dev/nvme";
  if (target.starts_with(nvme))
    return target.substr(0, target.find_first_not_of("0123456789", nvme.size()));
  if (target.starts_with("/dev/")) return target;
  return target.substr(0, target.rfind('/') + 1);
}

/// Of "/dev/nvme0n1:/dev/nvme1n1"; a colon of a name itself is written "\\:".
std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names(1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ':') {
      names.emplace_back();
    } else {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      names.back() += text[at];
    }
  }
  return names;
}

void add_drives(const json& own, const json& all, std::set<std::string>& into) {
  for (const std::string& folder : names_of(option(own, all, "directory", "")))
    for (const std::string& name : names_of(option(own, all, "filename", "")))
      into.insert(drive_of(name.starts_with('/') ? name : folder + "/" + name));
}

/// How many requests were under way for most of the time, which fio counts by powers of two: "32",
/// and ">=64" for all above. 0: the file has no such counts, as from fio 3 where nothing ran.
std::uint64_t counted_depth(const json& job) {
  const auto levels = job.find("iodepth_level");
  if (levels == job.end() || !levels->is_object()) return 0;
  double most = 0;
  std::uint64_t depth = 0;
  for (const auto& [level, share] : levels->items()) {
    if (!share.is_number() || share.get<double>() <= most) continue;
    most = share.get<double>();
    const std::size_t digits = level.find_first_of("0123456789");
    depth = digits == std::string::npos ? 0 : std::strtoull(&level[digits], nullptr, 10);
  }
  return depth;
}

/// These wait for each request whatever iodepth says; without an ioengine fio takes psync. What was
/// counted comes first: fio 2 leaves options of its command line out, and what was asked for may
/// not have been reached.
std::uint64_t depth_of(const json& job, const json& own, const json& all) {
  if (const std::uint64_t counted = counted_depth(job)) return counted;
  constexpr std::string_view synchronous[] = {"sync",   "psync",   "vsync",
                                              "pvsync", "pvsync2", "mmap"};
  const std::string engine = option(own, all, "ioengine", "psync");
  if (std::find(std::begin(synchronous), std::end(synchronous), engine) != std::end(synchronous))
    return 1;
  return static_cast<std::uint64_t>(size_of(option(own, all, "iodepth", "1")));
}

/// The option by which somebody let a job do less than the drive can; "": none. Who flushes waits
/// for the writes before, whatever iodepth says, and reads flush nothing.
std::string limit_of(const json& own, const json& all, bool writes) {
  std::vector<const char*> keys = {"rate", "rate_iops", "thinktime"};
  const std::string engine = option(own, all, "ioengine", "");
  if (engine == "null" || engine == "cpuio") return "ioengine=" + engine;
  if (writes) keys.insert(keys.end(), {"fsync", "fdatasync", "sync"});
  for (const char* key : keys)
    if (const std::string said = option(own, all, key, "0"); said != "0" && said != "none")
      return fmt::format("{}={}", key, said);
  return "";
}

/// The smallest of "4k/90:1m/10,128k": sizes with their percentages, of reads and of writes.
double smallest_of_split(const std::string& split) {
  double smallest = 0;
  for (std::size_t at = 0; at < split.size();) {
    const std::size_t end = std::min(split.find_first_of(":,", at), split.size());
    const std::string entry = split.substr(at, end - at);
    const std::size_t percent = entry.find('/');
    const bool is_never = percent != std::string::npos && entry.substr(percent) == "/0";
    const double size = size_of(entry);
    if (!is_never && size > 0) smallest = smallest > 0 ? std::min(smallest, size) : size;
    at = end + 1;
  }
  return smallest;
}

/// Bytes of the smallest request of a job; sizes that are split stand before all others.
double request_of(const json& own, const json& all) {
  if (const double split = smallest_of_split(option(own, all, "bssplit", "")); split > 0)
    return split;
  for (const json* options : {&own, &all})
    for (const char* key : {"bsrange", "bs", "blocksize"})
      if (const std::string said = text_of(*options, key); !said.empty()) return size_of(said);
  return 4096;
}

/// Of two names for one option the nearer one counts; without either fio takes the page cache.
bool is_cached(const json& own, const json& all) {
  for (const json* options : {&own, &all}) {
    const std::string direct = text_of(*options, "direct");
    const std::string buffered = text_of(*options, "buffered");
    if (direct.empty() && buffered.empty()) continue;
    return !(direct.empty() || direct == "1") || !(buffered.empty() || buffered == "0");
  }
  return true;
}

void add(Group& group, const json& job, const json& all) {
  const auto found = job.find("job options");
  const json own = found != job.end() ? *found : json::object();
  const double written = rate_of(job, "write");
  group.read += rate_of(job, "read");
  group.written += written;
  group.write_bytes += written * seconds_of(job, "write");
  group.ramp_s = std::max(group.ramp_s, duration_of(option(own, all, "ramp_time", "0")));
  const double request = request_of(own, all);
  group.request = group.jobs ? std::min(group.request, request) : request;
  const std::uint64_t copies =
      static_cast<std::uint64_t>(std::max(1.0, size_of(option(own, all, "numjobs", "1"))));
  // With group_reporting one entry stands for all copies of a job; without it each has its own.
  const bool reported = own.contains("group_reporting") || all.contains("group_reporting");
  group.jobs += reported ? copies : 1;
  group.depth = depth_of(job, own, all);
  group.cached = group.cached || is_cached(own, all);
  if (group.limited.empty()) group.limited = limit_of(own, all, written > 0);
  add_drives(own, all, group.drives);
  group.pattern = option(own, all, "rw", option(own, all, "readwrite", "read").c_str());
}

text::Text said_of(const Group& group) {
  const auto plain = [](std::uint64_t number) { return text::plain(static_cast<double>(number)); };
  text::Text said = text::filled(
      group.jobs == 1 ? "{} of {}, {} job of depth {}" : "{} of {}, {} jobs of depth {}",
      {group.pattern, text::memory(static_cast<std::uint64_t>(group.request)), plain(group.jobs),
       plain(group.depth)});
  if (group.targets > 1) said += text::filled(", each of {} drives", {plain(group.targets)});
  return said;
}

TimedWrites timed(const Group& group) {
  return {group.written, group.write_bytes / group.written, group.ramp_s,
          text::words(said_of(group)), group.targets};
}

/// Disks that fio saw at work, without those that are made of others.
std::uint64_t disks_of(const json& document) {
  std::uint64_t disks = 0;
  for (const json& disk : document.value("disk_util", json::array())) {
    const std::string name = text_of(disk, "name");
    const bool of_others =
        name.starts_with("md") || name.starts_with("dm-") || name.starts_with("loop");
    const double requests =
        number_of(disk, "read_ios").value_or(0) + number_of(disk, "write_ios").value_or(0);
    if (!name.empty() && !of_others && requests > 0) ++disks;
  }
  return disks;
}

std::int64_t group_of(const json& job) {
  return static_cast<std::int64_t>(number_of(job, "groupid").value_or(0));
}

/// With group_reporting only the last job of a group says its files, and an array is one device:
/// where all groups name the same, they were at all disks.
void count_drives(std::uint64_t disks, std::vector<Group>& groups) {
  const bool alike = std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
    return group.drives == groups.front().drives;
  });
  for (Group& group : groups) {
    group.targets = std::max<std::uint64_t>(1, group.drives.size());
    if (alike) group.targets = std::max(group.targets, disks);
  }
}

/// Groups of which a job failed: what the others moved is not what they move together.
std::set<std::int64_t> failed_groups(const json& jobs, Evidence& into) {
  std::set<std::int64_t> failed;
  for (const json& job : jobs) {
    if (!job.is_object()) continue;
    const auto error = static_cast<int>(number_of(job, "error").value_or(0));
    if (error == 0) continue;
    failed.insert(group_of(job));
    into.notes.push_back(
        fmt::format("job {} ended with error {} ({}): neither its rate nor that "
                    "of jobs in its group counts; run it again",
                    text_of(job, "jobname"), error, std::strerror(error)));
  }
  return failed;
}

std::vector<Group> groups_of(const json& document, Evidence& into) {
  const std::string& file = into.file;
  const json all = document.value("global options", json::object());
  // A client's output has its jobs under another key, with their sum as one more job.
  const char* key = document.contains("jobs") ? "jobs" : "client_stats";
  const auto jobs = document.find(key);
  if (jobs == document.end() || !jobs->is_array() || jobs->empty())
    refuse_file(file, "output of fio without jobs", "run fio with --output-format=json");
  const std::set<std::int64_t> failed = failed_groups(*jobs, into);
  std::map<std::int64_t, Group> groups;
  for (const json& job : *jobs) {
    if (!job.is_object() || text_of(job, "jobname") == "All clients") continue;
    if (failed.contains(group_of(job))) continue;
    if (rate_of(job, "read") < 0 || rate_of(job, "write") < 0)
      refuse_file(file, "job " + text_of(job, "jobname") + " has a negative rate",
                  "run fio again: fio writes none");
    add(groups[group_of(job)], job, all);
  }
  std::vector<Group> list;
  for (auto& [id, group] : groups) list.push_back(std::move(group));
  count_drives(disks_of(document), list);
  return list;
}

/// Each request of a drive waits for the one before, and is small enough for that to count.
bool one_at_a_time(const Group& group) {
  constexpr double large = 8 << 20;
  return group.jobs * group.depth <= group.targets && group.request < large;
}

void note_unused(const Group& group, Evidence& into) {
  if (group.cached)
    into.notes.push_back(said_of(group) +
                         ": without direct=1 this is the page cache's rate; run it with direct=1");
  else if (!group.limited.empty())
    into.notes.push_back(said_of(group) + ": " + group.limited +
                         " held it back; what the drive can do does not follow: run it without");
  else if (group.request < least_request)
    into.notes.push_back(
        text::filled("{}: trainings move requests of {} and more; this rate is not theirs",
                     {said_of(group), text::memory(static_cast<std::uint64_t>(least_request))}));
  else if (one_at_a_time(group))
    into.notes.push_back(
        said_of(group) +
        ": one request at a time; trainings keep several on their way, and this rate is not "
        "theirs: "
        "run it with iodepth=32 and an ioengine that honours it (io_uring, libaio)");
}

bool counts(const Group& group) {
  return !group.cached && group.limited.empty() && group.request >= least_request &&
         !one_at_a_time(group);
}

/// r/R + w/W where both take half of the drive's time, by all mixes that were measured.
void add_mixed(const std::vector<Group>& mixed, double read, double written, Evidence& into) {
  if (mixed.empty()) return;
  if (read <= 0 || written <= 0) {
    into.notes.push_back(
        "reads and writes at once were measured, and reads or writes alone were not: what a mix "
        "costs does not follow");
    return;
  }
  std::vector<description::MeasuredMix> mixes;
  std::string how;
  for (const Group& group : mixed) {
    mixes.push_back({group.read / read, group.written / written});
    how += (how.empty() ? "" : "; ") + text::words(said_of(group));
  }
  into.readings.push_back(
      {"storage.mixed_efficiency", "share", description::fitted_mixed_efficiency(mixes), how});
}

/// The fastest counts; a drive did no less because another job asked it for less.
const Group* fastest(const std::vector<Group>& groups, double Group::*rate) {
  const auto found = std::max_element(
      groups.begin(), groups.end(),
      [rate](const Group& one, const Group& other) { return one.*rate < other.*rate; });
  return found == groups.end() || (*found).*rate <= 0 ? nullptr : &*found;
}

void put_fastest(const std::vector<Group>& groups, double Group::*rate, const char* path,
                 Evidence& into) {
  if (const Group* best = fastest(groups, rate))
    into.readings.push_back(
        {path, "bytes_per_s", best->*rate, text::words(said_of(*best)), best->targets});
}

/// Writes that do not count are told apart where the drive's cache is known.
void note_slower_reads(const std::vector<Group>& reads, Evidence& into) {
  const Group* best = fastest(reads, &Group::read);
  for (const Group& group : reads)
    if (&group != best)
      into.notes.push_back(text::filled(
          "{} reached {}: {} reached {}, and counts",
          {said_of(group), text::rate(group.read), said_of(*best), text::rate(best->read)}));
}

}  // namespace

void read_fio(const json& document, Evidence& into) {
  const std::string version = text_of(document, "fio version");
  into.kind = version.starts_with("fio-") ? "fio " + version.substr(4) : "fio " + version;
  std::vector<Group> reads, writes, mixed;
  std::vector<Group> groups = groups_of(document, into);
  if (groups.empty())
    refuse_file(into.file, into.kind + ": its jobs moved no bytes", "look at their errors");
  for (Group& group : groups) {
    const auto drives = static_cast<double>(group.targets);
    for (double Group::*all : {&Group::read, &Group::written, &Group::write_bytes})
      group.*all /= drives;
    if (!counts(group))
      note_unused(group, into);
    else if (group.read > 0 && group.written > 0)
      mixed.push_back(group);
    else if (group.read > 0)
      reads.push_back(group);
    else if (group.written > 0)
      writes.push_back(group);
  }
  put_fastest(reads, &Group::read, "storage.read", into);
  put_fastest(writes, &Group::written, "storage.write", into);
  note_slower_reads(reads, into);
  for (const Group& group : writes) into.writes.push_back(timed(group));
  for (const Group& group : mixed) into.mixed_bytes = std::max(into.mixed_bytes, group.write_bytes);
  const auto rate = [](const Group* group, double Group::*of) { return group ? group->*of : 0; };
  add_mixed(mixed, rate(fastest(reads, &Group::read), &Group::read),
            rate(fastest(writes, &Group::written), &Group::written), into);
  if (into.readings.empty() && into.notes.empty())
    refuse_file(into.file, into.kind + ": its jobs moved no bytes", "look at their errors");
}

}  // namespace spillway::evidence
