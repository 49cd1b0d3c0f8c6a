#include "answers/fit/board.hpp"

#include "scenarios/description/quantity.hpp"
#include "scenarios/document/box.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spillway::answers {

using scenarios::HostPart;

namespace {

/// As it is written on boards.
std::string form_words(const std::string& form) {
  if (form == "m2") return "M.2";
  if (form == "u2") return "U.2";
  return form == "sata" ? "SATA" : form;
}

std::string counted(std::uint64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Its memory is in its price.
bool brings_memory(const HostPart& board) {
  return board.dram_usd_per_gib == 0 && !board.memory.empty();
}

}  // namespace

std::string refusal(const HostPart& board, const Load& load) {
  if (board.card != load.card->form) return "has no place for a " + load.card->name;
  if (board.gpus.empty() || board.gpus.back() < load.cards)
    return fmt::format("takes {}, not {}",
                       counted(board.gpus.empty() ? 0 : board.gpus.back(), "card"), load.cards);
  if (board.memory.empty() || board.memory.back() < load.memory)
    return fmt::format(
        "takes {} of memory at most, not {}",
        scenarios::memory_words(board.memory.empty() ? description::Bytes() : board.memory.back()),
        scenarios::memory_words(load.memory));
  if (brings_memory(board) && board.memory.back() != load.memory)
    return fmt::format("comes with {} of memory, not {}",
                       scenarios::memory_words(board.memory.back()),
                       scenarios::memory_words(load.memory));
  std::uint64_t lanes = load.cards * load.card->lanes;
  if (load.drive && load.drives > 0) {
    const auto slots = board.slots.find(load.drive->form);
    const std::uint64_t has = slots == board.slots.end() ? 0 : slots->second;
    if (has < load.drives)
      return fmt::format("takes {}, not {}", counted(has, form_words(load.drive->form) + " drive"),
                         load.drives);
    lanes += load.drives * load.drive->lanes;
  }
  if (board.lanes > 0 && lanes > board.lanes)
    return fmt::format("has {} lanes of PCI Express, and {} are needed", board.lanes, lanes);
  return "";
}

std::optional<std::size_t> cheapest_board(const std::vector<HostPart>& boards, const Load& load) {
  const double gib = static_cast<double>(load.memory.value()) / static_cast<double>(1ull << 30);
  const auto price = [&](const HostPart& board) {
    return board.price_usd + gib * board.dram_usd_per_gib;
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < boards.size(); ++i)
    if (refusal(boards[i], load).empty() && (!best || price(boards[i]) < price(boards[*best])))
      best = i;
  return best;
}

std::string no_board(const std::vector<HostPart>& boards, const Load& load) {
  std::vector<std::string> reasons;
  for (const HostPart& board : boards)
    if (board.card == load.card->form)
      reasons.push_back("a " + board.name + " " + refusal(board, load));
  std::string text = fmt::format("no board takes {} x {} and {}", load.cards, load.card->name,
                                 scenarios::memory_words(load.memory));
  if (load.drives > 0) text += fmt::format(" and {} x {}", load.drives, load.drive->name);
  return reasons.empty() ? text : fmt::format("{}: {}", text, fmt::join(reasons, "; "));
}

bool lacks_no_more_than_memory(const HostPart& board, const Load& load) {
  if (!brings_memory(board)) return false;
  Load other = load;
  other.memory = board.memory.back();
  return refusal(board, other).empty();
}

text::Text places_of(const HostPart& board) {
  std::vector<text::Text> places = {counted(board.gpus.empty() ? 0 : board.gpus.back(), "card")};
  for (const auto& [form, count] : board.slots)
    places.emplace_back(counted(count, form_words(form) + " drive"));
  if (!board.memory.empty())
    places.push_back("up to " + text::Text(text::memory(board.memory.back().value())));
  if (board.lanes > 0) places.emplace_back(fmt::format("{} lanes of PCI Express", board.lanes));
  return text::joined(places, ", ");
}

}  // namespace spillway::answers
