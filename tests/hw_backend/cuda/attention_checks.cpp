#include "tests/hw_backend/cuda/session.hpp"

#include <cmath>

namespace spillway::hw_backend {

namespace {

struct Attended {
  Attended(Device& device, const AttentionShape& of, Element type)
      : shape(of),
        tokens(of.samples * of.sequence),
        width(of.heads * of.head_dim),
        output_width(of.heads * of.value_elements()),
        kv_width(of.kv_heads * of.head_dim),
        value_width(of.kv_heads * of.value_elements()),
        query(device, tokens * width, type, 1),
        key(device, tokens * kv_width, type, 2),
        value(device, tokens * value_width, type, 3),
        output(device, tokens * output_width, type, 4),
        output_gradient(device, tokens * output_width, type, 5),
        log_sum_exp(device, tokens * of.heads, Element::fp32, 6),
        query_gradient(device, tokens * width, type, 7),
        key_gradient(device, tokens * kv_width, type, 8),
        value_gradient(device, tokens * value_width, type, 9),
        workspace(device, tokens * width, Element::fp32, 10) {}

  void operator()(Primitives& p, Side side) {
    p.attention(shape, {query.in(side), key.in(side), value.in(side), output.out(side),
                        log_sum_exp.as<float>(side)});
    p.attention_backward(
        shape, {output_gradient.in(side), query.in(side), key.in(side), value.in(side),
                output.in(side), log_sum_exp.as<float>(side), query_gradient.out(side),
                key_gradient.out(side), value_gradient.out(side, true), workspace.as<float>(side)});
  }

