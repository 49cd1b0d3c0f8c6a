#include "scenarios/document/offers.hpp"
#include "scenarios/document/read_machine.hpp"
#include "tests/fuzz/read_text.hpp"

namespace {

using namespace spillway;

/// Offers are refused, or leave a machine one that can be read.
void read_offers(const std::string& text) {
  const auto offers = scenarios::read_offers({}, fuzz::file_with(text, "offers.csv"));
  static const description::MachineFile shipped = scenarios::read_machine("gaming_4090");
  description::MachineFile machine = shipped;
  scenarios::apply_offers(offers, machine);
  const scenarios::LocatedJson priced = scenarios::located_at(nlohmann::json(machine), {});
  ENSURE(scenarios::check_machine(priced).empty(), "a machine with other prices is refused");
  for (const scenarios::Offer& offer : offers)
    ENSURE(offer.date.empty() || scenarios::day_number(offer.date), "an offer of no day");
  scenarios::hourly_overrides(offers);
}

}  // namespace

/// What begins as JSON is a price list, what does not a file of offers, and behind a zero byte
/// stands what `--price` says; all are refused or read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::read_or_refuse([&] {
    if (text.starts_with('{')) {
      scenarios::PriceList list =
          scenarios::read_price_list(fuzz::file_with(text, "price_list.json"));
      scenarios::apply_offers({{"dram", 1, "", ""}, {"ssd", 2, "", ""}}, list);
    } else {
      read_offers(fuzz::halves(text).first);
    }
  });
  fuzz::read_or_refuse([&] { scenarios::read_offers({fuzz::halves(text).second}, ""); });
  return 0;
}
