#pragma once

#include "reports/text/text.hpp"
#include "scenarios/description/scenario.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// A way to train, with a split of the cards and a micro-batch.
struct Candidate {
  std::string name;                ///< "zero_offload, tensor 2"
  description::Scenario scenario;  ///< resolved
  std::size_t way = 0;             ///< those of one way differ in the micro-batch only
  /// Of a way with parts that ask more of a user: the one whose place it takes where no micro-batch
  /// of that has room.
  std::optional<std::size_t> instead_of;
  bool frees_gpu = false;  ///< it takes that place only where GPU memory is what is missing
  bool runnable = false;
  bool says_max_in_host = false;  ///< the user does: weights.max_in_host stays
  bool plans = false;             ///< tensor by tensor, which takes its time
  /// No schedule trains more; infinite: no bound; 0: a memory is too small for what is held
  /// throughout. Absent: not asked yet.
  std::optional<double> most_tokens_per_s;

  std::uint64_t batch() const { return scenario.training.micro_batch; }
  /// "zero_offload, tensor 2, micro-batch 8".
  std::string words() const;
  /// The same way in another micro-batch, without a bound.
  Candidate with_batch(std::uint64_t batch) const;
};

/// Every way to train `job` in micro-batches of 1 to 32, or in the one that `overrides` say. Behind
/// a way that people can run stands the same with each of explore::less_memory_of, in its place.
///   job        a scenario without strategy: model, machine, training, run
///   overrides  of everything that is tried
///   systems    as explore::ways_of has them
///   refused    gets a sentence for each reason for which systems that people can run are not among
///              them, though they would be without the overrides
///   Throws     ScenarioError: what is wrong with the first way where it is wrong with all
std::vector<Candidate> candidates_of(const nlohmann::json& job,
                                     const std::vector<std::string>& overrides,
                                     const std::vector<std::string>& systems = {},
                                     std::vector<text::Text>* refused = nullptr);

}  // namespace spillway::answers
