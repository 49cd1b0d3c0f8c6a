#include "strategies/parts/update/shared_matrices.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

constexpr NumberFormat sent = ElementType::bf16;

const BoundOperand& operand(const GpuKernel& kernel, Role role) {
  const auto found = std::find_if(kernel.operands.begin(), kernel.operands.end(),
                                  [&](const BoundOperand& one) { return one.role == role; });
  ENSURE(found != kernel.operands.end(), "an update of a matrix that lacks an operand");
  return *found;
}

/// A kernel of the update that `whole` is.
GpuKernel part_of(const GpuKernel& whole, MuonPart part, std::string_view name) {
  GpuKernel kernel;
  kernel.name = name;
  kernel.operation = whole.operation;
  kernel.work = GpuWork::muon_part;
  kernel.muon = part;
  kernel.numbers = whole.numbers;
  return kernel;
}

}  // namespace

SharedMatrices::SharedMatrices(Machine& machine, Rank rank, const Job& job)
    : machine_(machine), rank_(rank), job_(job), rounds_(matrix_rounds(job)) {
  for (std::uint32_t weight = 0; weight < job.tensors.size(); ++weight)
    shared_.push_back(shares_a_matrix(job, weight));
}

std::uint64_t SharedMatrices::bytes(const MatrixRound& round) const {
  const std::uint64_t ways = job_.row(round.front()).shards.state_ways();
  return ways * sent.bytes(job_.share(round.front(), ways));
}

bool SharedMatrices::owns_one(const MatrixRound& round) const {
  return job_.member(rank_, round.front()) < round.size();
}

/// Momentum and gradient of all the round's matrices become what is sent.
Op SharedMatrices::send(const MatrixRound& round, Slot& slot, std::vector<GpuKernel> updates) {
  std::vector<GpuKernel> kernels;
  for (std::size_t place = 0; place < round.size(); ++place) {
    const GpuKernel& whole = updates[place];
    const std::uint32_t weight = round[place];
    const TensorRow& row = job_.row(weight);
    const std::uint64_t ways = row.shards.state_ways();
    GpuKernel kernel = part_of(whole, MuonPart::momentum, "momentum");
    // the momentum is read and written
    kernel.bytes = static_cast<double>(row.gradient_format().bytes(row.elements) +
                                       2 * row.state(StateKind::momentum)->bytes(row.elements) +
                                       sent.bytes(row.elements)) /
                   static_cast<double>(ways);
    kernel.first_element = place * job_.share(weight, ways);
    kernel.operands = {operand(whole, Role::gradient), operand(whole, Role::states)};
    kernel.operands.emplace_back(slot.parts.view(0, bytes(round)), models::Access::write,
                                 Role::output, sent.type, weight);
    kernels.push_back(std::move(kernel));
  }
  const Op summed = machine_.run(rank_, kernels);
  return machine_.collective(rank_, job_.gather_group(rank_, round.front()), Collective::all_to_all,
                             slot.parts.view(0, bytes(round)), slot.matrix.view(0, bytes(round)),
                             After(summed, slot.returned), sent.type);
}

/// This rank's matrix, if it has one, which then goes back.
Op SharedMatrices::orthogonalize(const MatrixRound& round, Slot& slot, const GpuKernel* update,
                                 const Op& came) {
  Op made = came;
  if (update) {
    const models::Operator& op = *update->operation;
    const std::uint32_t weight = round.front();
    GpuKernel kernel = part_of(*update, MuonPart::orthogonalize, "orthogonalize");
    kernel.flops = op.flops.value();
    kernel.matrix = true;
    // read into the workspace and written back from there besides
    kernel.bytes =
        static_cast<double>(op.orthogonalizing.value() + 4 * sent.bytes(job_.elements(weight)));
    kernel.operands.emplace_back(slot.matrix.view(0, bytes(round)), models::Access::read_write,
                                 Role::output, sent.type, weight);
    kernel.operands.emplace_back(workspace_.view(0, op.workspace.value()), models::Access::write,
                                 Role::workspace, sent.type, weight);
    made = machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1), came);
  }
  return machine_.collective(rank_, job_.gather_group(rank_, round.front()), Collective::all_to_all,
                             slot.matrix.view(0, bytes(round)), slot.parts.view(0, bytes(round)),
                             made, sent.type);
}

