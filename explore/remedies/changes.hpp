#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/systems/catalogue.hpp"

#include <string>
#include <vector>

/// What may be changed of a scenario that does not fit, each in words and as overrides.
namespace spillway::explore {

struct Change {
  std::string words;
  std::vector<std::string> overrides;
};

/// What a scenario's own system leaves to its user: sub-groups, shares of the update, drives or the
/// GPU in place of host memory; checkpoints, stages of ZeRO, pageable gradients; a fused loss.
struct Settings {
  std::vector<Change> updates, passes, fused;

  std::vector<Change> all() const;
  std::vector<Change> with(const std::vector<Change>& batches) const;
};
Settings settings_of(const description::Scenario& scenario);

/// Weights from drives or the host in `home`, the GPU or the host; also by copies that change their
/// type, for updates on the CPU. None where they are there or nearer.
void add_nearer_weights(const description::Scenario& scenario, description::Home home,
                        std::vector<Change>& changes);
/// Other shares of states that lie in memory: a smaller one for the CPU takes less of the host, a
/// larger one less of the GPU.
void add_shares_of_update(const description::Scenario& scenario, std::vector<Change>& changes);
/// The same global batch in smaller pieces, at most so many, the largest first.
void add_smaller_batches(const description::Scenario& scenario, std::uint64_t pieces,
                         std::vector<Change>& changes);
/// Parts of the same system that take less host memory: exact pinned buffers, and with them a pool
/// by shape, a check without temporaries and I/O without files, as far as it has other ones.
void add_smaller_parts(const description::Scenario& scenario, std::vector<Change>& changes);
/// Not those whose updates come late: they train something else. Where ranks could share more, with
/// ZeRO-3 as well, the only stage for weights outside the GPU.
///   taken  which systems
void add_other_systems(const description::Scenario& scenario,
                       bool (*taken)(const strategies::System&), std::vector<Change>& changes);
/// Each of `first` with each of the others, which are applied after it: a system replaces the whole
/// strategy, the others parts of it.
void add_pairs(const std::vector<Change>& first, const std::vector<Change>& others,
               std::vector<Change>& pairs);

}  // namespace spillway::explore
