#pragma once

#include "explore/store/store.hpp"
#include "scenarios/document/offers.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace spillway::cli {

enum class Form : unsigned char { table, json, csv };

/// The points of a space that nothing beats, the best in the first objective first.
///   json  as FORMATS has it, whole results
///   csv   one line a point: its result flattened, its axes as `point.<axis>`
void print_front(explore::Store& store, std::int64_t space, Form form);

/// For each value of `axis` the accepted point that is best in the first objective.
///   Throws  ScenarioError: the space has no such axis
void print_groups(explore::Store& store, std::int64_t space, const std::string& axis, Form form);

/// Why a point of the front is what it is: what limits it, and in a table what each next step would
/// bring, simulated.
///   Throws  ScenarioError: no such point, or one that is not on the front
void print_explanation(explore::Store& store, std::int64_t space, std::uint64_t number, Form form,
                       double limit_s);

/// The front at other prices, with the old price beside the new one; nothing is simulated.
///   Throws  ScenarioError: offers for none of the parts, or no stored result
void print_repriced(explore::Store& store, std::int64_t space,
                    const std::vector<scenarios::Offer>& offers, Form form);

/// Points that were not accepted: in a table how many for which reason, else each.
void print_reasons(explore::Store& store, std::int64_t space, Form form);

}  // namespace spillway::cli
