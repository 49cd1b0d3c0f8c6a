#include "explore/outcome/lower_plans.hpp"

#include <cmath>
#include <set>
#include <string>

namespace spillway::explore {

using description::ActivationPolicy;
using description::Bytes;
using description::Scenario;

namespace {

constexpr double gib = 1ull << 30;

/// What the next smaller host leaves, with a power of 2 of memory and the usual reserve, lower by
/// more than a thirtieth: hosts are sold so, and what one of them plans a larger one plans too.
Bytes next_smaller_host(Bytes usable) {
  const double most = 0.97 * static_cast<double>(usable.value());
  double memory = gib * std::exp2(std::ceil(std::log2(most / gib)) + 1);
  const auto left = [&] {
    const Bytes all(static_cast<std::uint64_t>(memory));
    return Bytes(all.value() - std::min(all, description::default_host_reserve(all)).value());
  };
  while (static_cast<double>(left().value()) > most) memory /= 2;
  return left();
}

/// The scenario with one number of its machine changed.
template <class Change>
void add(const Scenario& scenario, const text::Text& words, Change change,
         std::vector<LowerPlan>& plans) {
  LowerPlan& plan = plans.emplace_back(LowerPlan{words, scenario});
  change(plan.scenario.machine);
}

/// The next smaller size of a card: 16, 20, 24, 28, 32, 40 GiB and so on, a quarter of a power of 2
/// apart.
Bytes next_smaller_card(Bytes memory) {
  const double own = 0.97 * static_cast<double>(memory.value()) / gib;
  const double quarter = std::exp2(std::floor(std::log2(own))) / 4;
  return Bytes(static_cast<std::uint64_t>(gib * quarter * std::floor(own / quarter)));
}

void add_gpu_memory(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  const Bytes memory = scenario.machine.gpu.memory;
  if (memory.value() == 0 || scenario.strategy.unlimited_gpu()) return;
  const Bytes lower = next_smaller_card(memory);
  add(
      scenario, text::filled("planned for {} of GPU memory", {text::memory(lower.value())}),
      [&](auto& machine) { machine.gpu.memory = lower; }, plans);
}

/// The next step below what is used, or usable where that was too little, and one more to pass over
/// a size at which nothing changes.
void add_host_memory(const Scenario& scenario, const result::Result& best,
                     std::vector<LowerPlan>& plans) {
  const description::HostSpec& host = scenario.machine.host;
  if (host.memory.value() == 0) return;
  const std::uint64_t usable = host.usable().value();
  const std::uint64_t reserve = host.memory.value() - usable;
  const std::uint64_t used = best.feasible() ? std::min(best.host.total, usable) : usable;
  if (used < std::uint64_t{1} << 20) return;
  const Bytes next = next_smaller_host(Bytes(used));
  for (const Bytes lower : {next, next_smaller_host(next)})
    add(
        scenario, text::filled("planned for {} of host memory", {text::memory(lower.value())}),
        [&](auto& machine) { machine.host.memory = Bytes(lower.value() + reserve); }, plans);
}

void slow_gpu(description::MachineFile& machine, double share) {
  for (auto* rates : {&machine.gpu.compute, &machine.gpu.attention})
    for (auto& [type, rate] : *rates) rate = rate * share;
  machine.gpu.memory_rate = machine.gpu.memory_rate * share;
  for (auto* rate : {&machine.gpu.reduction, &machine.gpu.permute})
    if (*rate) *rate = **rate * share;
}

/// What is fast can wait: the plan for slower kernels, at their pace. What planners foresee jumps
/// from size to size, and a larger card has the plans of smaller ones too: two of them.
void add_slower_gpu(const Scenario& scenario, std::vector<LowerPlan>& plans) {
  for (const int part : {2, 4})
    add(
        scenario, text::filled("planned for 1/{} of the rate of the GPU", {text::plain(part)}),
        [part](auto& machine) { slow_gpu(machine, 1.0 / part); }, plans);
  Bytes memory = scenario.machine.gpu.memory;
  if (memory.value() == 0 || scenario.strategy.unlimited_gpu()) return;
  for (int smaller = 0; smaller < 2; ++smaller) {
    memory = next_smaller_card(memory);
    add(
        scenario,
        text::filled("planned for 1/4 of the rate of the GPU and {} of its memory",
                     {text::memory(memory.value())}),
        [memory](auto& machine) {
          slow_gpu(machine, 1.0 / 4);
          machine.gpu.memory = memory;
        },
        plans);
  }
}

/// The highest power of 2 to the power of 1 / steps that is not above `rate`: the same scale for
/// each machine.
double grid_below(double rate, double steps) {
  return std::exp2(std::floor(steps * std::log2(rate)) / steps);
}

/// Updates beside backward read and write states at once, which a drive does slower than one after
/// the other: a processor that waits between them can make the step shorter. Rates at which updates
/// take from a third of the step to two thirds of it, a quarter of a power of 2 apart, since steps
/// of some per cent less lie between those that are twice as far from each other; around one that
/// was better, those beside it.
void add_slower_updates(const LowerPlan& of, const result::Result& best,
                        std::vector<LowerPlan>& plans) {
  const double rate = of.scenario.machine.host.adam.value(), busy = best.utilization.cpu;
  if (rate <= 0 || busy <= 0) return;
  const bool holds = of.updates_per_s > 0;
  const double most = holds ? of.updates_per_s : rate;
  const double beside = std::exp2(0.125), quarter = std::exp2(0.25);
  std::vector<double> rates;
  if (holds)
    rates = {rate * beside, rate / beside};
  else
    for (double held = 3 * grid_below(rate * busy, 4); held > 1.4 * rate * busy; held /= quarter)
      rates.push_back(held);
  for (const double held : rates) {
    if (held >= most) continue;
    LowerPlan& plan = plans.emplace_back(
        LowerPlan{text::filled("updates held to {}",
                               {text::number(held, text::Quantity::billions, "param/s")}),
                  of.scenario});
    plan.bytes_words = of.bytes_words;
    plan.updates_words = plan.words;
    plan.updates_per_s = most;
    description::HostSpec& host = plan.scenario.machine.host;
    host.adam = host.adam * (held / rate);
    host.convert = host.convert * (held / rate);
  }
}

/// The drives of a storage at those shares of their rates.
void slow_down(description::StorageSpec& storage, double read, double write) {
  storage.read = storage.read * read;
  storage.write = storage.write * write;
  if (storage.array_read) storage.array_read = *storage.array_read * read;
  if (storage.array_write) storage.array_write = *storage.array_write * write;
  if (storage.slc_cache) storage.slc_cache->folded_write = storage.slc_cache->folded_write * write;
}

/// All drives at that share of their rates.
void slow_down(description::MachineFile& machine, double share) {
  for (description::StorageSpec& storage : machine.storage)
    if (storage.kind == description::StorageKind::ssd) slow_down(storage, share, share);
}

/// All drives as fast together as so many of them are: that is more than their share of the rate
/// where they share an array that lets no more through. Each is as fast as its part of that, so
/// that half of them is half the rate.
void slow_down_to(std::uint64_t drives, description::StorageSpec& storage) {
  description::StorageSpec fewer = storage;
  fewer.count = drives;
  const double read = fewer.total_read() / storage.total_read(),
               write = fewer.total_write() / storage.total_write();
  const auto count = static_cast<double>(storage.count);
  storage.read = storage.total_read() * (1 / count);
  storage.write = storage.total_write() * (1 / count);
  slow_down(storage, read, write);
}

/// All drives as fast together as one in `part` of them is.
void slow_down_to_one_in(std::uint64_t part, description::MachineFile& machine) {
  for (description::StorageSpec& storage : machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    if (storage.count < part)
      slow_down(storage, 1.0 / static_cast<double>(part), 1.0 / static_cast<double>(part));
    else
      slow_down_to(storage.count / part, storage);
  }
}

/// One in two drives, and on through the powers of 2 as long as an array holds back those that are
/// left: with twice the drives it lets the same through, and what is foreseen for half of these is
/// foreseen for a quarter of those.
std::vector<std::uint64_t> parts_of_drives(const description::MachineFile& machine) {
  std::vector<std::uint64_t> parts{2};
  const auto held_back = [&](std::uint64_t part) {
    return std::ranges::any_of(machine.storage, [&](const description::StorageSpec& storage) {
      if (storage.kind != description::StorageKind::ssd || storage.count / part < 2) return false;
      const auto left = static_cast<double>(storage.count / part);
      return left * storage.read.value() > 1.001 * storage.total_read().value() ||
             left * storage.write.value() > 1.001 * storage.total_write().value();
    });
  };
  while (held_back(parts.back())) parts.push_back(2 * parts.back());
  return parts;
}

/// What drives do, as if no request had a latency.
struct DriveRates {
  double read = 0, write = 0;  ///< of all, bytes/s
  double busy = 0;             ///< of a step, the busiest storage
};

DriveRates rates_of_drives(const Scenario& scenario, const result::Result& best) {
  DriveRates rates;
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    const auto moved = best.io.by_storage.find(storage.name);
    if (storage.kind != description::StorageKind::ssd) continue;
    rates.read += storage.total_read().value();
    rates.write += storage.total_write().value();
    if (moved == best.io.by_storage.end()) continue;
    const auto took = [](std::uint64_t bytes, auto total) {
      return static_cast<double>(bytes) / total.value();
    };
    rates.busy = std::max(rates.busy, (took(moved->second.read, storage.total_read()) +
                                       took(moved->second.write, storage.total_write())) /
                                          best.step_time_s);
  }
  return rates;
}

/// Who foresees what drives can take in time stores more on faster ones, and what it stores comes
/// back late where reads and writes meet: what half of the drives would do, and reads and writes
/// held to powers of 2, the same for each machine, down to the one below what drives really did.
void add_slower_drives(const Scenario& scenario, const result::Result& best,
                       std::vector<LowerPlan>& plans) {
  const DriveRates rates = rates_of_drives(scenario, best);
  if (rates.read <= 0 || rates.busy <= 0) return;
  for (const std::uint64_t part : parts_of_drives(scenario.machine))
    add(
        scenario,
        part == 2 ? text::Text("planned for half the drives")
                  : text::filled("planned for 1/{} of the drives", {text::plain(part)}),
        [part](auto& machine) { slow_down_to_one_in(part, machine); }, plans);
  const double least = std::min(rates.read / 2, grid_below(rates.read * rates.busy, 1));
  for (double held = grid_below(rates.read, 1); held >= least; held /= 2)
    if (held < 0.99 * std::max(rates.read, rates.write))
      add(
          scenario, text::filled("planned for {} of the drives", {text::rate(held)}),
          [&](auto& machine) {
            for (description::StorageSpec& storage : machine.storage)
              if (storage.kind == description::StorageKind::ssd)
                slow_down(storage, std::min(1.0, held / rates.read),
                          std::min(1.0, held / rates.write));
          },
          plans);
}

/// Who lets drives take what they can in time moves more than has to move, and where drives and
/// host share a link their bytes wait for each other: all of it to host memory.
void add_host_alone(const Scenario& scenario, const result::Result& best,
                    std::vector<LowerPlan>& plans) {
  const auto& io = best.io;
  if (io.ssd_read + io.ssd_write + io.gpu_direct == 0) return;
  LowerPlan plan{"planned for host memory without drives", scenario};
  auto& homes = plan.scenario.strategy.activations.homes;
  auto& destinations = plan.scenario.strategy.plan.destinations;
  using description::PlanDestination;
  if (destinations == std::vector{PlanDestination::ssd, PlanDestination::host})
    destinations = {PlanDestination::host};
  else if (std::set<std::string>(homes.begin(), homes.end()) ==
           std::set<std::string>{"host", "ssd"})
    homes = {"host"};
  else
    return;
  plans.push_back(std::move(plan));
}

/// The scenario with so many bytes of a micro-batch that leave the GPU.
LowerPlan of_bytes(const LowerPlan& of, text::Text words, Bytes bytes) {
  LowerPlan plan{std::move(words), of.scenario};
  plan.updates_words = of.updates_words;
  plan.updates_per_s = of.updates_per_s;
  plan.scenario.strategy.activations.swap_bytes = bytes;
  plan.bytes_words = plan.words;
  return plan;
}

/// "swaps 12.4 GB".
text::Text moves(const char* how, std::uint64_t bytes) {
  return text::filled("{} {}", {how, text::bytes(static_cast<double>(bytes))});
}

/// Equations have one best amount, and the step as it runs has one near it: less than that, or
/// what host memory alone takes, or more.
void add_other_swaps(const LowerPlan& of, const result::Result& best,
                     std::vector<LowerPlan>& plans) {
  const auto said = [&](const char* name) { return best.plan.at(name).get<std::uint64_t>(); };
  const std::uint64_t bytes = said("swap_bytes"), least = said("least_bytes"),
                      most = said("most_bytes"), in_host = said("bytes_to_host");
  const std::uint64_t eighth = (bytes > least ? bytes - least : most - least) / 8;
  std::set<std::uint64_t> amounts;
  if (!of.bytes_words.empty())
    amounts = {bytes - std::min(bytes - least, eighth), bytes + eighth};
  else if (bytes > least)
    amounts = {least + 4 * eighth, least + 6 * eighth, bytes + 2 * eighth,
               std::max(least, in_host)};
  else
    amounts = {bytes + eighth};
  for (const std::uint64_t amount : amounts)
    if (amount != bytes && amount <= most)
      plans.push_back(of_bytes(of, moves("swaps", amount), Bytes(amount)));
}

/// A swap that the whole machine has time for, and no room: what drives of half the rate have time
/// for, and a quarter and a 16th of what can leave.
void add_swaps_with_more_room(const LowerPlan& of, const result::Result& best,
                              std::vector<LowerPlan>& plans) {
  add(
      of.scenario, "planned for half the rate of the drives",
      [](auto& machine) { slow_down(machine, 1.0 / 2); }, plans);
  if (!best.plan.contains("least_bytes")) return;  // it ended before its plan was made
  const auto least = best.plan.at("least_bytes").get<std::uint64_t>();
  const auto most = best.plan.at("most_bytes").get<std::uint64_t>();
  for (const std::uint64_t part : {4, 16})
    if (const std::uint64_t more = (most - least) / part; more > 0)
      plans.push_back(of_bytes(of, moves("swaps", least + more), Bytes(least + more)));
}

/// A GPU that stores do not keep up with, held to half its rate, and on down to where everything
/// that can leave has left in time: with the budget of its own that it has there, and with
/// everything stored. Where that is too little at the lowest rate, nothing fits.
void add_held_gpus(const LowerPlan& of, std::vector<LowerPlan>& plans) {
  constexpr int lowest = 1024;
  const auto add_held = [&](int part, bool all) {
    const text::Text words = text::filled("its GPU held to 1/{} of its rate", {text::plain(part)});
    LowerPlan held{words, of.scenario};
    slow_gpu(held.scenario.machine, 1.0 / part);
    if (all) held = of_bytes(held, "stores all that can leave, " + words, description::all_bytes);
    plans.push_back(std::move(held));
  };
  add_held(lowest, true);
  plans.back().opens_list = true;
  for (int part = 2; part < lowest; part *= 2)
    for (const bool all : {false, true}) add_held(part, all);
}

/// What stays takes neither drives nor links: as little as fits makes the shortest step.
void add_other_budgets(const LowerPlan& of, const result::Result& best,
                       std::vector<LowerPlan>& plans) {
  if (!best.feasible()) {
    plans.push_back(of_bytes(of, "stores all that can leave", description::all_bytes));
    if (of.bytes_words.empty()) add_held_gpus(of, plans);
    for (LowerPlan& plan : plans) plan.ends_list = !plan.opens_list;
    return;
  }
  const std::uint64_t bytes =
      best.plan.at("swap_bytes").get<std::uint64_t>() / of.scenario.training.gradient_accumulation;
  if (bytes == 0) return;
  plans.push_back(of_bytes(of, "stores nothing", Bytes(0)));
  plans.back().ends_list = true;
  for (const std::uint64_t quarters : {1, 2, 3}) {
    const std::uint64_t amount = bytes / 4 * quarters;
    plans.push_back(of_bytes(of, moves("stores", amount) + " of a micro-batch", Bytes(amount)));
  }
}

bool asks_for_none(const Scenario& scenario) {
  const description::Strategy& strategy = scenario.strategy;
  return scenario.run.io_bench || strategy.plan.lower_limits == 0 ||
         strategy.activations.planner ==
             description::ActivationPlanner::checkmate;  // exact, and takes long
}

}  // namespace

