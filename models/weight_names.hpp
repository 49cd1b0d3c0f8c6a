#pragma once

#include "models/model.hpp"

#include <string>
#include <vector>

namespace spillway::models {

/// Where a block's norms stand in the list of its weights, which is the order Hugging Face has.
enum class NormPlace {
  last,    ///< llama: both behind the matrices
  first,   ///< gpt2: each before the half it feeds
  behind,  ///< opt, bert: each behind its half's attention or matrices
};

struct NamedProjection {
  const char* name;
  WeightKind kind;
};

/// Hugging Face's names of one model type's weights; a matrix's name stands without ".weight".
struct WeightNames {
  std::string tokens;
  std::string positions;
  std::string token_types;
  std::string embedding_norm;
  std::string project_in;
  std::string project_out;
  std::string block_prefix;
  std::string attention_prefix;
  std::vector<NamedProjection> qkv;  ///< one entry: query, key and value in one matrix
  std::string attention_output;
  std::string feed_forward_prefix;
  std::string gate;
  std::string gated_up;
  std::string up;
  std::string down;
  std::string norm_1;
  std::string norm_2;
  NormPlace norm_place = NormPlace::last;
  std::string final_norm;
  std::string pooler;
  bool inputs_first = false;  ///< block matrices are stored [inputs, outputs] (gpt2's Conv1D)
};

WeightNames names_of(const Architecture& architecture);

}  // namespace spillway::models
