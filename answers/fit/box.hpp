#pragma once

#include "scenarios/price_list.hpp"

namespace spillway::answers {

/// A box as people say it.
struct BoxWords {
  std::string gpu;  ///< "4090x2": a card of the price list, and how many
  std::string ram;  ///< "128G": GiB, as memory is sold
  std::string ssd;  ///< "2Tx2": TB, as drives are sold; or "990 PRO 2TBx2"; "" for none
};

/// What the words stand for.
struct NamedBox {
  nlohmann::json machine;          ///< a machine file
  std::vector<std::string> notes;  ///< what was read into the words: "2T is a 990 PRO 2TB"
};

/// The machine that the words mean, of parts of the list: the host is the cheapest that takes so
/// many cards, its memory is what is asked for; a drive that is named by its size is the cheapest
/// of that size, or the next in size with its capacity and rating in proportion.
///   Throws  ScenarioError for each word that means nothing, with the nearest name
NamedBox box_of(const BoxWords& words, const scenarios::PriceList& list);

}  // namespace spillway::answers
