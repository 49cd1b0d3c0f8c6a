#include "models/program/operators.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::models {

namespace {

/// Keys and values of one rank's tokens, or their gradients.
struct Block {
  TensorId key = 0, value = 0;
};

/// The attention of one rank's queries to the blocks of all ranks, both ways.
class Ring {
 public:
  Ring(Tape& tape, const AttentionCall& call, Flops flops)
      : tape_(tape),
        call_(call),
        ranks_(tape.workload().context),
        flops_(flops / static_cast<double>(ranks_)) {
    ENSURE(call.key.tensor != call.value.tensor, "keys that are values do not go round");
  }

  /// Block i + 1 comes beside the kernel of block i, which adds to what the blocks before made.
  ///   Result  log-sum-exp of all scores
  TensorId forward() {
    const TensorId sums = tape_.tensor(call_.prefix + ".log_sum_exp",
                                       tape_.tokens() * tape_.split(tape_.architecture().heads), 4);
    Block block{call_.key.tensor, call_.value.tensor};
    for (std::uint64_t i = 0; i < ranks_; ++i) {
      Block next;
      if (i + 1 < ranks_) next = shift(block, "block_" + std::to_string(i + 1), true);
      const Access access = i == 0 ? Access::write : Access::read_write;
      Operator& kernel =
          tape_.add(call_.prefix, OperatorFunction::attention_block,
                    {{call_.query.tensor, Access::read},
                     {block.key, Access::read},
                     {block.value, Access::read},
                     {call_.output.tensor, access},
                     {sums, access}},
                    i == 0 ? std::vector<TensorId>{call_.query.tensor, call_.key.tensor,
                                                   call_.value.tensor, call_.output.tensor, sums}
                           : std::vector<TensorId>());
      kernel.causal = call_.causal;
      kernel.flops = flops_;
      block = next;
    }
    return sums;
  }

  /// The blocks go round once more, and behind each its gradients, to which each rank adds. A rank
  /// sends on what it has of them beside the kernel of the next block; at last they come home.
  void backward(TensorId sums) {
    Block block{call_.key.tensor, call_.value.tensor}, passed, made;
    for (std::uint64_t i = 0; i < ranks_; ++i) {
      const std::string number = std::to_string(i);
      if (i > 1) add(made, passed);
      const Block whole = i > 1 ? passed : made;
      Block next;
      if (i + 1 < ranks_) next = shift(block, "back_" + std::to_string(i + 1), true, gradients);
      if (i > 0) passed = shift(whole, "gradient_from_" + number, true, gradients);
      made = gradients_of(block, "gradient_of_" + number, sums, i == 0);
      block = next;
    }
    add(made, passed);
    come_home(passed);
  }

 private:
  static constexpr TensorRole gradients = TensorRole::activation_gradient;

  TensorId like(TensorId of, const std::string& name, TensorRole role) {
    const std::uint64_t elements = tape_.elements(of == call_.key.tensor ? call_.key : call_.value);
    return tape_.tensor(call_.prefix + "." + name, elements, tape_.element(), role);
  }
  Block make(const std::string& name, TensorRole role) {
    return {like(call_.key.tensor, "key_" + name, role),
            like(call_.value.tensor, "value_" + name, role)};
  }

  Block shift(const Block& from, const std::string& name, bool beside,
              TensorRole role = TensorRole::activation) {
    const Block to = make(name, role);
    send(from.key, {to.key, Access::write}, beside);
    send(from.value, {to.value, Access::write}, beside);
    return to;
  }

  void send(TensorId from, Operand to, bool beside) {
    Operator& op = tape_.add(call_.prefix + ".ring_shift", OperatorFunction::ring_shift,
                             {{from, Access::read}, to});
    op.beside = beside;
  }

  Block gradients_of(const Block& block, const std::string& name, TensorId sums, bool first) {
    const Block made = make(name, gradients);
    std::vector<Operand> operands{
        tape_.gradient(call_.output),        {call_.query.tensor, Access::read},
        {block.key, Access::read},           {block.value, Access::read},
        {call_.output.tensor, Access::read}, {sums, Access::read}};
    tape_.accumulate(operands, call_.query);
    ENSURE(!first || operands.back().access == Access::write, "queries that others read");
    operands.push_back({made.key, Access::write});
    operands.push_back({made.value, Access::write});
    Operator& kernel = tape_.add(call_.prefix + ".backward",
                                 OperatorFunction::attention_block_backward, std::move(operands));
    kernel.causal = call_.causal;
    kernel.flops = flops_ * 2.0;
    if (tape_.element() < 4) {  // as flash attention sums the gradient of the queries
      kernel.workspace = Bytes(tape_.elements(call_.query) * 4);
      kernel.bytes += kernel.workspace * 2u;
    }
    return made;
  }

  /// What this rank made, to what came from the rank before.
  void add(const Block& made, const Block& passed) {
    for (const auto& [from, to] :
         {std::pair(made.key, passed.key), std::pair(made.value, passed.value)})
      tape_.add(call_.prefix + ".gradient_sum", OperatorFunction::gradient_sum,
                {{from, Access::read}, {to, Access::read_write}});
  }

  void come_home(const Block& passed) {
    for (const auto& [from, home] :
         {std::pair(passed.key, call_.key), std::pair(passed.value, call_.value)}) {
      std::vector<Operand> to;
      tape_.accumulate(to, home);
      ENSURE(to.back().access == Access::write, "a gradient besides the one that comes home");
      send(from, to.back(), false);
    }
  }

  Tape& tape_;
  AttentionCall call_;
  std::uint64_t ranks_;
  Flops flops_;
};

}  // namespace

void ring_attention(Tape& tape, const AttentionCall& call, Flops flops) {
  // nothing is dropped here, but draws behind it keep the numbers that they have without a ring
  static_cast<void>(tape.next_draw());
  const TensorId sums = Ring(tape, call, flops).forward();
  tape.on_backward([&tape, call, flops, sums] { Ring(tape, call, flops).backward(sums); });
}

}  // namespace spillway::models
