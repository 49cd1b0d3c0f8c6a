#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SPILLWAY_ANYWHERE __host__ __device__
#else
#define SPILLWAY_ANYWHERE
#endif

namespace spillway::hw_backend {

/// Four independent 32-bit words.
struct Words {
  std::uint32_t word[4];
};

/// A sequence of random numbers that can be read at any place: what number `index` is depends on
/// the key alone, never on who asks, how often, or in which order.
struct RandomStream {
  std::uint32_t key[2] = {0, 0};
};

/// What a stream is for; part of its key, so that no two uses share numbers.
enum class RandomUse : std::uint32_t {
  initial_values,
  tokens,
  successors,
  dropout,
  pattern,
  routing
};

/// Where in a run a stream belongs. What does not apply is zero.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t micro_batch = 0;
  std::uint32_t rank = 0;
  std::uint32_t layer = 0;
  std::uint32_t draw =
      0;  ///< which of the layer's draws, see models::Operator; or a weight's index
};

/// Philox 4x32 with ten rounds: a bijection of the 128-bit counter for each key.
///   Source  Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011), 3.3
SPILLWAY_ANYWHERE inline Words philox(Words counter, const std::uint32_t* key) {
  std::uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ k0,
                static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ k1,
                static_cast<std::uint32_t>(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

SPILLWAY_ANYWHERE inline std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
SPILLWAY_ANYWHERE inline std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// The stream of `use` at `at`.
SPILLWAY_ANYWHERE inline RandomStream random_stream(RandomUse use, const RandomKey& at) {
  const std::uint32_t seed[2] = {low_word(at.seed), high_word(at.seed)};
  const Words when =
      philox({{low_word(at.step), high_word(at.step), at.micro_batch, at.rank}}, seed);
  const Words where = philox(
      {{when.word[2], when.word[3], at.layer * 16 + static_cast<std::uint32_t>(use), at.draw}},
      when.word);
  return {{where.word[0], where.word[1]}};
}

/// Words 4 `index` to 4 `index` + 3 of a stream.
SPILLWAY_ANYWHERE inline Words random_words(const RandomStream& stream, std::uint64_t index) {
  return philox({{low_word(index), high_word(index), 0, 0}}, stream.key);
}

/// One number in [0, `range`) of 32 random bits; its bias is below range / 2^32.
SPILLWAY_ANYWHERE inline std::uint32_t below(std::uint32_t range, std::uint32_t bits) {
  return static_cast<std::uint32_t>((std::uint64_t{bits} * range) >> 32);
}

// ---- Dropout

struct Dropout {
  float probability = 0;  ///< of an element to become 0; the others grow by 1 / (1 - probability)
  RandomStream stream;
  /// Added to the number of an element: what lies here begins so far inside of a tensor that ranks
  /// share.
  std::uint64_t first = 0;

  SPILLWAY_ANYWHERE float scale() const { return 1.0f / (1.0f - probability); }
  /// An element is kept when its word is at least this.
  SPILLWAY_ANYWHERE std::uint32_t threshold() const {
    return static_cast<std::uint32_t>(static_cast<double>(probability) * 4294967296.0);
  }
  /// Whether `element` is kept; four elements share one `random_words`.
  SPILLWAY_ANYWHERE bool keeps(std::uint64_t element) const {
    const std::uint64_t at = first + element;
    return random_words(stream, at / 4).word[at % 4] >= threshold();
  }
};

// ---- Samples that ranks share

/// Which tokens of each sample lie here: two pieces, of which the second may follow the first.
struct TokenShare {
  std::uint64_t tokens = 0;             ///< of each sample; 0: all
  std::uint64_t first = 0, second = 0;  ///< positions where the pieces begin

  /// Tokens here of a sample of `sequence`.
  SPILLWAY_ANYWHERE std::uint64_t of(std::uint64_t sequence) const {
    return tokens == 0 ? sequence : tokens;
  }
  /// Where in its sample the `token`-th one here is.
  SPILLWAY_ANYWHERE std::uint64_t position(std::uint64_t token) const {
    const std::uint64_t half = tokens / 2;
    if (tokens == 0) return token;
    return token < half ? first + token : second + (token - half);
  }
};

// ---- Initial values

/// How a weight begins: a constant, or nearly normal around 0.
struct InitialRule {
  float constant = 0;
  float deviation = 0;
};

/// Element `element` of a weight, of the four words that it shares with its neighbour: constant +
/// deviation x the sum of four 16-bit uniform numbers, made to have mean 0 and variance 1. Integers
/// up to the last step, so that every device and library agrees on the bits.
SPILLWAY_ANYWHERE inline float initial_value_of(const InitialRule& rule, const Words& of_pair,
                                                std::uint64_t element) {
  const std::uint32_t a = of_pair.word[element % 2 * 2], b = of_pair.word[element % 2 * 2 + 1];
  const std::int32_t sum =
      static_cast<std::int32_t>((a & 0xFFFF) + (a >> 16) + (b & 0xFFFF) + (b >> 16));
  // 4 x 65535 / 2; the variance of one is (65536^2 - 1) / 12
  const float centred = static_cast<float>(2 * sum - 4 * 65535) * 0.5f;
  return rule.constant + rule.deviation * (centred * (1.0f / 37837.23f));
}

/// Element `element` of a weight.
SPILLWAY_ANYWHERE inline float initial_value(const InitialRule& rule, const RandomStream& stream,
                                             std::uint64_t element) {
  if (rule.deviation == 0) return rule.constant;
  return initial_value_of(rule, random_words(stream, element / 2), element);
}

/// The same of elements one after another: neighbours share what is drawn.
class InitialValues {
 public:
  SPILLWAY_ANYWHERE InitialValues(const InitialRule& rule, const RandomStream& stream)
      : rule_(rule), stream_(stream) {}

  SPILLWAY_ANYWHERE float of(std::uint64_t element) {
    if (rule_.deviation == 0) return rule_.constant;
    if (element / 2 != pair_) {
      pair_ = element / 2;
      words_ = random_words(stream_, pair_);
    }
    return initial_value_of(rule_, words_, element);
  }

 private:
  InitialRule rule_;
  RandomStream stream_;
  std::uint64_t pair_ = ~std::uint64_t{0};  ///< none yet
  Words words_{};
};

// ---- Synthetic text

/// Text that a model can learn: a chain whose symbols each have four successors, drawn with
/// probabilities 1/2, 1/4, 1/8, 1/8, begun anew every 32 tokens so that any token can be computed
/// alone. Who knows the table has 1.21 nat a token left, and the beginnings.
///   Symbols  at most 128, spread evenly over the vocabulary
struct SyntheticText {
  RandomStream tokens;      ///< keyed by seed, step, micro-batch and rank
  RandomStream successors;  ///< keyed by the seed alone: the chain is the same all along
  std::uint64_t vocabulary = 1;
  std::uint64_t sequence = 1;  ///< tokens of a sample
  TokenShare share{};          ///< of its tokens, which rows are of

  static constexpr std::uint64_t piece = 32;
  SPILLWAY_ANYWHERE std::uint32_t symbols() const {
    return vocabulary < 128 ? static_cast<std::uint32_t>(vocabulary) : 128u;
  }
  SPILLWAY_ANYWHERE std::uint64_t token_of(std::uint32_t symbol) const {
    return symbol * (vocabulary / symbols());
  }

  /// The token at `position`, which may be `sequence`: the last label.
  SPILLWAY_ANYWHERE std::uint64_t token(std::uint64_t sample, std::uint64_t position) const {
    const std::uint64_t pieces = sequence / piece + 1;
    const std::uint64_t index = (sample * pieces + position / piece) * (piece / 4);
    Words words = random_words(tokens, index);
    std::uint32_t symbol = below(symbols(), words.word[0]);
    for (std::uint64_t i = 1; i <= position % piece; ++i) {
      if (i % 4 == 0) words = random_words(tokens, index + i / 4);
      const std::uint32_t bits = words.word[i % 4] >> 29;  // 0-3: 1/2, 4-5: 1/4, 6: 1/8, 7: 1/8
      const std::uint32_t choice = bits < 4 ? 0 : bits < 6 ? 1 : bits - 4;
      symbol = below(symbols(), random_words(successors, symbol).word[choice]);
    }
    return token_of(symbol);
  }
  /// Tokens of a sample that lie here.
  SPILLWAY_ANYWHERE std::uint64_t own() const { return share.of(sequence); }
  /// Where in its sample token `row` of the micro-batch is: samples one after the other.
  SPILLWAY_ANYWHERE std::uint64_t position(std::uint64_t row) const {
    return share.position(row % own());
  }
  SPILLWAY_ANYWHERE std::uint64_t input(std::uint64_t row) const {
    return token(row / own(), position(row));
  }
  /// What follows it.
  SPILLWAY_ANYWHERE std::uint64_t label(std::uint64_t row) const {
    return token(row / own(), position(row) + 1);
  }
};

}  // namespace spillway::hw_backend
