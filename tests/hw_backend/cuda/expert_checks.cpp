#include "tests/hw_backend/cuda/session.hpp"

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t hidden_sizes[] = {24, 37, 2100};

/// An uneven load, with an expert that nobody chooses.
Routing routing_for(models::RouterRule rule) {
  models::Architecture a;
  a.experts = 6;
  a.experts_per_token = 3;
  a.router_rule = rule;
  models::Workload workload;
  workload.micro_batch = 1;
  workload.sequence = 70;
  workload.expert_load.counts = {5, 0, 2, 1, 9, 2};
  return routing_of(a, workload, {3, 1, 4});
}

void routers(Device& device, Report& report) {
  using models::RouterRule;
  for (const RouterRule rule :
       {RouterRule::softmax_of_chosen, RouterRule::softmax_of_all, RouterRule::sigmoid_of_chosen})
    for (const Element type : all_types) {
      Session session(device, report);
      const Routing r = routing_for(rule);
      Operand logits(device, r.tokens * r.experts, type, 1, 3);
      Operand shares(device, r.copies(), Element::fp32, 2);
      Operand gradient(device, r.copies(), Element::fp32, 3);
      Operand to_logits(device, r.tokens * r.experts, type, 4);
      const auto back = [&](Primitives& p, Side side) {
        p.route_backward(r, logits.in(side), shares.as<float>(side), gradient.as<float>(side),
                         to_logits.out(side));
      };
      session.both([&](Primitives& p, Side side) {
        p.route(r, logits.in(side), shares.as<float>(side));
        back(p, side);
      });
      session.near("shares", shares, 1e-5);
      session.near("gradient of logits", to_logits, precision_of(type));
      session.repeats("gradient of logits", {&logits, &shares, &gradient, &to_logits}, back);
    }
}

void token_copies(Device& device, Report& report) {
  for (const Element type : all_types)
    for (const std::uint64_t width : hidden_sizes) {
      Session session(device, report);
      const Routing r = routing_for(models::RouterRule::softmax_of_chosen);
      Operand x(device, r.tokens * width, type, 1), shares(device, r.copies(), Element::fp32, 2);
      Operand whole(device, r.copies() * width, type, 3), part(device, r.copies() * width, type, 4);
      Operand sum(device, r.tokens * width, type, 5), weighed(device, r.tokens * width, type, 6);
      Operand to_shares(device, r.copies(), Element::fp32, 7);
      session.both([&](Primitives& p, Side side) {
        const float* const count = shares.as<float>(side);
        p.scatter_rows(r, width, nullptr, x.in(side), whole.out(side));
        p.scatter_rows(r, width, count, x.in(side), part.out(side));
        p.gather_rows(r, width, nullptr, part.in(side), sum.out(side, true));
        p.gather_rows(r, width, count, whole.in(side), weighed.out(side));
        p.gather_backward(r, width, x.in(side), part.in(side), to_shares.as<float>(side));
      });
      session.equal("copies", whole);
      session.near("weighed copies", part, precision_of(type));
      session.near("sums of copies", sum, precision_of(type));
      session.near("weighed sums", weighed, precision_of(type));
      session.near("gradient of shares", to_shares, 1e-4);
      session.repeats("gradient of shares", {&x, &part, &to_shares}, [&](Primitives& p, Side s) {
        p.gather_backward(r, width, x.in(s), part.in(s), to_shares.as<float>(s));
      });
    }
}

void weighed_rows(Device& device, Report& report) {
  constexpr std::uint64_t rows = 70;
  for (const Element type : all_types)
    for (const std::uint64_t width : hidden_sizes) {
      Session session(device, report);
      Operand x(device, rows * width, type, 1), weights(device, rows, type, 2, 2);
      Operand y(device, rows * width, type, 3), dy(device, rows * width, type, 4);
      Operand dx(device, rows * width, type, 5), dweights(device, rows, type, 6);
      session.both([&](Primitives& p, Side side) {
        p.weigh_rows(rows, width, x.in(side), weights.in(side), y.out(side));
        p.weigh_rows_backward(rows, width, dy.in(side), x.in(side), weights.in(side), dx.out(side),
                              dweights.out(side));
      });
      session.near("weighed rows", y, precision_of(type));
      session.near("their gradient", dx, precision_of(type));
      session.near("gradient of weights", dweights, precision_of(type));
    }
}

}  // namespace

std::span<const Check> expert_checks() {
  static constexpr Check checks[] = {
      {"RoutersShareOutAsTheProcessorsDo", routers},
      {"CopiesOfTokensGoAndComeAsTheProcessors", token_copies},
      {"RowsAreWeighedAsTheProcessors", weighed_rows},
  };
  return checks;
}

}  // namespace spillway::hw_backend
