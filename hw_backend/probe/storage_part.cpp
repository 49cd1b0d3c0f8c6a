#include "hw_backend/probe/storage_part.hpp"

#include "hw_backend/storage/open_engine.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::hw_backend {

using description::Bytes;
using description::BytesPerSecond;
using description::Seconds;

namespace {

constexpr std::uint64_t MiB = 1 << 20;
constexpr std::uint64_t small = 4096;
constexpr std::uint64_t no_bound = std::uint64_t{1} << 60;
constexpr double cliff_share = 0.6;
constexpr std::size_t cliff_windows = 3;

/// A file that the engine knows while this lives.
class AttachedFile {
 public:
  AttachedFile(StoreDirectory& directory, IoEngine& engine, const std::string& name,
               std::uint64_t bytes)
      : engine_(engine), file_(directory.create(name, bytes)) {
    engine_.attach(file_->target());
  }
  ~AttachedFile() { engine_.detach(file_->target()); }
  AttachedFile(const AttachedFile&) = delete;

  Target& target() { return file_->target(); }

 private:
  IoEngine& engine_;
  std::unique_ptr<StoreFile> file_;
};

/// A file of one engine that another knows while this lives.
class AttachedElsewhere {
 public:
  AttachedElsewhere(Target& target, IoEngine& home, IoEngine& other)
      : target_(target), home_(home), other_(other) {
    home_.detach(target_);
    other_.attach(target_);
  }
  ~AttachedElsewhere() {
    other_.detach(target_);
    home_.attach(target_);
  }
  AttachedElsewhere(const AttachedElsewhere&) = delete;

 private:
  Target& target_;
  IoEngine& home_;
  IoEngine& other_;
};

std::vector<TargetOffset> places_of(Target& target, std::uint64_t bytes) {
  std::vector<TargetOffset> places;
  for (std::uint64_t at = 0; at + TransferStream::transfer_bytes <= bytes;
       at += TransferStream::transfer_bytes)
    places.push_back({&target, at});
  return places;
}

/// Of an interval, so that all of them, with the first one's ramp and what is in flight at the
/// end, move no more than `bytes`.
double bytes_bound(std::uint64_t bytes) { return static_cast<double>(bytes) / 8; }

bool has_all(const std::vector<Interval>& intervals) {
  return intervals.size() >= Session::intervals;
}

std::vector<double> each(const std::vector<Interval>& intervals, double (Interval::*rate)() const) {
  std::vector<double> values;
  for (const Interval& interval : intervals) values.push_back((interval.*rate)());
  return values;
}

/// What is measured of one directory, in order.
class StoragePart {
 public:
  StoragePart(Session& session, IoEngine& engine, StoreDirectory& directory,
              description::StorageSpec& storage)
      : session_(session),
        engine_(engine),
        directory_(directory),
        storage_(storage),
        effort_(storage_effort(session.options())),
        stream_(engine),
        file_(directory, engine, "probe", file_bytes()) {}

  void run() {
    fill();
    sequential();
    latency();
    mixed();
    mixed_with_small_requests();
    tensors();
    if (session_.options().thorough) cliff();
    session_.out().bytes_written += stream_->bytes_written();
  }

 private:
  std::string path(const std::string& field) const {
    return "storage." + storage_.name + "." + field;
  }
  std::string engine_text() {
    const UringOptions& uring = session_.options().uring;
    return fmt::format("{} MiB blocks, depth {}, {}", uring.block_size / MiB, uring.queue_depth,
                       file_.target().direct() ? "O_DIRECT" : "through the page cache");
  }

  /// Half of what is free at most; where even a small file has no room, `create` says so.
  std::uint64_t file_bytes() const {
    const std::uint64_t least = 2 * TransferStream::window * TransferStream::transfer_bytes;
    const std::uint64_t fits =
        std::clamp(directory_.room() / 2, least, std::max(effort_.file, least));
    return fits / TransferStream::transfer_bytes * TransferStream::transfer_bytes;
  }

  void fill() {
    session_.begin(storage_.name + ": first writing", effort_.fill_s / 2);
    if (!file_.target().direct())
      session_.warn(storage_.name +
                    " has no O_DIRECT: its rates are partly those of the page cache");
    const Flow all{true, places_of(file_.target(), file_.target().size())};
    written_ = stream_->fill(all, effort_.fill_s) * TransferStream::transfer_bytes;
  }

  Flow flow(bool write, std::uint64_t first, std::uint64_t bytes) {
    Flow made{write, places_of(file_.target(), bytes)};
    for (TargetOffset& place : made.places) place.offset += first;
    return made;
  }

  void sequential() {
    session_.begin(storage_.name + ": reading", effort_.interval_s * Session::intervals);
    const auto reads =
        stream_->run({flow(false, 0, written_)}, effort_.interval_s, no_bound, has_all);
    storage_.read = BytesPerSecond(
        session_.keep(measurement_of(path("read"), "sequential, " + engine_text(),
                                     Unit::bytes_per_second, each(reads, &Interval::read_rate))));
    session_.begin(storage_.name + ": writing", effort_.interval_s * Session::intervals);
    const auto writes = stream_->run({flow(true, 0, written_)}, effort_.interval_s,
                                     bytes_bound(effort_.written), has_all);
    storage_.write = BytesPerSecond(
        session_.keep(measurement_of(path("write"), "sequential, written before, " + engine_text(),
                                     Unit::bytes_per_second, each(writes, &Interval::write_rate))));
  }

