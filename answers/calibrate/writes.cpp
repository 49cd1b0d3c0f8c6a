#include "answers/calibrate/writes.hpp"

#include <algorithm>

namespace spillway::answers {

using description::StorageSpec;
using evidence::Evidence;
using evidence::Reading;
using evidence::TimedWrites;

namespace {

/// The size of a cache is known to a tenth or so: what wrote twice as much tells the rate of a full
/// one as well.
constexpr double much_more = 2;

enum class Extent {
  within_cache,  ///< all of it at one rate
  past_cache,    ///< its rate is a mean of both
  cache_full,    ///< from the first byte that was counted on
  unclear
};

double cache_of(const StorageSpec& storage) {
  return static_cast<double>(storage.slc_cache_size().value());
}

/// Of one of the drives that were written together, while its cache has room.
double fast_rate(const StorageSpec& storage, const TimedWrites& job) {
  const double drive = storage.write.value();
  if (!storage.array_write) return drive;
  return std::min(drive, storage.array_write->value() / static_cast<double>(job.together));
}

/// What nobody counted was written at least as fast as the rest, and no faster than the cache
/// takes it.
Extent extent_of(const StorageSpec& storage, const TimedWrites& job) {
  const double cache = cache_of(storage);
  if (!storage.slc_cache || job.bytes() == 0) return Extent::within_cache;
  if (job.before_s * job.rate >= cache) return Extent::cache_full;
  if (job.before_s * fast_rate(storage, job) + job.bytes() <= cache) return Extent::within_cache;
  const bool is_whole = job.before_s == 0 && job.bytes() >= much_more * cache;
  return is_whole ? Extent::past_cache : Extent::unclear;
}

/// "write of 1.00 MiB, 1 job of depth 32, 1.20 TB in 10.0 min at 2.00 GB/s"
text::Text said_of(const TimedWrites& job) {
  text::Text said = job.how;
  if (job.bytes() > 0)
    said += text::filled(", {} in {}", {text::bytes(job.bytes()), text::seconds(job.seconds)});
  return said + text::filled(" at {}", {text::rate(job.rate)});
}

/// Collects what follows from the writes of one file.
class Writes {
 public:
  Writes(const StorageSpec& storage, const Evidence& evidence)
      : storage_(storage), evidence_(evidence) {}

  WriteReadings steady() {
    const TimedWrites* best = nullptr;
    for (const TimedWrites& job : evidence_.writes)
      if (is_steady(job) && (!best || job.rate > best->rate)) best = &job;
    if (best) take({"storage.write", "bytes_per_s", best->rate, best->how, best->together});
    for (const TimedWrites& job : evidence_.writes)
      if (is_steady(job) && &job != best) keep(write, slower(job, *best));
    keep_late();
    for (const Reading& reading : evidence_.readings)
      if (reading.path == "storage.mixed_efficiency") add_mix(reading);
    return std::move(found_);
  }

  WriteReadings past_cache() {
    const TimedWrites* longest = nullptr;
    for (const TimedWrites& job : evidence_.writes)
      if (tells_full_cache(job) && (!longest || job.bytes() > longest->bytes())) longest = &job;
    for (const TimedWrites& job : evidence_.writes) {
      if (extent_of(storage_, job) == Extent::within_cache) continue;
      if (job.rate >= fast_rate(storage_, job))
        add_no_slower(job);
      else if (&job == longest)
        take(folded(job));
      else if (tells_full_cache(job))
        keep(folded_write, said_of(job) + ": " + longest->how + " wrote more, and counts");
      else
        keep(write, said_of(job) + ": " + why_unclear(job));
    }
    return std::move(found_);
  }

 private:
  static constexpr const char* write = ".write";
  static constexpr const char* folded_write = ".slc_cache.folded_write";

  /// A job that wrote past the cache and was about as fast as this one; null: none was. Its cache
  /// was full when this one began, or it has none.
  const TimedWrites* as_fast_past_cache(const TimedWrites& job) const {
    constexpr double alike = 1.05;  // two runs of one program
    for (const TimedWrites& other : evidence_.writes)
      if (extent_of(storage_, other) != Extent::within_cache && other.rate * alike >= job.rate)
        return &other;
    return nullptr;
  }
  bool is_steady(const TimedWrites& job) const {
    return extent_of(storage_, job) == Extent::within_cache && !as_fast_past_cache(job);
  }
  /// How much slower a drive becomes, which one that becomes no slower does not tell.
  bool tells_full_cache(const TimedWrites& job) const {
    const Extent extent = extent_of(storage_, job);
    return (extent == Extent::past_cache || extent == Extent::cache_full) &&
           job.rate < fast_rate(storage_, job);
  }