  AttentionShape shape;
  std::uint64_t tokens, width, output_width, kv_width, value_width;
  Operand query, key, value, output, output_gradient, log_sum_exp;
  Operand query_gradient, key_gradient, value_gradient, workspace;
};

AttentionShape shape_of(std::uint64_t samples, std::uint64_t sequence, std::uint64_t heads,
                        std::uint64_t kv_heads, std::uint64_t head_dim, bool causal) {
  AttentionShape shape{samples, sequence, heads, kv_heads, head_dim, causal, 1, {}};
  shape.scale = 1 / std::sqrt(static_cast<float>(head_dim));
  return shape;
}

/// What a device rounds to the element type between its products, the processor keeps: a few units
/// in the last place.
void check_attention(Device& device, Report& report, const AttentionShape& shape) {
  for (const Element type : all_types) {
    Session session(device, report);
    Attended attended(device, shape, type);
    session.both([&](Primitives& p, Side side) { attended(p, side); });
    const std::string name = "attention over " + std::to_string(shape.sequence) + " tokens";
    // of one token the gradients of scores are nothing but rounding, of terms around 1
    const double near = 2 * precision_of(type);
    session.near(name + ", log of sums", attended.log_sum_exp, precision_of(Element::fp32));
    session.near(name, attended.output, near);
    session.near(name + ", queries' gradient", attended.query_gradient, near, 0.1);
    session.near(name + ", keys' gradient", attended.key_gradient, near, 0.1);
    session.near(name + ", values' gradient", attended.value_gradient, near, 0.1);
  }
}

/// Keys of another rank join the first ones.
void check_joining(Device& device, Report& report, AttentionShape shape) {
  for (const Element type : all_types) {
    Session session(device, report);
    Attended own(device, shape, type), other(device, shape, type);
    session.both([&](Primitives& p, Side side) {
      AttentionForward call{own.query.in(side), own.key.in(side), own.value.in(side),
                            own.output.out(side), own.log_sum_exp.as<float>(side)};
      shape.causal = true;
      p.attention(shape, call);
      call.key = other.key_gradient.in(side);
      call.value = other.query_gradient.in(side);
      call.grows = true;
      shape.causal = false;
      p.attention(shape, call);
    });
    session.near("joined, log of sums", own.log_sum_exp, precision_of(Element::fp32));
    session.near("joined", own.output, 3 * precision_of(type));
  }
}

void joining_keys(Device& device, Report& report) {
  AttentionShape shape = shape_of(1, 67, 4, 2, 16, true);
  check_joining(device, report, shape);
  shape.value_dim = 9;
  check_joining(device, report, shape);
}

void attentions(Device& device, Report& report) {
  for (const bool causal : {false, true}) {
    check_attention(device, report, shape_of(2, 12, 4, 2, 6, causal));
    check_attention(device, report, shape_of(1, 1, 1, 1, 8, causal));
    check_attention(device, report, shape_of(1, 67, 3, 3, 16, causal));
  }
}

// 256 queries are a block: two blocks, the second of 44.
void attention_in_blocks(Device& device, Report& report) {
  check_attention(device, report, shape_of(1, 300, 2, 1, 16, true));
  check_attention(device, report, shape_of(1, 300, 2, 2, 8, false));
}

/// Values narrower and wider than keys, whose widths no eight divides, in several blocks and with
/// keys that share no head or one.
void attention_of_other_values(Device& device, Report& report) {
  for (const std::uint64_t value_dim : {5u, 24u}) {
    for (AttentionShape shape : {shape_of(2, 12, 4, 2, 6, true), shape_of(1, 67, 3, 3, 16, false),
                                 shape_of(1, 300, 2, 2, 12, true)}) {
      shape.value_dim = value_dim;
      check_attention(device, report, shape);
    }
  }
  AttentionShape dropped = shape_of(2, 35, 4, 4, 12, true);
  dropped.value_dim = 8;
  dropped.dropout.probability = 0.25f;
  dropped.dropout.stream = random_stream(RandomUse::dropout, RandomKey{});
  check_attention(device, report, dropped);
}

/// Elements of their own in each head, and behind them those of all heads.
void joined_heads(Device& device, Report& report) {
  for (const Element type : all_types)
    for (const JoinedHeads& of :
         {JoinedHeads{7, 3, 5, 4}, JoinedHeads{40, 4, 16, 8}, JoinedHeads{3, 1, 9, 17}}) {
      Session session(device, report);
      const std::uint64_t all = of.rows * of.heads * (of.own + of.shared);
      Operand own(device, of.rows * of.heads * of.own, type, 1);
      Operand shared(device, of.rows * of.shared, type, 2), keys(device, all, type, 3);
      Operand gradient(device, all, type, 4);
      Operand sum(device, of.rows * of.shared, type, 5);
      Operand own_gradient(device, of.rows * of.heads * of.own, type, 6);
      session.both([&](Primitives& p, Side side) {
        p.join_heads(of, own.in(side), shared.in(side), keys.out(side));
        p.join_heads_backward(of, gradient.in(side), own_gradient.out(side), sum.out(side));
        p.join_heads_backward(of, keys.in(side), own.out(side, true), shared.out(side, true));
      });
      session.equal("joined heads", keys);
      session.equal("gradient of heads' own parts", own_gradient);
      session.near("gradient of the part of all heads", sum, precision_of(type));
      session.near("heads' own parts, added", own, precision_of(type));
      session.near("the part of all heads, added", shared, precision_of(type));
    }
}

void attention_drops(Device& device, Report& report) {
  AttentionShape shape = shape_of(2, 35, 4, 2, 8, true);
  shape.dropout.probability = 0.25f;
  RandomKey key;
  key.seed = 9;
  shape.dropout.stream = random_stream(RandomUse::dropout, key);
  check_attention(device, report, shape);
}

void attention_repeats(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    Attended a(device, shape_of(2, 70, 4, 2, 24, true), type);
    session.repeats("attention",
                    {&a.query, &a.key, &a.value, &a.output, &a.log_sum_exp, &a.query_gradient,
                     &a.key_gradient, &a.value_gradient},
                    [&](Primitives& p, Side side) { a(p, side); });
  }
}

}  // namespace

std::span<const Check> attention_checks() {
  static constexpr Check checks[] = {
      {"AttentionIsTheProcessors", attentions},
      {"AttentionInSeveralBlocksIsTheProcessors", attention_in_blocks},
      {"AttentionDropsWhatTheProcessorDrops", attention_drops},
      {"AttentionToValuesOfOtherWidthsIsTheProcessors", attention_of_other_values},
      {"HeadsJoinAndPartAsTheProcessors", joined_heads},
      {"AttentionRepeats", attention_repeats},
      {"KeysThatJoinOthersAreTheProcessors", joining_keys},
  };
  return checks;
}

}  // namespace spillway::hw_backend
