#pragma once

#include "strategies/parts/update/gradient_sink.hpp"
#include "strategies/parts/update/updater.hpp"
#include "strategies/parts/weights/weights.hpp"

namespace spillway::strategies {

/// Columns of weights that a rank's GPU updates after each micro-batch (optimizer.selected_share):
/// of a matrix those whose gradients were largest in the first micro-batch of the run, by their
/// magnitudes' sum, each last dimension a column; of a vector all.
///   States   as wide as the weights, whole on each rank, or, where weights are spread over ranks
///            (ZeRO-3), of its share alone; in host memory (selected_states host)
///            they come to the GPU for each update and go back, one weight while the next comes.
///            Whoever updates all weights goes on to update these as well, in masters of its own:
///            what it makes of them never reaches the GPU
///   Micro-batches  each but the last updates at once; the last one's gradients wait until the
///            step's update has brought its weights, so that it does not overwrite the columns
///   Ranks    each adds up the columns of its share of a gradient; by the sums of all ranks' sums
///            all select the same columns, and each gets the gradients of these from all
///   Source   ZenFlow (arXiv 2505.12242); DeepSpeed zenflow_stage_1_and_2.py,
///            update_selected_channels, _process_selected_fp32_groups_grad;
///            ops/adam/zenflow_torch_adam.py, group_step, temp_copy_param
class SelectedColumns {
 public:
  SelectedColumns(Machine& machine, Rank rank, const Job& job, Weights& weights);

  /// Throws  OutOfMemory
  Task<> init();
  /// A micro-batch whose gradients are about to come.
  void begin(const StepNumbers& numbers, bool completes);
  /// This rank's share of a gradient, reduced. In the order of the layers, which all ranks have
  /// alike.
  ///   Result  done when nothing of it is read any more, and the weight may be used
  Op take(const GradientShare& share);
  /// Before others write all weights: the columns are kept aside.
  Task<> save();
  /// Behind that: they are what they were, and updated where a step's last gradients wait.
  Task<> restore();

 private:
  struct Matrix {
    const models::Operator* update = nullptr;  ///< null: it is not trained
    std::uint64_t columns = 0, rows = 0;       ///< of the whole weight
    std::uint64_t chosen = 0;                  ///< columns
    std::uint64_t bytes = 0;                   ///< of the chosen, with what pads the ranks' shares
    std::uint64_t offset = 0;                  ///< of them, in the buffers of all weights
    std::uint64_t first_index = 0;             ///< byte where their indices begin
    bool ready = false;                        ///< they have been chosen
  };

  /// Room on the GPU for one weight's columns and states, where these live in host memory.
  struct Slot {
    Buffer buffer;
    Op left;  ///< what was in it before has gone
  };
  /// Where the GPU works on a weight's columns, and their states.
  struct Place {
    View columns, states;
  };

  View selected(const Buffer& buffer, const Matrix& matrix) const;
  View states_of(const Matrix& matrix) const;
  Place place(std::uint32_t weight, const Slot* slot) const;
  Slot& next_slot();
  Op update_from_host(std::uint32_t weight, const Op& gradients);
  Op save_to_host(std::uint32_t weight);
  Op restore_from_host(std::uint32_t weight);
  GpuKernel of_matrix(const char* name, GpuWork work, std::uint32_t weight) const;
  void bind_indices(GpuKernel& kernel, std::uint32_t weight, models::Access access) const;
  GpuKernel between(const char* name, GpuWork work, std::uint32_t weight, BoundOperand whole,
                    BoundOperand packed, std::uint64_t shares) const;
  GpuKernel add_up(const GradientShare& share) const;
  GpuKernel choose(std::uint32_t weight) const;
  Op choose_together(const GradientShare& share) const;
  View sums(std::uint32_t weight) const;
  std::uint64_t first_element(std::uint32_t weight) const;
  std::uint64_t shares_here(std::uint32_t weight) const;
  BoundOperand whole(std::uint32_t weight, models::Access access, Role role) const;
  GpuKernel out_of_weight(std::uint32_t weight, const Place& place) const;
  GpuKernel into_weight(std::uint32_t weight, const Place& place) const;
  GpuKernel adam(std::uint32_t weight, const Place& place) const;

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  Weights& weights_;
  GpuStream stream_;
  std::vector<Matrix> matrices_;
  Buffer states_, gradients_, indices_, sums_;
  Buffer saved_;  ///< columns of the weights, while they are updated or others write all weights
  bool in_host_;  ///< states, and what is saved, live there
  std::vector<Slot> slots_;
  std::size_t turn_ = 0;  ///< slots taken
  StepNumbers numbers_;
  bool completes_ = false;  ///< a step's last gradients come, or wait for `restore`
};

/// Where gradients go otherwise; on their way the columns are taken out of them.
class GradientsBesideSelected final : public GradientSink {
 public:
  GradientsBesideSelected(SelectedColumns& columns, std::unique_ptr<GradientSink> sink)
      : columns_(columns), sink_(std::move(sink)) {}

  Task<> init() override { return sink_->init(); }
  std::uint64_t ways(std::uint32_t weight) const override { return sink_->ways(weight); }
  std::uint64_t bytes_to_begin(std::uint32_t weight) const override {
    return sink_->bytes_to_begin(weight);
  }
  void begin(std::uint32_t weight) override { sink_->begin(weight); }
  bool in_place(std::uint32_t weight) const override { return sink_->in_place(weight); }
  View own(std::uint32_t weight) const override { return sink_->own(weight); }
  bool reduces(std::uint32_t weight, bool last_micro) const override {
    return sink_->reduces(weight, last_micro);
  }
  void issue(GradientShare& share, MicroBatch micro) override;
  Task<> take(std::vector<GradientShare> shares, LayerGradients layer, MicroBatch micro) override;
  bool ends_with_backward() const override { return sink_->ends_with_backward(); }
  Task<> sum_at_end() override { return sink_->sum_at_end(); }
  Task<> settle(std::uint64_t bytes) override { return sink_->settle(bytes); }

 private:
  SelectedColumns& columns_;
  std::unique_ptr<GradientSink> sink_;
  std::vector<Op> updated_;
};

/// Who updates all weights, at the end of a step or beside the next one, and leaves the columns
/// alone.
class UpdaterBesideSelected final : public Updater {
 public:
  /// `late`: what it makes comes with `publish`, else with `update`.
  UpdaterBesideSelected(SelectedColumns& columns, std::unique_ptr<Updater> others, bool late)
      : columns_(columns), others_(std::move(others)), late_(late) {}

  Task<> init() override;
  void before_backward(const StepNumbers& numbers, bool completes) override;
  void after_backward(const StepNumbers& numbers) override { others_->after_backward(numbers); }
  Task<> update(const StepNumbers& numbers) override;
  Task<> publish() override;
  Task<> stop() override { return others_->stop(); }
  Task<> checkpoint() override { return others_->checkpoint(); }

 private:
  SelectedColumns& columns_;
  std::unique_ptr<Updater> others_;
  bool late_;
};

}  // namespace spillway::strategies