  void take(Reading reading) { found_.readings.push_back(std::move(reading)); }
  void keep(const char* field, const text::Text& why) {
    found_.kept.push_back({"storage." + storage_.name + field, evidence_.file, text::words(why)});
  }

  text::Text slower(const TimedWrites& job, const TimedWrites& best) const {
    text::Text why = said_of(job) + ": " + said_of(best) + " is no slower, and counts";
    if (!storage_.slc_cache && job.bytes() > best.bytes())
      why += text::filled(
          "; if the drive became slower once a cache of its flash was full, give storage.{} "
          "slc_cache, with size and folded_write",
          {storage_.name});
    return why;
  }

  /// Jobs that began when the cache was full.
  void keep_late() {
    for (const TimedWrites& job : evidence_.writes)
      if (extent_of(storage_, job) == Extent::within_cache)
        if (const TimedWrites* other = as_fast_past_cache(job))
          keep(write, said_of(job) + ": no faster than " + said_of(*other) +
                          ", which wrote past the drive's cache: it began with a full one, or the "
                          "drive needs none; leave the drive alone for some minutes before it");
  }

  /// Nobody knows what a mix costs where one of its rates is a mean.
  void add_mix(const Reading& reading) {
    const auto fastest = std::max_element(
        evidence_.writes.begin(), evidence_.writes.end(),
        [](const TimedWrites& one, const TimedWrites& other) { return one.rate < other.rate; });
    const bool is_within = !storage_.slc_cache || evidence_.mixed_bytes <= cache_of(storage_);
    if (is_within && fastest != evidence_.writes.end() && is_steady(*fastest)) return take(reading);
    keep(".mixed_efficiency",
         text::filled("writes, alone or beside reads, went past the {} that the drive's cache "
                      "holds: what a mix costs does not follow: run both for less",
                      {text::bytes(cache_of(storage_))}));
  }

  void add_no_slower(const TimedWrites& job) {
    take({"storage.write", "bytes_per_s", job.rate, job.how, job.together});
    keep(folded_write,
         text::filled("{}: the drive became no slower past the {} that its cache holds by the "
                      "machine file: it holds more, or needs none, and how slow it becomes does "
                      "not follow: write storage.{}.slc_cache.size as it is, or no slc_cache",
                      {said_of(job), text::bytes(cache_of(storage_)), storage_.name}));
  }

  Reading folded(const TimedWrites& job) const {
    const double cache = cache_of(storage_), fast = fast_rate(storage_, job);
    const bool is_full = extent_of(storage_, job) == Extent::cache_full;
    const double rate = is_full ? job.rate : (job.bytes() - cache) / (job.seconds - cache / fast);
    const text::Text how = is_full
                               ? said_of(job) + ", once its cache was full"
                               : text::filled("{}, less {} that its cache took at {}",
                                              {said_of(job), text::bytes(cache), text::rate(fast)});
    return {"storage.slc_cache.folded_write", "bytes_per_s", rate, text::words(how), 1};
  }

  text::Text why_unclear(const TimedWrites& job) const {
    text::Text why = text::filled(
        "its rate is a mean of that of the drive's cache, which holds {}, "
        "and of that behind it: ",
        {text::bytes(cache_of(storage_))});
    if (job.before_s > 0)
      return why +
             "how much of the cache was left after its ramp_time is not known: run it "
             "without";
    return why + text::filled("run one job that writes less, and one that writes {} or more",
                              {text::bytes(much_more * cache_of(storage_))});
  }

  const StorageSpec& storage_;
  const Evidence& evidence_;
  WriteReadings found_;
};

}  // namespace

WriteReadings steady_writes(const StorageSpec& storage, const Evidence& evidence) {
  return Writes(storage, evidence).steady();
}

WriteReadings writes_past_cache(const StorageSpec& storage, const Evidence& evidence) {
  return Writes(storage, evidence).past_cache();
}

}  // namespace spillway::answers
