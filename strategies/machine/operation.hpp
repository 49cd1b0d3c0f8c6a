#pragma once

#include "scenarios/description/errors.hpp"
#include "strategies/coroutines/waiting.hpp"
#include "strategies/machine/collectives.hpp"
#include "strategies/machine/kernel.hpp"
#include "strategies/machine/topology.hpp"

#include <array>
#include <concepts>
#include <memory>

namespace spillway::strategies {

class Machine;
struct Operation;

/// A collective as its members join it.
struct CollectiveRound {
  Group group;
  Collective what = Collective::all_gather;
  ElementType type = ElementType::fp32;  ///< of what a reduction adds
  PartPieces pieces;
  std::uint64_t bytes = 0;          ///< of the whole: gathered, scattered or reduced
  std::vector<Operation*> members;  ///< of this node, in rank order, null until it joined
  std::size_t ready = 0;            ///< joined and past their dependencies
  std::size_t joined = 0;
  CollectiveCost cost;
};

enum class OperationKind : std::uint8_t {
  read,
  write,
  copy_to_gpu,
  copy_to_host,
  copy_on_gpu,
  copy_on_host,
  gpu_kernels,
  cpu_kernel,
  storage_kernel,
  collective,
  send,
};

/// Which rate of the GPU bounds a kernel: products at `compute` and the rest at `memory_rate`, or a
/// rate of its own where the machine has one (rate_of). fp8: products of 8-bit copies, and what
/// makes the copies, which no rate of whole passes was measured with. bf16: products in bf16,
/// whatever the training's precision is.
enum class KernelRate : std::uint8_t { usual, attention, reduction, permute, fp8, bf16 };

/// Products with the narrow matrices of adapters inside a kernel that has wider ones.
struct NarrowKernel {
  double flops = 0, bytes = 0;             ///< of those of the kernel
  double side = 0, tokens = 0, width = 0;  ///< of one product, as LoggedKernel has them
};

/// One kernel of a batch, as the machine times and logs it.
struct LoggedKernel {
  std::string_view name;
  double flops;
  double bytes;
  double updated;
  bool matrix;
  bool in_pass;
  bool recompute;
  double seconds;   ///< filled by a machine with a clock
  double side = 0;  ///< of its product (product_side); 0: no product, or of no known shape
  KernelRate rate = KernelRate::usual;
  double widened = 0;   ///< bytes of packed weights and their copies, before the product
  double tokens = 0;    ///< rows of its product that are tokens, and how wide its matrices are
  double width = 0;     ///< (product_shape); 0: as `side`
  bool module = false;  ///< a module's weights come before it
  NarrowKernel narrow{};
};

/// When an operation ran. A machine without a clock gives zeros.
struct Timing {
  double started_s = 0;
  double finished_s = 0;
  std::uint64_t bytes = 0;
  double seconds() const { return finished_s - started_s; }
};

/// State of one operation; strategies hold it as Op.
struct Operation {
  enum class State : std::uint8_t { free, waiting, running, done };

  virtual ~Operation() = default;

  Machine* machine = nullptr;
  std::uint32_t references = 0;
  std::uint64_t number = 0;  ///< start order: ties at one instant resolve by it
  OperationKind kind = OperationKind::read;
  State state = State::free;
  Rank rank;
  StorageId storage;                 ///< of a storage kernel
  std::vector<StoragePiece> pieces;  ///< of a read or write: what each storage transfers
  bool pageable = false;             ///< a copy whose host side is pageable
  bool gpu_direct = false;
  GpuStream gpu_stream = GpuStream::compute;
  bool found = false;     ///< what an overflow check says
  bool recorded = false;  ///< the recorder saw it start
  bool prepared = false;  ///< a device has it already and waits for its dependencies by itself
  bool queued = false;    ///< where one is served at a time: it is served, or waits for that
  result::Phase phase = result::Phase::init;
  std::uint64_t bytes = 0;
  Rank peer;
  bool to_other_node = false;  ///< a hand-over to a peer there
  CpuKernel cpu;
  StorageKernel near_storage;
  std::vector<LoggedKernel> kernels;
  double launches_s = 0;  ///< of its time, in which the GPU waits for the thread that launches
  CollectiveRound* round = nullptr;

