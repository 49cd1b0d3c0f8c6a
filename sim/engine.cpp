#include "sim/engine.hpp"

#include "scenarios/description/errors.hpp"

#include <xbt/log.h>
#include <array>
#include <csignal>
#include <memory>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>

/// SimGrid 3.32's clock. It outlives the engine, and a run that starts later gives other last
/// digits.
extern double simgrid_clock __asm__("_ZN7simgrid6kernel10EngineImpl4now_E");
/// Whom SimGrid 3.32 calls at each activity's end. They outlive the engine, and each engine adds
/// one that looks for the executions of virtual machines: the hundredth simulation of a process
/// would call a hundred.
extern simgrid::xbt::signal<void(simgrid::s4u::Activity const&)> simgrid_completions __asm__(
    "_ZN7simgrid3s4u8Activity13on_completionE");

namespace spillway::sim {

namespace {

namespace s4u = simgrid::s4u;

Listener* listener_now = nullptr;

/// Added before every other model, so it is the first to be asked in each round: whatever the
/// listener starts is seen by the other models in the same round.
class FirstAsked : public simgrid::kernel::resource::Model {
 public:
  using Model::Model;
  double next_occurring_event(double now) override {
    // run() keeps the set that it found and ends once something is in it. SimGrid itself must not
    // find it: it puts what it starts there.
    s4u::Activity::set_vetoed_activities(nullptr);
    return listener_now ? listener_now->before_jump(now) : -1.0;
  }
  void update_actions_state(double, double) override {}
};

struct Current {
  s4u::Engine* engine = nullptr;
  std::shared_ptr<FirstAsked> first;
  bool used = false;
};
Current current;

/// Puts back, when it dies, what SimGrid takes for itself at start.
class HandlerGuard {
 public:
  HandlerGuard() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], nullptr, &saved_[i]);
    sigaltstack(nullptr, &stack_);
  }
  HandlerGuard(const HandlerGuard&) = delete;
  ~HandlerGuard() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &saved_[i], nullptr);
    sigaltstack(&stack_, nullptr);
    std::set_terminate(terminate_);
  }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGPIPE};
  std::array<struct sigaction, signals.size()> saved_{};
  stack_t stack_{};
  std::terminate_handler terminate_ = std::get_terminate();
};

void configure_once() {
  static bool done = false;
  if (done) return;
  done = true;
  // A latency on a link would make CM02 share by its inverse, and the default precisions end flows
  // too early.
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e300",
        "maxmin/precision:1e-10", "surf/precision:1e-12"})
    s4u::Engine::set_config(setting);
}

/// There are no virtual machines here: nobody but the listener is to hear of completions.
void hear_of_completions_alone() {
  simgrid_completions.disconnect_slots();
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    void* tag = activity.get_data<void>();
    if (tag && listener_now) listener_now->completed(tag);
  });
}

void destroy_engine() {
  delete current.engine;
  current = Current{};
  simgrid_clock = 0;
}

}  // namespace

void prepare_engine() {
  if (current.engine && !current.used) return;
  if (current.engine) destroy_engine();
  const HandlerGuard guard;
  xbt_log_control_set("root.thres:critical");
  current.engine = new s4u::Engine(std::string("spillway"));
  configure_once();
  current.first = std::make_shared<FirstAsked>("listener");
  current.engine->add_model(current.first);
}

EngineLease::EngineLease(Listener& listener) {
  ENSURE(listener_now == nullptr, "one simulated machine at a time in a process");
  prepare_engine();
  current.used = true;
  listener_now = &listener;
}

EngineLease::~EngineLease() {
  s4u::Activity::set_vetoed_activities(nullptr);
  listener_now = nullptr;
}

void EngineLease::run() {
  stopping_.clear();
  hear_of_completions_alone();
  s4u::Activity::set_vetoed_activities(&stopping_);
  current.engine->run();
  s4u::Activity::set_vetoed_activities(nullptr);
}

void EngineLease::stop() { stopping_.insert(nullptr); }

s4u::ActivityPtr EngineLease::transfer(s4u::Host* from, s4u::Host* to, double bytes,
                                       double bound_bytes_per_s, double weight, void* tag) {
  if (!network_)
    for (auto* model : current.engine->get_all_models())
      if (model->get_name().rfind("Network", 0) == 0) network_ = model;
  const s4u::CommPtr comm = s4u::Comm::sendto_init(from, to);
  comm->set_payload_size(1);
  comm->set_data(tag);
  comm->vetoable_start();
  auto& action = network_->get_started_action_set()->back();
  action.set_remains(bytes / unit_bytes);  // payloads are whole numbers, this is not
  if (bound_bytes_per_s > 0) action.set_bound(bound_bytes_per_s / unit_bytes);
  if (weight > 0) action.set_sharing_penalty(1 / weight);
  return comm;
}

}  // namespace spillway::sim