  /// Seconds of transfers that are alone, at places that jump about.
  Measurement alone(const std::string& what, bool write, std::uint64_t bytes) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<double> samples;
    const std::uint64_t room = written_ - bytes;
    const std::uint64_t most = std::min<std::uint64_t>(1000, effort_.alone / bytes);
    for (std::uint64_t i = 0; samples.size() < Session::intervals ||
                              (seconds_since(begin) < effort_.alone_s && samples.size() < most);
         ++i) {
      const std::uint64_t at = i * 7919 * MiB % (room + 1) / small * small;
      samples.push_back(stream_->one({&file_.target(), at}, write, bytes));
    }
    return measurement_of(path(what),
                          fmt::format("transfers of {} KiB, one at a time", bytes / 1024),
                          Unit::seconds, samples);
  }

  /// The simulator adds the latency to bytes / rate: a transfer that is alone takes longer than at
  /// the rate of a full queue, by about this.
  void latency() {
    session_.begin(storage_.name + ": latency", effort_.alone_s * 8);
    const auto keep_alone = [&](const std::string& what, bool write, std::uint64_t bytes) {
      session_.out().measurements.push_back(alone(what, write, bytes));
      return session_.out().measurements.back();
    };
    const Measurement first = keep_alone("latency of a 4 KiB read", false, small);
    keep_alone("latency of a 4 KiB write", true, small);
    std::vector<double> beyond;
    for (const bool write : {false, true})
      for (const std::uint64_t size : {1 * MiB, 4 * MiB, 16 * MiB}) {
        const Measurement one = keep_alone(
            fmt::format("{} of {} MiB alone", write ? "write" : "read", size / MiB), write, size);
        const double rate = (write ? storage_.write : storage_.read).value();
        beyond.push_back(std::max(first.least, one.median - static_cast<double>(size) / rate));
      }
    storage_.latency = Seconds(session_.keep(measurement_of(
        path("latency"),
        "of reads and writes of 1, 4 and 16 MiB alone, beyond bytes over rate, at least that of 4 "
        "KiB",
        Unit::seconds, beyond)));
  }

  MixedTraffic traffic(std::uint64_t request_bytes) {
    MixedTraffic made;
    made.storage = storage_.name;
    made.request_bytes = request_bytes;
    made.target = &file_.target();
    made.filled = written_;
    return made;
  }

  void mixed() {
    MixedTraffic blocks = traffic(session_.options().uring.block_size);
    blocks.interval_s = effort_.interval_s;
    blocks.interval_bytes = bytes_bound(effort_.mixed / 2);
    const Measurement efficiency =
        measure_mixes(session_, *stream_, blocks, {storage_.read.value(), storage_.write.value()});
    storage_.mixed_efficiency = session_.keep(efficiency);
    session_.out().mixes.push_back({storage_.name, blocks.request_bytes, true, efficiency});
  }

  /// The same transfers, cut into smaller requests by an engine of their own. It stands beside the
  /// file's number: runs here ask for whole blocks.
  void mixed_with_small_requests() {
    EngineOptions options;
    options.uring = session_.options().uring;
    options.uring.block_size = small_request;
    MixedTraffic cut = traffic(small_request);
    cut.interval_s = effort_.small_interval_s;
    cut.interval_bytes = bytes_bound(effort_.small);
    std::uint64_t written = stream_->bytes_written();
    stream_.reset();  // before the other: both would lock more memory than the limits allow for
    {
      const std::unique_ptr<IoEngine> engine = open_engine(options);
      const AttachedElsewhere attached(file_.target(), engine_, *engine);
      TransferStream stream(*engine, written);
      Measurement efficiency =
          measure_mixes(session_, stream, cut, measure_alone(session_, stream, cut));
      efficiency.path += ", " + requests_of(small_request);
      session_.out().measurements.push_back(efficiency);
      session_.out().mixes.push_back({storage_.name, small_request, false, efficiency});
      written = stream.bytes_written();
    }
    stream_.emplace(engine_, written);
  }