/// The rest of each update: of its traffic, what the momentum and the products have not had.
Op SharedMatrices::apply(const MatrixRound& round, const Slot& slot,
                         std::vector<GpuKernel> updates) {
  std::vector<GpuKernel> kernels;
  for (std::size_t place = 0; place < round.size(); ++place) {
    GpuKernel& whole = updates[place];
    const std::uint32_t weight = round[place];
    const TensorRow& row = job_.row(weight);
    const std::uint64_t ways = row.shards.state_ways();
    GpuKernel kernel = part_of(whole, MuonPart::apply, "apply");
    const double had = static_cast<double>(whole.operation->orthogonalizing.value() +
                                           row.gradient_format().bytes(row.elements) +
                                           2 * row.state(StateKind::momentum)->bytes(row.elements));
    const double came = static_cast<double>(sent.bytes(row.elements));
    kernel.bytes = whole.bytes + (came - had) / static_cast<double>(ways);
    kernel.updated = whole.updated;
    kernel.first_element = place * job_.share(weight, ways);
    kernel.operands.emplace_back(slot.parts.view(0, bytes(round)), models::Access::read,
                                 Role::input, sent.type, weight);
    for (BoundOperand& one : whole.operands)
      if (one.role == Role::weight || one.role == Role::master)
        kernel.operands.push_back(std::move(one));
    kernels.push_back(std::move(kernel));
  }
  return machine_.run(rank_, kernels, slot.returned);
}

/// Kernels run in the order in which they are issued: the momenta of a round, the products of the
/// one before, the rest of the one before that.
Op SharedMatrices::update(const std::function<GpuKernel(std::uint32_t)>& whole) {
  if (rounds_.empty()) return {};
  std::uint64_t most = 0, scratch = 0;
  for (const MatrixRound& round : rounds_) {
    most = std::max(most, bytes(round));
    const std::uint64_t members =
        machine_.topology().local_size(job_.gather_group(rank_, round.front()));
    if (machine_.topology().alike > 1 && round.size() < members) machine_.is_unlike();
    if (owns_one(round))
      scratch = std::max(scratch, whole(round.front()).operation->workspace.value());
  }
  const auto room = [&](std::uint64_t bytes) {
    return machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::workspace);
  };
  std::vector<Slot> slots(std::min(under_way, rounds_.size()));
  for (Slot& slot : slots) slot = {room(most), room(most), {}};
  if (scratch) workspace_ = room(scratch);
  const auto updates = [&](const MatrixRound& round) {
    std::vector<GpuKernel> all;
    for (const std::uint32_t weight : round) all.push_back(whole(weight));
    return all;
  };
  std::vector<Op> came(rounds_.size());
  Op last;
  for (std::size_t step = 0; step < rounds_.size() + 2; ++step) {
    if (step < rounds_.size())
      came[step] = send(rounds_[step], slots[step % slots.size()], updates(rounds_[step]));
    if (step >= 1 && step - 1 < rounds_.size()) {
      const MatrixRound& round = rounds_[step - 1];
      Slot& slot = slots[(step - 1) % slots.size()];
      std::vector<GpuKernel> own;
      if (owns_one(round)) own.push_back(whole(round[job_.member(rank_, round.front())]));
      slot.returned =
          orthogonalize(round, slot, own.empty() ? nullptr : &own.front(), came[step - 1]);
    }
    if (step >= 2)
      last = apply(rounds_[step - 2], slots[(step - 2) % slots.size()], updates(rounds_[step - 2]));
  }
  workspace_.reset();  // what runs holds what it uses
  return last;
}

}  // namespace spillway::strategies
