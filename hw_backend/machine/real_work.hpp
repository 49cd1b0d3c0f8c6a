#pragma once

#include "hw_backend/arithmetic/execute.hpp"
#include "hw_backend/cpu/team.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/machine/kernel.hpp"

#include <algorithm>
#include <vector>

/// Kernels as threads see them: raw memory instead of views, which count references and belong to
/// the loop's thread.
namespace spillway::hw_backend {

/// Of a type that kernels compute with.
inline bool is_element(strategies::ElementType type) { return description::bits_of(type) >= 16; }
inline Element element(strategies::ElementType type) {
  ENSURE(is_element(type), "an operand of numbers that no kernel computes with");
  return static_cast<Element>(type);
}

struct RawOperand {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  strategies::Role role = strategies::Role::any;
  Element type = Element::fp32;
  bool packed = false;  ///< as packing_of() says: no elements of a type
  bool fresh = false;
  std::uint32_t index = 0;

  explicit RawOperand(const strategies::BoundOperand& bound)
      : data(bound.view.data()),
        bytes(bound.view.bytes),
        role(bound.role),
        type(is_element(bound.type) ? element(bound.type) : Element::fp32),
        packed(!is_element(bound.type)),
        fresh(bound.fresh),
        index(bound.index) {}
  Output output() const { return {data, type}; }
  Input input() const { return {data, type}; }
};

struct RawGpuKernel {
  const models::Operator* operation = nullptr;
  strategies::GpuWork work = strategies::GpuWork::operation;
  strategies::AdamPart part = strategies::AdamPart::momentum;
  strategies::MuonPart muon = strategies::MuonPart::momentum;
  strategies::StepNumbers numbers;
  float value = 0;
  std::uint64_t first_element = 0;
  std::uint64_t rows = 0, columns = 0;
  std::uint64_t share = 0, shares = 1;
  std::vector<RawOperand> operands;

  explicit RawGpuKernel(const strategies::GpuKernel& kernel);
  /// The first operand of the role; null: there is none.
  const RawOperand* find(strategies::Role of) const {
    for (const RawOperand& operand : operands)
      if (operand.role == of) return &operand;
    return nullptr;
  }
};

/// Of `lowering`, whose weights are whole, as the ranks of `scenario` share them; empty: they do
/// not.
std::vector<std::optional<PackedMatrix>> shared_matrices(const Lowering& lowering,
                                                         const description::Scenario& scenario);

/// Calls each operator of the passes but collectives on memory that is not there: for
/// Device::reserve. Weight gradients both begin and are added to.
void go_through(Primitives& device, const Lowering& lowering);

struct RawCpuKernel {
  strategies::CpuWork work = strategies::CpuWork::adam;
  std::uint64_t elements = 0;
  const strategies::Subgroup* group = nullptr;
  std::uint64_t share = 0;
  strategies::StepNumbers numbers;
  std::uint64_t first_element = 0;
  bool adds = false;                            ///< a conversion into what is there
  const models::Operator* operation = nullptr;  ///< what has the products
  std::vector<RawOperand> operands;

  RawCpuKernel() = default;
  explicit RawCpuKernel(const strategies::CpuKernel& kernel);
  /// Its operands are in no memory yet.
  explicit RawCpuKernel(const strategies::StorageKernel& kernel);
};

/// What a run's kernels have in common.
struct WorkContext {
  const Lowering* lowering = nullptr;
  const description::Scenario* scenario = nullptr;
  std::uint32_t data_index = 0;  ///< of the rank among those with samples of their own
  std::uint32_t share = 0;       ///< of the rank among those that share samples
  std::uint32_t tensor = 0;      ///< of the rank among those that cut matrices

  /// What the rank has of a weight.
  struct Part {
    WeightSlice slice;
    std::uint64_t ranks = 1;  ///< that share the experts: so many in a row have different parts
  };
  Part part_of(std::uint32_t weight) const;
  Moment moment_of(const strategies::StepNumbers& numbers) const;
};

AdamNumbers adam_numbers(const description::Scenario& scenario,
                         const strategies::StepNumbers& numbers);
/// Of an optimizer that keeps a momentum alone.
MomentumNumbers momentum_numbers(const description::Scenario& scenario,
                                 const strategies::StepNumbers& numbers);

/// A share of a packed matrix in memory, which padding may follow.
struct PackedShare {
  std::byte* data = nullptr;
  std::uint64_t first = 0;  ///< element of the matrix
  Packing packing;
};
/// Those that lie in the operand's memory, from `first_element` on: one of them, or all.
std::vector<PackedShare> packed_shares(const WorkContext& context, const RawOperand& operand,
                                       std::uint64_t first_element);

/// Enqueues the optimizer's step of one weight's share, all of it or one of several kernels.
void update(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel);
void part_of_update(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel);
void part_of_muon(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel);

/// Enqueues the kernel.  loss  memory that the device can write; see execute.hpp
void run_kernel(Primitives& device, const WorkContext& context, const RawGpuKernel& kernel,
                double* loss);

/// Does the work on the calling thread and the team's.
///   masters  of checkpoints: by weight, all elements
///   Result   of an overflow check: it found one
bool run_work(const WorkContext& context, const RawCpuKernel& kernel, Team& team,
              std::vector<std::vector<float>>& masters);

}  // namespace spillway::hw_backend
