#pragma once

#include "reports/text/text.hpp"
#include "scenarios/document/price_list.hpp"

namespace spillway::answers {

/// A box as people say it; each word names a part of a price list in any way that machine files do.
struct BoxWords {
  std::string gpu;         ///< "4090x2": a card, and how many
  std::string ram;         ///< "128G": GiB, as memory is sold; "" where it is the card's as well
  std::string ssd;         ///< "2Tx2": TB, as drives are sold; or "990 PRO 2TBx2"; "" for none
  std::string board = "";  ///< "desktop"; "" for the cheapest that takes the rest
};

/// What the words stand for.
struct NamedBox {
  nlohmann::json machine;         ///< a machine file
  std::vector<text::Text> notes;  ///< what was read into the words: "2T is a 990 PRO 2TB"
};

/// The machine that the words mean, of parts of the list; its memory is what is asked for. A drive
/// that is named by its size is the first of the list with that size which a board for the cards
/// has a place for, or the next in size with its capacity, price and rating in proportion.
///   Throws  ScenarioError for each word that means nothing, with the nearest name; for what no
///           board takes, and for what the named one does not: cards, memory, drives, lanes
NamedBox box_of(const BoxWords& words, const scenarios::PriceList& list);

}  // namespace spillway::answers