  Timing timing;
  double asked_s = 0;       ///< when it was issued
  std::uint64_t cause = 0;  ///< number of the operation whose end led to its issue; 0: none
  std::exception_ptr error;
  std::uint32_t unfinished_dependencies = 0;
  std::vector<Operation*>
      dependencies;  ///< not yet done when this one was issued; counted references
  std::vector<Operation*> dependents;
  std::vector<BoundOperand> operands;  ///< keeps the memory alive; bytes in flight
  WaitList waiters;
  std::uint64_t stream = 0;  ///< 0: none, else id of the in-order stream
  std::uint64_t stream_position = 0;
  std::uint64_t visited = 0;     ///< mark of the last ordering search
  std::uint64_t awaited_by = 0;  ///< number of the last operation that was made to depend on it
};

void retain(Operation& operation);
void release(Operation& operation);

/// Handle of an operation that was started (or waits for its `After`). Copies refer to the same
/// operation.
///   co_await   waits until it is done, of an empty one not at all; rethrows its error
///   Dropping   does not cancel; an error that nobody awaits fails the run
class [[nodiscard]] Op {
 public:
  Op() = default;
  explicit Op(Operation* operation) : operation_(operation) { retain(*operation_); }
  Op(const Op& other) : operation_(other.operation_) {
    if (operation_) retain(*operation_);
  }
  Op(Op&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
  Op& operator=(Op other) noexcept {
    std::swap(operation_, other.operation_);
    return *this;
  }
  ~Op() {
    if (operation_) release(*operation_);
  }

  explicit operator bool() const { return operation_ != nullptr; }
  /// An empty Op is done, as in an After.
  bool done() const { return !operation_ || operation_->state == Operation::State::done; }
  const Timing& timing() const { return operation_->timing; }
  /// Of an overflow check that is done: it found one. Machines that compute nothing never do.
  bool found() const { return operation_->found; }
  Operation* get() const { return operation_; }

  struct Awaiter {
    Operation* operation;
    Waiter waiter;
    explicit Awaiter(Operation* awaited) : operation(awaited) {
      if (operation) retain(*operation);
    }
    Awaiter(const Awaiter&) = delete;
    ~Awaiter() {
      waiter.unlink();
      if (operation) release(*operation);
    }
    bool await_ready() { return !operation || operation->state == Operation::State::done; }
    void await_suspend(std::coroutine_handle<> parent) {
      waiter.frame = parent;
      operation->waiters.push_back(waiter);
    }
    void await_resume() {
      if (operation && operation->error) std::rethrow_exception(operation->error);
    }
  };
  Awaiter operator co_await() const { return Awaiter(operation_); }

 private:
  Operation* operation_ = nullptr;
};

/// What an operation waits for before it starts; empty Ops count as done.
class After {
 public:
  After() = default;
  After(const Op& one) : inline_{one.get()}, count_(1) {}
  /// Up to 6. No initializer_list: g++ 12 refuses one inside a co_await.
  template <class... More>
  requires(sizeof...(More) <= 4 && (std::same_as<More, Op> && ...))
      After(const Op& first, const Op& second, const More&... more)
      : inline_{first.get(), second.get(), more.get()...}, count_(2 + sizeof...(More)) {}
  After(const std::vector<Op>& many) : many_(many.data()), many_count_(many.size()) {}

  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (inline_[i]) visit(*inline_[i]);
    for (std::size_t i = 0; i < many_count_; ++i)
      if (many_[i]) visit(*many_[i].get());
  }

 private:
  std::array<Operation*, 6> inline_{};
  std::size_t count_ = 0;
  const Op* many_ = nullptr;  ///< the caller's vector, read before the verb returns
  std::size_t many_count_ = 0;
};

}  // namespace spillway::strategies