  /// The `file` engine: as many bytes in files of their own.
  void tensors() {
    session_.begin(storage_.name + ": files", effort_.interval_s * Session::intervals);
    const std::uint64_t size = TransferStream::transfer_bytes;
    const std::uint64_t count = std::min(effort_.tensors, written_) / size;
    std::vector<std::unique_ptr<AttachedFile>> files;
    std::vector<double> creation;
    Flow reads, one{false, places_of(file_.target(), count * size)};
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      files.push_back(
          std::make_unique<AttachedFile>(directory_, engine_, "probe." + std::to_string(i), size));
      creation.push_back(seconds_since(begin));
      reads.places.push_back({&files.back()->target(), 0});
    }
    session_.out().measurements.push_back(
        measurement_of(path("creation of a file"), "allocated, 8 MiB", Unit::seconds, creation));
    stream_->fill({true, reads.places}, effort_.fill_s);
    overhead(reads.places, one.places);
    share(reads, one);
  }

  /// RealMachine makes a file once and writes it in every step: its first writing does not count.
  void overhead(const std::vector<TargetOffset>& files, const std::vector<TargetOffset>& one) {
    std::vector<double> longer;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const double own = stream_->one(files[i], true, TransferStream::transfer_bytes);
      longer.push_back(own - stream_->one(one[i], true, TransferStream::transfer_bytes));
    }
    Measurement measured = measurement_of(
        path("file_overhead"), "writes of 8 MiB to files of their own, beyond those to one file",
        Unit::seconds, longer);
    measured.median = std::max(0.0, measured.median);
    storage_.file_overhead = Seconds(session_.keep(measured));
  }

  void share(const Flow& files, const Flow& one) {
    std::vector<double> shares;
    const auto one_interval = [](const std::vector<Interval>& all) { return !all.empty(); };
    for (std::size_t i = 0; i < Session::intervals; ++i) {
      const double seconds = effort_.interval_s / 2;
      const auto own = stream_->run({files}, seconds, no_bound, one_interval);
      const auto whole = stream_->run({one}, seconds, no_bound, one_interval);
      shares.push_back(own.front().read_rate() / whole.front().read_rate());
    }
    storage_.process_efficiency["file"] =
        std::clamp(session_.keep(measurement_of(path("process_efficiency.file"),
                                                "reads of files of 8 MiB over reads of one file",
                                                Unit::share, shares)),
                   0.001, 1.0);
    storage_.process_efficiency["direct"] = 1;
    session_.source(path("process_efficiency.direct"),
                    "measured: the rates are those of one engine");
  }

  void cliff() {
    session_.begin(storage_.name + ": writing until it slows down", 0);
    constexpr double window = 1 << 30;
    std::vector<double> rates;
    // the whole of the file again and again: a drive's cache counts writes, not places
    stream_->run({flow(true, 0, written_)}, 1e9, window, [&](const std::vector<Interval>& windows) {
      rates = each(windows, &Interval::write_rate);
      const auto found = find_cliff(rates);
      return (found && rates.size() >= *found + cliff_windows) ||
             static_cast<double>(rates.size() + 1) * window >=
                 static_cast<double>(session_.options().cliff_bytes);
    });
    const auto found = find_cliff(rates);
    if (!found)
      return session_.warn(text::filled("{} did not slow down within {} of writing",
                                        {storage_.name, text::memory(rates.size() << 30)}));
    description::SlcCacheSpec& cache = storage_.slc_cache.emplace();
    cache.size = Bytes(static_cast<std::uint64_t>(*found) << 30);
    const auto after = rates.begin() + static_cast<std::ptrdiff_t>(*found);
    cache.folded_write = BytesPerSecond(session_.keep(
        measurement_of(path("slc_cache.folded_write"), "writes of 1 GiB past the fall",
                       Unit::bytes_per_second, {after, rates.end()})));
    session_.source(path("slc_cache.size"),
                    "measured: writes of 1 GiB until the rate fell below 60 %, one run");
  }

  Session& session_;
  IoEngine& engine_;
  StoreDirectory& directory_;
  description::StorageSpec& storage_;
  StorageEffort effort_;
  std::optional<TransferStream> stream_;  ///< of `engine_`
  AttachedFile file_;
  std::uint64_t written_ = 0;  ///< bytes from the file's beginning on that hold data
};

}  // namespace

StorageEffort storage_effort(const ProbeOptions& options) {
  if (options.quick)
    return {.file = 512 * MiB,
            .written = 512 * MiB,
            .mixed = 512 * MiB,
            .small = 128 * MiB,
            .tensors = 64 * MiB,
            .alone = 96 * MiB,
            .fill_s = 4,
            .interval_s = 0.2,
            .small_interval_s = 0.1,
            .alone_s = 0.05};
  return {.file = 2048 * MiB,
          .written = 1536 * MiB,
          .mixed = 1536 * MiB,
          .small = 384 * MiB,
          .tensors = 256 * MiB,
          .alone = 192 * MiB,
          .fill_s = 15,
          .interval_s = 0.8,
          .small_interval_s = 0.4,
          .alone_s = 0.3};
}

std::optional<std::size_t> find_cliff(const std::vector<double>& rates) {
  if (rates.size() < cliff_windows + 2) return std::nullopt;
  std::vector<double> first(rates.begin(), rates.begin() + cliff_windows);
  std::sort(first.begin(), first.end());
  const double fast = first[cliff_windows / 2];
  // one slow window may be chance, two are not
  for (std::size_t i = cliff_windows; i + 1 < rates.size(); ++i)
    if (rates[i] < cliff_share * fast && rates[i + 1] < cliff_share * fast) return i;
  return std::nullopt;
}

void probe_storage(Session& session, IoEngine& engine, StoreDirectory& directory,
                   description::StorageSpec& storage) {
  StoragePart(session, engine, directory, storage).run();
}

}  // namespace spillway::hw_backend
