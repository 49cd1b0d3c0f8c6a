#include "scenarios/reading/plausible.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/part_catalogue.hpp"

namespace spillway::scenarios {

using description::Bytes;
using description::BytesPerSecond;
using description::Complaint;

namespace {

constexpr double MB = 1e6, GB = 1e9, TB = 1e12, TiB = 1ull << 40;

/// Counts that are refused above, by the path of their knob.
constexpr std::pair<std::string_view, std::uint64_t> largest_counts[] = {
    {"machine.nodes", 100'000},           {"machine.gpu.count", 1024},
    {"machine.storage.NAME.count", 1000}, {"training.micro_batch", 100'000},
    {"training.sequence", 16ull << 20},   {"training.gradient_accumulation", 100'000},
    {"run.warmup_steps", 1000},
};

/// The complaints about one scenario. Lower ends leave room for machines that are played slowly.
class Ranges {
 public:
  explicit Ranges(const LocatedJson& written) : written_(written) {}

  /// 0 stands for what a machine has not.
  ///   why  where the range comes from, if its ends do not say it: ", which ..."
  template <class Q>
  void quantity(const std::string& path, Q value, double least, double most,
                const std::string& why = "") {
    const auto number = static_cast<double>(value.value());
    if (number == 0 || (number >= least && number <= most)) return;
    using Rep = typename Q::rep;
    complain(path, description::to_text(value),
             fmt::format("between {} and {}{}", description::to_text(Q(static_cast<Rep>(least))),
                         description::to_text(Q(static_cast<Rep>(most))), why));
  }
  void no_less(const std::string& path, description::Bytes value, double least,
               const std::string& why) {
    if (static_cast<double>(value.value()) < least)
      complain(path, description::to_text(value),
               "at least " + description::to_text(Bytes(static_cast<std::uint64_t>(least))) + why);
  }
  /// Of what a drive has.
  void some_of(const std::string& path, Bytes value, Bytes all) {
    if (value >= all)
      complaints_.push_back(placed_in(
          written_, {"", 0, 0, path,
                     fmt::format("{} are all that a drive of {} has", description::to_text(value),
                                 description::to_text(all)),
                     "write what others keep on each drive, so that the run has the rest"}));
  }
  void duration(const std::string& path, description::Seconds value, double most_s) {
    if (value.value() > most_s)
      complain(path, description::to_text(value),
               "at most " + description::to_text(description::Seconds(most_s)));
  }
  void count(const std::string& path, std::uint64_t value, std::uint64_t most) {
    if (value > most) complain(path, std::to_string(value), fmt::format("at most {}", most));
  }
  void dollars(const std::string& path, double usd, double most) {
    if (usd > most) complain(path, fmt::format("{}", usd), fmt::format("at most {}", most));
  }
  std::vector<Complaint> take() { return std::move(complaints_); }

 private:
  void complain(const std::string& path, const std::string& value, const std::string& range) {
    complaints_.push_back(
        placed_in(written_, {"", 0, 0, path, value + " is beyond what exists",
                             "write " + range + "; a unit or a zero may have slipped"}));
  }
  const LocatedJson& written_;
  std::vector<Complaint> complaints_;
};

/// An emulated GPU on a busy machine computes attention at less than a MFLOPS.
constexpr double least_flops = 1e3, most_flops = 1e17;

/// Of the fastest servers of today, whose memory feeds twice as much.
constexpr double fast_adam = 50e9;
constexpr double adam_bytes = 28;  ///< 14 read and 14 written a parameter

/// Twice what the memory feeds, since measured rates of memory are often low. A server's own rate
/// stays when somebody asks what slower memory would do.
void check_adam(const description::HostSpec& host, Ranges& ranges) {
  const double fed = host.memory_rate.value() / adam_bytes;
  ranges.quantity("machine.host.adam", host.adam, 1e3, std::max(2 * fed, fast_adam),
                  ": host.memory_rate feeds " +
                      description::to_text(description::ParamsPerSecond(fed)) +
                      " at 28 bytes a parameter");
  if (host.lion)
    ranges.quantity("machine.host.lion", *host.lion, 1e3, std::max(2 * fed, fast_adam));
}

/// What is no drive: another node's memory, a parallel file system.
constexpr double store_rate = 10 * TB;
/// Half of what the memory of two sockets carries, since a RAM disk's copies read and write.
constexpr double ram_disk_rate = 500 * GB;
constexpr double lane_rate = 16 * GB;  ///< PCI Express 7.0, one direction

/// A drive may be a RAM disk, unless it takes lanes of PCI Express.
void check_rates(const description::StorageSpec& storage, const std::string& path, Ranges& ranges) {
  double most = store_rate;
  std::string why;
  if (storage.kind == description::StorageKind::ssd) {
    const double lanes = static_cast<double>(storage.lanes);
    const bool by_lanes = lanes > 0 && lanes * lane_rate < ram_disk_rate;
    most = by_lanes ? lanes * lane_rate : ram_disk_rate;
    why = by_lanes ? fmt::format(", which {} lanes of PCI Express 7.0 carry", storage.lanes)
                   : ", which a RAM disk reaches";
  }
  ranges.quantity(path + "read", storage.read, MB / 100, most, why);
  ranges.quantity(path + "write", storage.write, MB / 100, most, why);
  if (storage.array_read)
    ranges.quantity(path + "array_read", *storage.array_read, MB / 100, store_rate);
  if (storage.array_write)
    ranges.quantity(path + "array_write", *storage.array_write, MB / 100, store_rate);
}

/// A cache is a part of its drive, and no drive wears out by being written once; drives that
/// somebody makes smaller, to ask what then, keep theirs of up to 1 TB.
void check_flash(const description::StorageSpec& storage, const std::string& path, Ranges& ranges) {
  const auto capacity = static_cast<double>(storage.capacity.value());
  ranges.quantity(path + "capacity", storage.capacity, MB, 2000 * TB);
  if (storage.slc_cache && capacity > 0)
    ranges.quantity(path + "slc_cache.size", storage.slc_cache->size, 1, std::max(capacity, TB),
                    ", at most the drive");
  if (storage.endurance && capacity > 0)
    ranges.some_of(path + "endurance.held", storage.endurance->held, storage.capacity);
  if (storage.endurance)
    ranges.no_less(path + "endurance.rated", storage.endurance->rated,
                   std::max(MB, std::min(capacity, TB)), ", the drive written once");
}

void check_storage(const description::StorageSpec& storage, Ranges& ranges) {
  const std::string path = "machine.storage." + storage.name + ".";
  ranges.count(path + "count", storage.count, *largest_count("machine.storage.NAME.count"));
  check_rates(storage, path, ranges);
  // a hard disk that starts to turn takes as long
  ranges.duration(path + "latency", storage.latency, 10);
  ranges.duration(path + "file_overhead", storage.file_overhead, 10);
  if (storage.near_storage)
    ranges.duration(path + "near_storage.start", storage.near_storage->start, 10);
  if (storage.kind == description::StorageKind::ssd) check_flash(storage, path, ranges);
  if (storage.price_usd) ranges.dollars(path + "price_usd", *storage.price_usd, 1e6);
}

/// Ten times and more of what the dearest cost: a rack sold as one server, a card, an hour of it.
void check_prices(const description::Prices& prices, Ranges& ranges) {
  const std::string path = "machine.prices_usd.";
  ranges.dollars(path + "server", prices.server, 1e8);
  ranges.dollars(path + "gpu", prices.gpu, 1e6);
  ranges.dollars(path + "ssd", prices.ssd, 1e6);
  ranges.dollars(path + "dram_per_gib", prices.dram_per_gib, 1e4);
  if (prices.gpu_hour) ranges.dollars(path + "gpu_hour", *prices.gpu_hour, 1e4);
  if (prices.kwh) ranges.dollars(path + "kwh", *prices.kwh, 100);
}

void check_machine(const description::MachineFile& machine, Ranges& ranges) {
  ranges.count("machine.nodes", machine.nodes, *largest_count("machine.nodes"));
  ranges.count("machine.gpu.count", machine.gpu.count, *largest_count("machine.gpu.count"));
  ranges.quantity("machine.gpu.memory", machine.gpu.memory, MB, 4 * TiB);
  ranges.quantity("machine.gpu.memory_rate", machine.gpu.memory_rate, MB, 200 * TB);
  for (const auto& [type, rate] : machine.gpu.compute)
    ranges.quantity("machine.gpu.compute." + type, rate, least_flops, most_flops);
  for (const auto& [type, rate] : machine.gpu.attention)
    ranges.quantity("machine.gpu.attention." + type, rate, least_flops, most_flops);
  if (const auto& rate = machine.gpu.reduction)
    ranges.quantity("machine.gpu.reduction", *rate, MB, 200 * TB);
  if (const auto& rate = machine.gpu.permute)
    ranges.quantity("machine.gpu.permute", *rate, MB, 200 * TB);
  ranges.duration("machine.gpu.launch", machine.gpu.launch, 1);
  const description::PcieSpec& pcie = machine.pcie;
  ranges.quantity("machine.pcie.h2d", pcie.h2d, MB / 10, 10 * TB);
  ranges.quantity("machine.pcie.d2h", pcie.d2h, MB / 10, 10 * TB);
  ranges.duration("machine.pcie.latency", pcie.latency, 1);
  ranges.duration("machine.network.latency", machine.network.latency, 10);
  ranges.quantity("machine.host.memory", machine.host.memory, MB, 256 * TiB);
  ranges.quantity("machine.host.memory_rate", machine.host.memory_rate, MB, 100 * TB);
  if (const auto& rate = machine.host.socket_rate)
    ranges.quantity("machine.host.socket_rate", *rate, MB, 10 * TB);
  check_adam(machine.host, ranges);
  for (const description::StorageSpec& storage : machine.storage) check_storage(storage, ranges);
  if (machine.prices_usd) check_prices(*machine.prices_usd, ranges);
}

/// The price of such a part that somebody wrote is theirs: it is not the catalogue's.
///   size  where a part of its kind says how large it is: "/gpu/memory"
std::string priced_as_smaller(const Part* part, const char* size, Bytes asked, double price_usd,
                              const std::string& path) {
  const nlohmann::json::json_pointer at(size);
  if (!part || price_usd != part->price_usd || !part->parts.contains(at)) return "";
  const Bytes own = description::quantity_from<Bytes>(part->parts.at(at).get<std::string>());
  // drives of one size have a few sectors more or less
  constexpr double equal = 1.01;
  if (static_cast<double>(asked.value()) <= equal * static_cast<double>(own.value())) return "";
  return fmt::format("{}: {}, and the price is that of a {} with {}", path,
                     description::to_text(asked), part->name, description::to_text(own));
}

}  // namespace

namespace {
/// Drives without a price in a box whose cards have one, unless its file says why. A whole server's
/// price has its drives.
std::vector<std::string> unpriced_drives(const description::MachineFile& machine) {
  std::vector<std::string> sentences;
  const auto& usd = machine.prices_usd;
  if (!usd || usd->gpu == 0 || machine.sources.contains("prices_usd.ssd")) return sentences;
  for (const description::StorageSpec& storage : machine.storage)
    if (storage.kind == description::StorageKind::ssd && storage.price_usd.value_or(usd->ssd) == 0)
      sentences.push_back(fmt::format(
          "machine.storage.{0}: its drives have no price, and the box's is without them; "
          "--set machine.storage.{0}.price_usd=DOLLARS says what one costs",
          storage.name));
  return sentences;
}
}  // namespace

std::vector<std::string> doubts_of_price(const description::MachineFile& machine) {
  std::vector<std::string> sentences = unpriced_drives(machine);
  if (machine.bought.empty()) return sentences;
  const PriceList& catalogue = part_catalogue();
  const auto add = [&](std::string sentence, const std::string& hint) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence) + "; " + hint);
  };
  if (machine.prices_usd)
    add(priced_as_smaller(bought_part(machine, catalogue.gpus, "gpu"), "/gpu/memory",
                          machine.gpu.memory, machine.prices_usd->gpu, "machine.gpu.memory"),
        "--set machine.prices_usd.gpu=DOLLARS says what such a card costs");
  for (const description::StorageSpec& storage : machine.storage) {
    const std::string path = "machine.storage." + storage.name;
    const double price =
        storage.price_usd.value_or(machine.prices_usd ? machine.prices_usd->ssd : 0);
    add(priced_as_smaller(bought_part(machine, catalogue.drives, "storage." + storage.name),
                          "/drive/capacity", storage.capacity, price, path + ".capacity"),
        fmt::format("--set {}.price_usd=DOLLARS says what such a drive costs", path));
  }
  return sentences;
}

std::optional<std::uint64_t> largest_count(std::string_view knob) {
  for (const auto& [path, most] : largest_counts)
    if (path == knob) return most;
  return std::nullopt;
}

std::vector<Complaint> implausible(const description::MachineFile& machine) {
  const LocatedJson nothing;
  Ranges ranges(nothing);
  check_machine(machine, ranges);
  return ranges.take();
}

std::vector<Complaint> implausible(const description::Scenario& scenario,
                                   const LocatedJson& written) {
  Ranges ranges(written);
  check_machine(scenario.machine, ranges);
  const description::Training& training = scenario.training;
  const std::pair<const char*, std::uint64_t> counts[] = {
      {"training.micro_batch", training.micro_batch},
      {"training.sequence", training.sequence},
      {"training.gradient_accumulation", training.gradient_accumulation},
      {"run.warmup_steps", scenario.run.warmup_steps}};
  for (const auto& [path, value] : counts) ranges.count(path, value, *largest_count(path));
  if (scenario.model.is_object())
    for (const char* key : {"num_hidden_layers", "n_layer", "num_layers"})
      if (scenario.model.contains(key) && scenario.model[key].is_number_unsigned())
        ranges.count(std::string("model.") + key, scenario.model[key].get<std::uint64_t>(), 2000);
  return ranges.take();
}

}  // namespace spillway::scenarios
