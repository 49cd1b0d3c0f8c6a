#include "strategies/decide/decide.hpp"
#include "strategies/layout/job.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>
#include <set>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A step program and names for its tensors and operators.
class Planned {
 public:
  explicit Planned(const std::string& model)
      : prepared_(prepare(small_model(model, "resident"))), plan(keep_everything(program())) {}

  const models::StepProgram& program() const { return prepared_.program; }
  const models::Model& model() const { return prepared_.model; }

  /// The tensor of block 0 whose name ends so.
  models::TensorId tensor(const std::string& end) const {
    for (models::TensorId id = 0; id < program().tensors.size(); ++id)
      if (program().tensors[id].layer == 1 && program().tensors[id].name.ends_with(end) &&
          program().tensors[id].role == models::TensorRole::activation)
        return id;
    ADD_FAILURE() << "no tensor " << end;
    return 0;
  }
  void recompute(const std::string& end) { plan.fates[tensor(end)] = Fate::recompute; }
  /// What block 0 runs again: the functions of its operators.
  std::vector<models::OperatorFunction> rerun() const {
    std::vector<models::OperatorFunction> functions;
    for (const std::uint32_t i : operators_to_rerun(program(), 1, plan))
      functions.push_back(program().operators[i].function);
    return functions;
  }

 private:
  Prepared prepared_;

 public:
  ActivationPlan plan;
};

/// Names of the saved tensors of block 0, to choose from.
std::vector<std::string> saved_names(const Planned& planned) {
  std::vector<std::string> names;
  for (const models::TensorId id : planned.program().saved_by(1))
    names.push_back(planned.program().tensors[id].name);
  return names;
}

/// What block 0 saves of `function`'s outputs.
std::vector<models::TensorId> outputs_of(const Planned& planned,
                                         models::OperatorFunction function) {
  const models::Span span = planned.program().layers[1].forward;
  for (std::uint32_t i = span.first; i < span.last; ++i) {
    const models::Operator& op = planned.program().operators[i];
    if (op.function != function) continue;
    std::vector<models::TensorId> outputs;
    for (const models::Operand& operand : op.operands)
      if (operand.access != models::Access::read) outputs.push_back(operand.tensor);
    return outputs;
  }
  return {};
}

TEST(Offload, TakesWhatNamedOperatorsOfBlocksSaveAndNothingElse) {
  const Planned planned("llama");
  description::Strategy strategy;
  strategy.activations.policy = description::ActivationPolicy::offload;
  strategy.activations.homes = {"ssd"};
  strategy.activations.offloaded = std::vector{description::SavingOperator::attention};
  const auto some = fates_of_policy(strategy, planned.model(), planned.program());
  std::set<models::TensorId> expected;
  for (const models::LayerSpan& layer : planned.program().layers)
    for (std::uint32_t i = layer.forward.first; i < layer.forward.last; ++i) {
      const models::Operator& op = planned.program().operators[i];
      if (op.function == models::OperatorFunction::attention)
        expected.insert(op.saved.begin(), op.saved.end());
    }
  ASSERT_FALSE(expected.empty());
  for (models::TensorId id = 0; id < some->fates.size(); ++id)
    EXPECT_EQ(some->of(id), expected.contains(id) ? Fate::ssd : Fate::keep)
        << planned.program().tensors[id].name;
  // without names: all that a block saves, its input too; the head keeps what it has
  strategy.activations.homes = {"host"};
  strategy.activations.offloaded.reset();
  const auto all = fates_of_policy(strategy, planned.model(), planned.program());
  for (const models::TensorId id : planned.program().saved_by(1))
    if (planned.program().tensors[id].role == models::TensorRole::activation) {
      EXPECT_EQ(all->of(id), Fate::host) << planned.program().tensors[id].name;
    }
  const auto head = static_cast<std::uint32_t>(planned.model().layers.size() - 1);
  for (const models::TensorId id : planned.program().saved_by(head))
    if (planned.program().tensors[id].layer == head) {
      EXPECT_EQ(all->of(id), Fate::keep) << planned.program().tensors[id].name;
    }
}

TEST(OperatorsToRerun, AreNoneWhereEverythingIsThere) {
  const Planned planned("gpt2");
  EXPECT_THAT(planned.rerun(), IsEmpty());
  EXPECT_EQ(recomputed_flops(planned.program(), planned.plan).value(), 0);
}

TEST(OperatorsToRerun, AreOnlyTheOneThatMakesTheTensorWhenItsInputIsThere) {
  Planned planned("gpt2");
  // the down projection reads the activation's output; what that reads is saved too
  for (const models::TensorId id : outputs_of(planned, models::OperatorFunction::activation))
    planned.plan.fates[id] = Fate::recompute;
  EXPECT_THAT(planned.rerun(), ElementsAre(models::OperatorFunction::activation))
      << ::testing::PrintToString(saved_names(planned));
  EXPECT_EQ(recomputed_flops(planned.program(), planned.plan).value(), 0);  // no product
}