bool plans_ahead(const Scenario& scenario) {
  return moves_by_plan(scenario.strategy.activations.policy);
}

std::vector<LowerPlan> lower_plans(const Scenario& scenario, const result::Result& own) {
  return lower_plans(LowerPlan{"", scenario}, own);
}

std::vector<LowerPlan> lower_plans(const LowerPlan& plan, const result::Result& best) {
  const Scenario& scenario = plan.scenario;
  std::vector<LowerPlan> plans;
  if (asks_for_none(scenario)) return plans;
  const description::ActivationsPart& part = scenario.strategy.activations;
  const bool chooses_bytes = !plan.bytes_words.empty() || !part.swap_bytes;
  const auto& io = best.io;
  if (best.feasible() && io.h2d + io.d2h + io.ssd_read + io.ssd_write + io.gpu_direct == 0)
    return plans;
  const bool planned = part.policy == ActivationPolicy::plan;
  if (planned || (part.policy == ActivationPolicy::swap && !best.feasible())) {
    add_gpu_memory(scenario, plans);
    add_host_memory(scenario, best, plans);
  }
  if (best.feasible() && description::updates_in_backward(scenario.strategy.gradients.policy))
    add_slower_updates(plan, best, plans);  // what waits takes no less room
  if (best.feasible() && planned) {
    add_slower_gpu(scenario, plans);
    add_slower_drives(scenario, best, plans);
    add_host_alone(scenario, best, plans);
  }
  if (best.feasible() && part.policy == ActivationPolicy::swap && chooses_bytes)
    add_other_swaps(plan, best, plans);
  if (!best.feasible() && part.policy == ActivationPolicy::swap && chooses_bytes)
    add_swaps_with_more_room(plan, best, plans);
  if (part.policy == ActivationPolicy::tensor_cache && chooses_bytes)
    add_other_budgets(plan, best, plans);
  return plans;
}

bool is_better(const result::Result& lower, const result::Result& own, double factor) {
  if (!lower.feasible()) return false;
  return !own.feasible() || own.step_time_s > factor * lower.step_time_s;
}

}  // namespace spillway::explore
