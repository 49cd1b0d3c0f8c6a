#include "models/program/tape.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::models {

namespace {

/// An all-to-all, and in how many pieces each part lies of what goes and of what comes.
struct AllToAll {
  OperatorFunction function = OperatorFunction::all_to_all;
  std::uint64_t out = 1, in = 1;
  bool returns = false;

  AllToAll back() const { return {function, in, out, !returns}; }
};

void add(Tape& tape, const std::string& name, const AllToAll& way, std::vector<Operand> operands) {
  Operator& op = tape.add(name, way.function, std::move(operands));
  op.pieces_out = way.out;
  op.pieces_in = way.in;
  op.returns = way.returns;
}

/// As many elements as the ranks of a group send, by an all-to-all each way.
Value sent_by_all(Tape& tape, std::string_view name, Value value, std::uint64_t elements,
                  const AllToAll& way) {
  const Value there = tape.value(name, elements);
  add(tape, std::string(name), way, {{value.tensor, Access::read}, {there.tensor, Access::write}});
  tape.on_backward([&tape, name = std::string(name), value, there, way] {
    std::vector<Operand> back{tape.gradient(there)};
    tape.accumulate(back, value);
    ENSURE(back.back().access == Access::write, "a gradient besides the one that comes back");
    add(tape, name + ".backward", way.back(), std::move(back));
  });
  return there;
}

bool exchanges_heads(const Tape& tape) {
  return tape.workload().context > 1 && !tape.workload().context_in_ring;
}

/// A rank's part of the heads is a piece of every token's, its part of the tokens one of every
/// sample's.
AllToAll heads_away(const Tape& tape) {
  return {OperatorFunction::context_all_to_all, tape.tokens(), tape.workload().micro_batch};
}

}  // namespace

Value dispatch(Tape& tape, std::string_view name, Value value, std::uint64_t elements) {
  if (tape.workload().expert == 1) return value;
  return sent_by_all(tape, name, value, elements, {});
}

Value combine(Tape& tape, std::string_view name, Value value, std::uint64_t elements) {
  if (tape.workload().expert == 1) return value;
  return sent_by_all(tape, name, value, elements, AllToAll().back());
}

Value exchange_heads(Tape& tape, std::string_view name, Value value) {
  if (!exchanges_heads(tape)) return value;
  return sent_by_all(tape, name, value, tape.elements(value), heads_away(tape));
}

Value exchange_tokens(Tape& tape, std::string_view name, Value value) {
  if (!exchanges_heads(tape)) return value;
  return sent_by_all(tape, name, value, tape.elements(value), heads_away(tape).back());
}

Value gather_tokens(Tape& tape, Value own) {
  const std::uint64_t width = tape.elements(own) / tape.rows(own);
  const Value all = tape.value("gathered", tape.tokens() * width);
  tape.slots_[all.slot].partial = true;
  const auto op = static_cast<std::uint32_t>(tape.program_.operators.size());
  tape.gathered_[all.tensor] = {own.tensor, op, std::nullopt};
  tape.add("input.all_gather", OperatorFunction::all_gather,
           {{own.tensor, Access::read}, {all.tensor, Access::write}});
  tape.on_backward([&tape, own, all] {
    std::vector<Operand> back{tape.gradient(all)};
    const Value scattered = tape.value_of(own.tensor);  // others may have added to that of `own`
    tape.accumulate(back, scattered);
    tape.add("input_gradient.reduce_scatter", OperatorFunction::reduce_scatter, std::move(back));
    tape.pass_gradient(scattered, own);
  });
  return all;
}

Value enter_split(Tape& tape, Value value) {
  if (!tape.is_split()) return value;
  if (tape.slots_[value.slot].of_own_tokens) return gather_tokens(tape, value);
  const Value inner = tape.value_of(value.tensor);
  tape.slots_[inner.slot].partial = true;
  tape.on_backward([&tape, value, inner] {
    const TensorId partial = tape.gradient(inner).tensor;
    tape.add("input_gradient.all_reduce", OperatorFunction::all_reduce,
             {{partial, Access::read_write}});
    tape.pass_gradient(inner, value);
  });
  return inner;
}

Value leave_split(Tape& tape, Value value) {
  if (!tape.is_split()) return value;
  if (!tape.splits_tokens()) {
    tape.add("output.all_reduce", OperatorFunction::all_reduce,
             {{value.tensor, Access::read_write}});
    return value;
  }
  const Value own = tape.value("scattered", tape.elements(value) / tape.workload().tensor);
  tape.slots_[own.slot].of_own_tokens = true;
  tape.add("output.reduce_scatter", OperatorFunction::reduce_scatter,
           {{value.tensor, Access::read}, {own.tensor, Access::write}});
  tape.on_backward([&tape, value, own] {
    std::vector<Operand> back{tape.gradient(own)};
    tape.accumulate(back, value);
    tape.add("output_gradient.all_gather", OperatorFunction::all_gather, std::move(back));
  });
  return own;
}

}  // namespace spillway::models
