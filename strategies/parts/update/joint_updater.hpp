#pragma once

#include "strategies/parts/update/updater.hpp"

#include <memory>

namespace spillway::strategies {

/// Several updaters, each of rows of its own, at once: a step's update ends with the last of them.
class JointUpdater final : public Updater {
 public:
  /// What they do together with other ranks they begin in their order, which all ranks have alike.
  JointUpdater(Machine& machine, std::vector<std::unique_ptr<Updater>> members)
      : machine_(machine), members_(std::move(members)) {}

  Task<> init() override;
  void before_backward(const StepNumbers& numbers, bool completes) override;
  void after_backward(const StepNumbers& numbers) override;
  Task<> update(const StepNumbers& numbers) override;
  Task<> take_back() override;
  Task<> publish() override;
  Task<> stop() override;
  Task<> checkpoint() override;

 private:
  Machine& machine_;
  std::vector<std::unique_ptr<Updater>> members_;
};

}  // namespace spillway::strategies
