#include "strategies/parts/update/joint_updater.hpp"

namespace spillway::strategies {

Task<> JointUpdater::init() {
  for (const auto& member : members_) co_await member->init();
}

void JointUpdater::before_backward(const StepNumbers& numbers, bool completes) {
  for (const auto& member : members_) member->before_backward(numbers, completes);
}

void JointUpdater::after_backward(const StepNumbers& numbers) {
  for (const auto& member : members_) member->after_backward(numbers);
}

Task<> JointUpdater::update(const StepNumbers& numbers) {
  std::vector<Task<>> all;
  for (const auto& member : members_) all.push_back(member->update(numbers));
  co_await when_all(machine_.scheduler(), std::move(all));
}

Task<> JointUpdater::take_back() {
  for (const auto& member : members_) co_await member->take_back();
}

Task<> JointUpdater::publish() {
  for (const auto& member : members_) co_await member->publish();
}

Task<> JointUpdater::stop() {
  for (const auto& member : members_) co_await member->stop();
}

Task<> JointUpdater::checkpoint() {
  for (const auto& member : members_) co_await member->checkpoint();
}

}  // namespace spillway::strategies
