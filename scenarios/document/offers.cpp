#include "scenarios/document/offers.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/document/part_catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace spillway::scenarios {

using description::Complaint;
using description::MachineFile;

namespace {

constexpr long days_of_a_year = 365;
constexpr double bytes_of_a_terabyte = 1e12;
constexpr const char* kinds[] = {"dram", "ssd", "ssd_per_tb", "gpu", "server", "gpu_hour", "kwh"};

std::optional<double> dollars(std::string text) {
  text = std::string(description::trimmed(text));
  if (text.starts_with("$")) text.erase(0, 1);
  double usd = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), usd);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::isfinite(usd) && usd >= 0 ? std::optional(usd) : std::nullopt;
}

/// The part's own name; nothing where no part, or several, have it.
std::optional<std::string> part_named(const std::string& name) {
  for (const PartKind kind : {PartKind::drive, PartKind::gpu, PartKind::host}) try {
      return part_at(kind, find_part(kind, name).index).name;
    } catch (const description::ScenarioError&) {
      continue;  // of another kind, or of none: the caller says so
    }
  return std::nullopt;
}

/// Collects offers and what is wrong with them.
class OfferReader {
 public:
  void add(const std::string& name, const std::string& price, const std::string& date,
           const std::string& source, const Place& place) {
    const auto complain = [&](const std::string& message, const std::string& hint) {
      complaints_.push_back({place.file, place.line, place.column, name, message, hint});
    };
    const auto usd = dollars(price);
    if (!usd)
      return complain(fmt::format("\"{}\" is no price", description::trimmed(price)),
                      "write dollars, such as 440");
    if (!date.empty() && !day_number(date))
      return complain("\"" + date + "\" is no date", "write it as 2026-06-03");
    std::string known = name;
    if (std::find(std::begin(kinds), std::end(kinds), name) == std::end(kinds)) {
      const auto part = part_named(name);
      if (!part) return complain("no such part, nor one kind of price", all_names(name));
      known = *part;
    }
    if (*usd == 0 && known != "kwh" && known != "gpu_hour")
      return complain("a price of 0 says that it is in the price of another part",
                      "write 0.01 for what costs nothing");
    offers_.push_back({known, *usd, date, source});
  }

  std::vector<Offer> done() {
    if (!complaints_.empty()) throw description::ScenarioError(complaints_);
    return std::move(offers_);
  }

 private:
  static std::string all_names(const std::string& name) {
    std::vector<std::string> known(std::begin(kinds), std::end(kinds));
    for (const Part& part : part_catalogue().drives) known.push_back(part.name);
    for (const Part& part : part_catalogue().gpus) known.push_back(part.name);
    for (const Part& part : part_catalogue().hosts) known.push_back(part.name);
    const std::string near = description::nearest_name(name, known);
    return near.empty()
               ? "write dram, ssd, ssd_per_tb, gpu, server, gpu_hour, kwh or the name of a part"
               : "did you mean \"" + near + "\"?";
  }

  std::vector<Offer> offers_;
  std::vector<Complaint> complaints_;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"')
      quoted = !quoted;
    else if (c == at && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = std::string(description::trimmed(part));
  return parts;
}

void read_csv(const std::string& file, OfferReader& reader) {
  std::istringstream stream(text_of_file(file));
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string_view said = description::trimmed(line);
    if (said.empty() || said.front() == '#') continue;
    std::vector<std::string> cells = split(line, ',');
    if (number == 1 && cells[0] == "name") continue;
    cells.resize(std::max<std::size_t>(cells.size(), 4));
    reader.add(cells[0], cells[1], cells[2], cells[3].empty() ? file : cells[3], {file, number, 1});
  }
}

/// One price of a machine, with its source and day.
class Pricing {
 public:
  explicit Pricing(MachineFile& machine) : machine_(machine) {}

  /// A price of 0 says that the part is in another one's.
  std::size_t put(double& price, const std::string& path, const Offer& offer) {
    if (price == 0) return 0;
    price = offer.usd;
    machine_.sources[path] = "assumed: offered, " + offer.source;
    machine_.dates.erase(path);
    if (!offer.date.empty()) machine_.dates[path] = offer.date;
    return 1;
  }
  /// A price that a machine need not have.
  std::size_t say(std::optional<double>& price, const std::string& path, const Offer& offer) {
    double usd = 1;
    put(usd, path, offer);
    price = usd;
    return 1;
  }
  std::size_t put_drive(description::StorageSpec& storage, double usd, const Offer& offer) {
    if (storage.kind != description::StorageKind::ssd) return 0;
    Offer each = offer;
    each.usd = usd;
    double price = storage.price_usd.value_or(machine_.prices_usd->ssd);
    if (put(price, "storage." + storage.name + ".price_usd", each) == 0) return 0;
    storage.price_usd = price;
    return 1;
  }
  std::size_t put(const Offer& offer) {
    description::Prices& prices = *machine_.prices_usd;
    if (offer.name == "dram") return put(prices.dram_per_gib, "prices_usd.dram_per_gib", offer);
    if (offer.name == "gpu") return put(prices.gpu, "prices_usd.gpu", offer);
    if (offer.name == "server") return put(prices.server, "prices_usd.server", offer);
    if (offer.name == "gpu_hour") return say(prices.gpu_hour, "prices_usd.gpu_hour", offer);
    if (offer.name == "kwh") return say(prices.kwh, "prices_usd.kwh", offer);
    std::size_t changed = 0;
    for (description::StorageSpec& storage : machine_.storage) {
      const double terabytes = static_cast<double>(storage.capacity.value()) / bytes_of_a_terabyte;
      if (offer.name == "ssd") changed += put_drive(storage, offer.usd, offer);
      if (offer.name == "ssd_per_tb") changed += put_drive(storage, offer.usd * terabytes, offer);
      const auto bought = machine_.bought.find("storage." + storage.name);
      if (bought != machine_.bought.end() && bought->second == offer.name)
        changed += put_drive(storage, offer.usd, offer);
    }
    const auto is_bought = [&](const char* what) {
      const auto bought = machine_.bought.find(what);
      return bought != machine_.bought.end() && bought->second == offer.name;
    };
    if (is_bought("gpu")) changed += put(prices.gpu, "prices_usd.gpu", offer);
    if (is_bought("host")) changed += put(prices.server, "prices_usd.server", offer);
    return changed;
  }