TEST(OperatorsToRerun, MakeAgainWholeWhatASecondOperatorChangesWhereItLies) {
  Planned planned("llama");
  // query and key are turned where they lie by one operator: to make the query again, the key is
  // made again too, so that the rotation runs on fresh ones
  planned.plan.fates[outputs_of(planned, models::OperatorFunction::rotation).front()] =
      Fate::recompute;
  EXPECT_THAT(planned.rerun(),
              ElementsAre(models::OperatorFunction::product, models::OperatorFunction::product,
                          models::OperatorFunction::rotation));
}

TEST(OperatorsToRerun, AreTheWholeForwardOfACheckpointedBlock) {
  const Planned planned("llama");
  const ActivationPlan plan = checkpoint_blocks(planned.model(), planned.program(), Fate::keep);
  const models::Span block = planned.program().layers[1].forward;
  EXPECT_EQ(operators_to_rerun(planned.program(), 1, plan).size(), block.last - block.first);
  EXPECT_THAT(operators_to_rerun(planned.program(), 0, plan), IsEmpty());
  double flops = 0;
  for (std::size_t layer = 1; layer + 1 < planned.program().layers.size(); ++layer)
    flops += planned.program().flops(planned.program().layers[layer].forward).value();
  EXPECT_EQ(recomputed_flops(planned.program(), plan).value(), flops);
}

TEST(OperatorsToRerun, LeaveOutTheLastProductWhenOnlyWhatItTakesRuns) {
  const Planned planned("llama");
  ActivationPlan plan = checkpoint_blocks(planned.model(), planned.program(), Fate::keep);
  const double whole = recomputed_flops(planned.program(), plan).value();
  plan.whole_layers = false;
  // 2 blocks, 2 x 64 tokens: the down projection, 4096 to 1024, makes nothing that backward reads
  EXPECT_EQ(recomputed_flops(planned.program(), plan).value(), whole - 2 * 2.0 * 128 * 4096 * 1024);
}

TEST(BytesOf, CountsATensorThatSeveralOperatorsSaveOnce) {
  const Planned planned("gpt2");
  std::uint64_t sum = 0;
  std::vector<bool> seen(planned.program().tensors.size());
  for (std::uint32_t layer = 0; layer < planned.program().layers.size(); ++layer)
    for (const models::TensorId id : planned.program().saved_by(layer))
      if (planned.program().tensors[id].role == models::TensorRole::activation && !seen[id]) {
        seen[id] = true;
        sum += planned.program().tensors[id].bytes.value();
      }
  EXPECT_EQ(bytes_of(planned.program(), planned.plan, Fate::keep), sum);
  EXPECT_EQ(bytes_of(planned.program(), planned.plan, Fate::ssd), 0u);
}

/// Whole runs of a plan that no policy stands for.
class Swapped : public ::testing::TestWithParam<std::string> {
 protected:
  result::Result run_with(Fate fate, const Overrides& overrides = {}) {
    description::Scenario scenario = small_model(GetParam(), "resident", overrides);
    scenario.strategy.gradients.memory = description::GradientMemory::at_start;
    const auto shared = std::make_shared<const Prepared>(prepare(scenario));
    const Prepared& prepared = *shared;
    ActivationPlan fates = keep_everything(prepared.program);
    for (std::uint32_t layer = 0; layer < prepared.program.layers.size(); ++layer)
      for (const models::TensorId id : prepared.program.saved_by(layer))
        if (prepared.program.tensors[id].role == models::TensorRole::activation)
          fates.fates[id] = fate;
    bytes_ = 0;
    const Decision decision = decide_given(scenario, shared, std::move(fates));
    const Job job(decision);
    for (const MovedTensor& moved : job.plans.moved) bytes_ += moved.bytes;
    CountingMachine machine(scenario);
    return run(machine, decision, "counting");
  }
  std::uint64_t bytes_ = 0;
};

TEST_P(Swapped, TensorsLeaveAndComeBackOncePerMicroBatch) {
  const result::Result kept = run_with(Fate::keep);
  for (const std::uint64_t micro : {1u, 2u}) {
    const std::string batches = "training.gradient_accumulation=" + std::to_string(micro);
    const result::Result host = run_with(Fate::host, {batches});
    ASSERT_TRUE(host.feasible());
    EXPECT_EQ(host.io.d2h, micro * bytes_);
    EXPECT_EQ(host.io.h2d, micro * bytes_);
    // of two blocks the lower one's come back while backward is in the upper one: all are there
    EXPECT_LE(host.gpu.total, kept.gpu.total);
    const result::Result ssd =
        run_with(Fate::ssd, {batches, "strategy.io_engine=direct", "strategy.pinned=exact"});
    ASSERT_TRUE(ssd.feasible());
    EXPECT_EQ(ssd.io.ssd_write, micro * bytes_);
    EXPECT_EQ(ssd.io.ssd_read, micro * bytes_);
    EXPECT_EQ(ssd.io.d2h, micro * bytes_);
    EXPECT_EQ(ssd.ssd.by_purpose.at("activations"), bytes_);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Swapped, ::testing::ValuesIn(small_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace spillway::strategies