 private:
  MachineFile& machine_;
};

template <class List>
std::size_t price_all(List& list, const Offer& offer, const char* kind) {
  std::size_t changed = 0;
  for (Part& part : list)
    if (offer.name == kind || offer.name == part.name) {
      part.price_usd = offer.usd;
      part.date = offer.date;
      part.sources["price_usd"] = "assumed: offered, " + offer.source;
      ++changed;
    }
  return changed;
}

/// Of no part: rent and energy.
bool is_hourly(const Offer& offer) { return offer.name == "gpu_hour" || offer.name == "kwh"; }

}  // namespace

std::vector<Offer> read_offers(const std::vector<std::string>& prices, const std::string& csv) {
  OfferReader reader;
  if (!csv.empty()) read_csv(csv, reader);
  for (const std::string& text : prices)
    for (const std::string& one : split(text, ',')) {
      const std::size_t equals = one.find('=');
      if (equals == std::string::npos)
        throw description::ScenarioError(
            {{"", 0, 0, "--price", "\"" + one + "\" is no price", "write for example dram=11"}});
      reader.add(std::string(description::trimmed(one.substr(0, equals))), one.substr(equals + 1),
                 "", "--price", {"--price"});
    }
  return reader.done();
}

std::size_t apply_offers(const std::vector<Offer>& offers, MachineFile& machine) {
  if (!machine.prices_usd && std::any_of(offers.begin(), offers.end(), is_hourly))
    machine.prices_usd.emplace();  // what is rented has no other price
  if (!machine.prices_usd) return 0;
  std::size_t changed = 0;
  for (const Offer& offer : offers) changed += Pricing(machine).put(offer);
  return changed;
}

std::size_t apply_offers(const std::vector<Offer>& offers, PriceList& list) {
  std::size_t changed = 0;
  for (const Offer& offer : offers) {
    changed += price_all(list.gpus, offer, "gpu") + price_all(list.hosts, offer, "server") +
               price_all(list.drives, offer, "ssd");
    for (HostPart& host : list.hosts)
      if (offer.name == "dram" && host.dram_usd_per_gib > 0) {  // else it is in the host's price
        host.dram_usd_per_gib = offer.usd;
        host.parts["dram_usd_per_gib"] = offer.usd;
        host.sources["dram_usd_per_gib"] = "assumed: offered, " + offer.source;
        host.dram_date = offer.date;
        ++changed;
      }
    for (DrivePart& drive : list.drives)
      if (offer.name == "ssd_per_tb") {
        const double bytes =
            static_cast<double>(description::quantity_from<description::Bytes>(
                                    drive.parts.at("drive").at("capacity").get<std::string>())
                                    .value());
        const Offer each{drive.name, offer.usd * bytes / bytes_of_a_terabyte, offer.date,
                         offer.source};
        changed += price_all(list.drives, each, "");
      }
  }
  return changed;
}

std::vector<std::string> hourly_overrides(const std::vector<Offer>& offers) {
  std::vector<std::string> overrides;
  for (const Offer& offer : offers)
    if (is_hourly(offer))
      overrides.push_back(fmt::format("machine.prices_usd.{}={}", offer.name, offer.usd));
  return overrides;
}

void price_catalogue(const std::vector<Offer>& offers) {
  apply_offers(offers, editable_part_catalogue());
}

std::optional<long> day_number(const std::string& date) {
  int year = 0, month = 0, day = 1, used = 0;
  const char* text = date.c_str();
  const bool whole = std::sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3;
  if (!whole) day = 1;
  if (!whole && std::sscanf(text, "%4d-%2d%n", &year, &month, &used) != 2) return std::nullopt;
  if (static_cast<std::size_t>(used) != date.size()) return std::nullopt;
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  const long shifted = month > 2 ? year : year - 1;  // years that begin in March
  const long months = (month + 9) % 12;
  return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * months + 2) / 5 + day;
}

std::map<std::string, std::string> old_prices(const MachineFile& machine,
                                              const std::string& today) {
  std::map<std::string, std::string> old;
  const auto now = day_number(today);
  if (!now || !machine.prices_usd) return old;
  for (const auto& [path, date] : machine.dates) {
    const auto day = day_number(date);
    if (!day || *now - *day <= days_of_a_year) continue;
    if (path == "prices_usd.gpu" && machine.prices_usd->gpu == 0) continue;  // in the host's
    if (path == "prices_usd.dram_per_gib" && machine.prices_usd->dram_per_gib == 0) continue;
    std::string name = path.substr(path.find('.') + 1);
    if (name == "dram_per_gib") name = "dram";
    old[name] = date;
  }
  return old;
}

}  // namespace spillway::scenarios
