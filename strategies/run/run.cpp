#include "strategies/run/run.hpp"

#include "strategies/decide/decide.hpp"
#include "strategies/decide/gpu_share.hpp"
#include "strategies/planner/saved/cache_budget.hpp"
#include "strategies/run/counting_probe.hpp"
#include "strategies/run/endurance.hpp"
#include "strategies/run/finished_run.hpp"
#include "strategies/run/io_bench.hpp"
#include "strategies/run/memory_summary.hpp"
#include "strategies/run/nodes.hpp"
#include "strategies/run/numerics.hpp"
#include "strategies/run/packed_base.hpp"
#include "strategies/schedules/stories.hpp"
#include "strategies/schedules/streaming.hpp"
#include "strategies/systems/catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace spillway::strategies {

namespace {

using result::Phase;

constexpr std::uint64_t result::PhaseBytes::*phase_bytes[] = {
    &result::PhaseBytes::ssd_read,
    &result::PhaseBytes::ssd_write,
    &result::PhaseBytes::h2d,
    &result::PhaseBytes::d2h,
    &result::PhaseBytes::gpu_direct_read,
    &result::PhaseBytes::gpu_direct_write};

/// Sums and means of the measured steps, and of the ledger.
class Summary {
 public:
  /// `prepared`: of the whole model, which the stages of a pipeline share.
  Summary(Machine& machine, const description::Scenario& scenario, const Job& job,
          const Prepared& prepared)
      : machine_(machine), scenario_(scenario), job_(job), prepared_(prepared) {}

  void add_steps(result::Result& result) {
    const auto& steps = machine_.recorder().steps();
    first_ = std::min(job_.steps->first_measured(), steps.size());
    count_ = static_cast<double>(steps.size() - first_);
    if (count_ == 0) return;
    result.steady = job_.steps->steady();
    double shortest = steps.back().seconds(), longest = shortest;
    for (std::size_t i = first_; i < steps.size(); ++i) {
      const StepRecord& step = steps[i];
      result.step_time_s += step.seconds() / count_;
      shortest = std::min(shortest, step.seconds());
      longest = std::max(longest, step.seconds());
      add_phases(result, step);
    }
    const StepRecord all = sum_of_steps();
    result.operations = each(all.operations);
    if (result.step_time_s > 0) result.step_spread = (longest - shortest) / result.step_time_s;
    add_bytes(result, all);
    add_rates(result);
    add_states(result);
    add_staleness(result);
    add_cache(result);
    const description::Training& training = scenario_.training;
    const std::uint64_t tokens = training.micro_batch * training.gradient_accumulation *
                                 training.sequence * scenario_.parallel.data;
    result.wear = wear_of(scenario_.machine, {with_logs(all.write_sizes), result.step_time_s,
                                              static_cast<double>(tokens),
                                              machine_.topology().nodes, count_, live_bytes()});
    note_caches(scenario_.machine, result);
    add_nodes(machine_, scenario_, all, count_, result);
  }

 private:
  /// Logs of a run are a write a step, of which each node has its part. With several storages they
  /// go to the one that wears less.
  std::vector<WriteSizes> with_logs(std::vector<WriteSizes> written) const {
    if (!scenario_.run.log_bytes || scenario_.machine.storage.size() != 1) return written;
    for (WriteSizes& of_node : written)
      of_node.add(
          description::divide_up(scenario_.run.log_bytes->value(), scenario_.nodes_in_use()),
          static_cast<std::uint64_t>(count_));
    return written;
  }

  /// What lies on each storage at most.
  std::vector<double> live_bytes() {
    std::vector<double> bytes;
    for (std::uint32_t i = 0; i < machine_.topology().storages.size(); ++i)
      bytes.push_back(
          static_cast<double>(machine_.peak_on_node(machine_.storage_tier(StorageId{i}))));
    return bytes;
  }

  void add_phases(result::Result& result, const StepRecord& step) {
    const auto phase = [&](Phase which) {
      return step.phase_s[static_cast<std::size_t>(which)] / count_;
    };
    result.forward_s += phase(Phase::forward);
    result.backward_s += phase(Phase::backward);
    result.overflow_check_s += phase(Phase::overflow_check);
    result.update_s += phase(Phase::update) + phase(Phase::overflow_check);
    result.stalls.gpu_waits_for_ssd += step.stalls.gpu_waits_for_ssd / count_;
    result.stalls.gpu_waits_for_host += step.stalls.gpu_waits_for_host / count_;
    result.stalls.gpu_waits_for_gpus += step.stalls.gpu_waits_for_gpus / count_;
    result.stalls.gpu_waits_for_update += step.stalls.gpu_waits_for_update / count_;
    result.stalls.gpu_waits_for_launches += step.stalls.gpu_waits_for_launches / count_;
    for (std::size_t i = 1; i < result::phase_count; ++i) {
      const result::PhaseBusy& from = step.busy[i];
      result::PhaseBusy& into = result.phase_busy[name(i)];
      into.gpu += from.gpu / count_;
      into.gpu_recompute += from.gpu_recompute / count_;
      into.h2d += from.h2d / count_;
      into.d2h += from.d2h / count_;
      into.ssd += from.ssd / count_;
      into.cpu += from.cpu / count_;
      into.network += from.network / count_;
      into.launches += from.launches / count_;
      into.other_gpus += from.other_gpus / count_;
    }
    const auto& storages = machine_.topology().storages;
    const double nodes = machine_.topology().simulated_nodes();
    for (std::size_t i = 0; i < storages.size(); ++i)
      storage_busy_s_[storages[i].name] += step.storage_busy_s[i] / count_ / nodes;
  }

  static std::string name(std::size_t phase) {
    return std::string(to_string(static_cast<Phase>(phase)));
  }

  /// Bytes, writes and operations of the measured steps together: a period's steps may differ.
  StepRecord sum_of_steps() const {
    const auto& steps = machine_.recorder().steps();
    StepRecord all = steps[first_];
    for (std::size_t i = first_ + 1; i < steps.size(); ++i) {
      const StepRecord& step = steps[i];
      all.operations += step.operations;
      all.gpu_direct += step.gpu_direct;
      all.network += step.network;
      all.between_nodes += step.between_nodes;
      for (std::size_t phase = 0; phase < result::phase_count; ++phase)
        for (const auto part : phase_bytes) all.bytes[phase].*part += step.bytes[phase].*part;
      for (std::size_t storage = 0; storage < all.by_storage.size(); ++storage) {
        all.by_storage[storage].read += step.by_storage[storage].read;
        all.by_storage[storage].write += step.by_storage[storage].write;
        all.inside[storage].read += step.inside[storage].read;
        all.inside[storage].write += step.inside[storage].write;
        for (const WriteSize& size : step.write_sizes[storage].all())
          all.write_sizes[storage].add(size.bytes, size.count);
      }
    }
    return all;
  }

  /// Of one step and one node, the mean, when all measured steps and simulated nodes have `sum`.
  std::uint64_t each(std::uint64_t sum) const {
    const double nodes = machine_.topology().simulated_nodes();
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(sum) / count_ / nodes));
  }

  /// Sums of all simulated nodes, by the place of a storage in the machine file.
  std::vector<result::StorageBytes> of_all_nodes(
      const std::vector<result::StorageBytes>& by_storage) {
    std::vector<result::StorageBytes> sums(scenario_.machine.storage.size());
    for (std::size_t i = 0; i < by_storage.size(); ++i) {
      sums[i % sums.size()].read += by_storage[i].read;
      sums[i % sums.size()].write += by_storage[i].write;
    }
    return sums;
  }

  void add_bytes(result::Result& result, const StepRecord& all) {
    for (std::size_t i = 1; i < result::phase_count; ++i) {
      result::PhaseBytes& bytes = result.phase_bytes[name(i)];
      for (const auto part : phase_bytes) bytes.*part = each(all.bytes[i].*part);
      result.io.h2d += bytes.h2d;
      result.io.d2h += bytes.d2h;
    }
    const auto& storages = machine_.topology().storages;
    const std::uint64_t nodes = machine_.topology().simulated_nodes();
    const auto moved = of_all_nodes(all.by_storage), moved_inside = of_all_nodes(all.inside);
    const auto placed = of_all_nodes(machine_.recorder().steps().front().by_storage);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      result::StorageBytes& bytes = result.io.by_storage[storages[i].name];
      bytes = {each(moved[i].read), each(moved[i].write)};
      const result::StorageBytes inside{each(moved_inside[i].read), each(moved_inside[i].write)};
      bytes.read -= inside.read;
      bytes.write -= inside.write;
      if (inside.read + inside.write > 0) {
        if (!result.near_storage) result.near_storage.emplace();
        result.near_storage->read += inside.read;
        result.near_storage->write += inside.write;
      }
      if (!storages[i].wears) continue;
      if (const std::uint64_t written = placed[i].write / nodes; written > 0)
        result.placed[storages[i].name] = written;
      result.io.ssd_read += bytes.read;
      result.io.ssd_write += bytes.write;
    }
    result.io.gpu_direct = each(all.gpu_direct);
    result.io.network = each(all.network);
    result.io.between_nodes = each(all.between_nodes);
  }

  /// Of a micro-batch, without recomputation. What is frozen has no gradient of its own.
  /// Of a rank with its even part of the experts' tokens, where the busiest one is simulated.
  double model_flops() const {
    const models::Workload& own = prepared_.program.workload;
    if (own.expert == 1 || own.expert_load.even()) return model_flops(prepared_.program);
    models::Workload even = own;
    even.expert_load = {};
    return model_flops(models::build_step_program(prepared_.model, even));
  }
  double model_flops(const models::StepProgram& program) const {
    const double forward = program.forward_flops().value();
    return scenario_.training.method == description::Method::full
               ? 3 * forward
               : forward + program.flops(program.backward).value();
  }

  void add_rates(result::Result& result) {
    if (result.step_time_s <= 0) return;
    const description::Training& training = scenario_.training;
    const double samples = static_cast<double>(training.micro_batch) *
                           static_cast<double>(training.gradient_accumulation) *
                           static_cast<double>(scenario_.parallel.data);
    result.samples_per_s = samples / result.step_time_s;
    result.tokens_per_s = result.samples_per_s * static_cast<double>(training.sequence);
    result.model_tflops_per_gpu =
        model_flops() * static_cast<double>(training.gradient_accumulation) /
        static_cast<double>(scenario_.parallel.pipeline) / result.step_time_s / 1e12;
    for (const auto& [phase, busy] : result.phase_busy) {
      result.utilization.gpu += busy.gpu / result.step_time_s;
      result.utilization.h2d += busy.h2d / result.step_time_s;
      result.utilization.d2h += busy.d2h / result.step_time_s;
      result.utilization.cpu += busy.cpu / result.step_time_s;
      result.utilization.network += busy.network / result.step_time_s;
    }
    for (const auto& [storage, seconds] : storage_busy_s_)
      result.utilization.storage[storage] = seconds / result.step_time_s;
    name_bottleneck(result);
  }

  /// What the optimizers of the ranks of `node` said, summed up; estimates are means.
  void sum_states(std::uint32_t node, result::OptimizerStates& all,
                  result::Checkpoint& checkpoint) const {
    const Topology& topology = machine_.topology();
    const double ranks = topology.ranks_of(node);
    for (std::uint32_t rank = 0; rank < topology.ranks; ++rank) {
      if (topology.node_of(Rank{rank}) != node) continue;
      const result::OptimizerStates& one = job_.shared->states[rank];
      all.subgroups += one.subgroups;
      all.cache_hits += one.cache_hits;
      for (const auto& [name, path] : one.paths) {
        all.paths[name].subgroups += path.subgroups;
        all.paths[name].estimate_bytes_per_s += path.estimate_bytes_per_s / ranks;
      }
      checkpoint.bytes += job_.shared->checkpoints[rank].bytes;
      checkpoint.prestaged_bytes += job_.shared->checkpoints[rank].prestaged_bytes;
    }
  }

  /// Of the node that has most of them.
  void add_states(result::Result& result) {
    result::OptimizerStates all;
    result::Checkpoint checkpoint;
    for (std::uint32_t node = 0; node < machine_.topology().simulated_nodes(); ++node) {
      result::OptimizerStates states;
      result::Checkpoint saved;
      sum_states(node, states, saved);
      if (node > 0 && saved.bytes <= checkpoint.bytes) continue;
      all = std::move(states);
      checkpoint = saved;
    }
    if (all.subgroups == 0) return;
    const std::uint64_t alike = machine_.topology().alike;
    for (std::uint64_t* sum :
         {&all.subgroups, &all.cache_hits, &checkpoint.bytes, &checkpoint.prestaged_bytes})
      *sum *= alike;
    for (auto& [name, path] : all.paths) path.subgroups *= alike;
    result.optimizer_states = all;
    result.checkpoint = checkpoint;
  }

  /// A rule's, the same for every sub-group; of a system that delays updates unless it is told not
  /// to, also when it was.
  void add_staleness(result::Result& result) {
    const std::uint64_t rule = scenario_.strategy.optimizer.staleness;
    const System* system = find_system(scenario_.strategy.system);
    if (rule == 0 && system->defaults().optimizer.staleness == 0) return;
    result::Staleness& all = result.staleness.emplace();
    if (rule == description::any_staleness) return measure_staleness(all);
    all.mean = static_cast<double>(rule);
    all.max = rule;
    all.blocks.assign(job_.subgroups.size(), {all.mean, all.max});
  }

  /// Steps from one publication of a sub-group to the next, of those in measured steps. Where some
  /// have none there: steps a round, at the pace of the run so far. Of ranks that are alike, the
  /// one that was simulated stands for each.
  void measure_staleness(result::Staleness& all) {
    double sum = 0;
    std::uint64_t count = 0;
    bool every_one = true;
    std::vector<const Delays*> ranks;
    for (const Delays& rank : job_.shared->delays)
      ranks.insert(ranks.end(), machine_.topology().alike, &rank);
    for (const Delays* rank : ranks)
      for (const std::vector<std::size_t>& published : rank->published) {
        result::Lateness& block = all.blocks.emplace_back();
        double steps = 0;
        std::uint64_t times = 0;
        for (std::size_t i = 1; i < published.size(); ++i) {
          if (published[i] < first_) continue;
          const std::uint64_t late = published[i] - published[i - 1];
          block.max = std::max(block.max, late);
          steps += static_cast<double>(late);
          ++times;
        }
        if (times) block.mean = steps / static_cast<double>(times);
        all.max = std::max(all.max, block.max);
        sum += steps;
        count += times;
        every_one = every_one && times > 0;
      }
    if (count) all.mean = sum / static_cast<double>(count);
    if (every_one) return;
    all.mean = std::max(all.mean, steps_a_round());
    all.max = std::max(all.max, static_cast<std::uint64_t>(std::ceil(all.mean)));
  }

  /// At least the steps of the run, where nothing was published yet.
  double steps_a_round() const {
    double elements = 0, updated = 0;
    for (const Delays& rank : job_.shared->delays)
      for (std::size_t group = 0; group < rank.published.size(); ++group) {
        const auto size = static_cast<double>(job_.subgroups[group].elements);
        elements += size;
        updated += size * static_cast<double>(rank.published[group].size());
      }
    const auto steps = static_cast<double>(machine_.recorder().steps().size());
    return steps * (updated > 0 ? elements / updated : 1);
  }

  /// What the caches of activations did in the last step: the rank that stores most; bytes of all.
  void add_cache(result::Result& result) {
    if (job_.shared->caches.empty()) return;
    CacheTotals most, all;
    for (const CacheTotals& one : job_.shared->caches) {
      if (one.offloaded >= most.offloaded) most = one;
      all.kept += one.kept;
      all.forwarded += one.forwarded;
      all.dropped += one.dropped;
    }
    for (std::uint64_t* sum : {&all.kept, &all.forwarded, &all.dropped})
      *sum *= machine_.topology().alike;
    result.plan = {{"swap_bytes", most.offloaded},
                   {"offloaded_modules", most.offloaded_modules},
                   {"modules", most.candidates},
                   {"kept_bytes", all.kept},
                   {"forwarded_bytes", all.forwarded},
                   {"cancelled_bytes", all.dropped},
                   {"planned_write_bytes_per_s", most.write_bytes_per_s},
                   {"required_write_bytes_per_s",
                    required_write_bandwidth(most.offloaded - most.dropped, result.step_time_s)}};
  }

  /// The resource that works for the largest part of the step.
  static void name_bottleneck(result::Result& result) {
    double most = 0;
    const auto consider = [&](const std::string& resource, double share) {
      if (share > most) most = share, result.bottleneck = resource;
    };
    consider("gpu", result.utilization.gpu);
    for (const auto& [storage, share] : result.utilization.storage) consider(storage, share);
    consider("h2d", result.utilization.h2d);
    consider("d2h", result.utilization.d2h);
    consider("cpu", result.utilization.cpu);
    consider("network", result.utilization.network);
  }

  Machine& machine_;
  const description::Scenario& scenario_;
  const Job& job_;
  const Prepared& prepared_;
  std::size_t first_ = 0;
  double count_ = 0;
  std::map<std::string, double> storage_busy_s_;
};

/// A machine is bought whole.
void note_idle_gpus(const description::Scenario& scenario, result::Result& result) {
  const std::uint64_t used = scenario.parallel.ranks(), all = scenario.machine.gpus();
  if (used >= all) return;
  text::Text note = text::filled("{} of {} GPUs work, and the price is that of the whole machine",
                                 {text::count(used), text::count(all)});
  if (all % used == 0)
    note += "; with --set parallel.data=" + std::to_string(scenario.parallel.data * (all / used)) +
            " all of them do";
  result.notes.push_back(std::move(note));
}

}  // namespace

result::Result run(Machine& machine, const Decision& decision, const std::string& backend,
                   std::vector<Delays>* delays) {
  const description::Scenario& scenario = decision->scenario;
  const Prepared& prepared = *decision->prepared;
  if (scenario.run.io_bench) return measure_io(machine, scenario, backend);
  const System* system = find_system(scenario.strategy.system);
  ENSURE(system, "no system " + scenario.strategy.system);
  const auto train = system->schedule == Schedule::planned ? tensor_by_tensor : train_streaming;
  result::Result result;
  result.backend = backend;
  result.system = scenario.strategy.system;
  result.scenario = decision->question;
  result.price_usd = scenario.machine.price();
  result.plan = decision->report;
  result.notes = decision->notes;
  for (const std::string& note : prepared.model.architecture.notes) result.notes.emplace_back(note);
  if (std::string experts = stacked_experts_words(scenario, prepared.model); !experts.empty())
    result.notes.emplace_back(std::move(experts));
  if (scenario.strategy.optimizer.cpu_share != system->defaults().optimizer.cpu_share)
    if (text::Text idle = idle_share_note(scenario, prepared, decision->tensors); !idle.empty())
      result.notes.push_back(std::move(idle));
  for (std::string& note : notes_on_numbers(scenario)) result.notes.emplace_back(std::move(note));
  std::deque<Job> jobs = jobs_of(decision);
  Steps steps(machine, scenario);
  NodeShared shared(machine, scenario);
  for (Job& job : jobs) {
    job.steps = &steps;
    job.shared = &shared;
  }
  std::vector<Task<>> ranks;
  for (std::uint32_t rank = 0; rank < machine.topology().ranks; ++rank)
    ranks.push_back(train(machine, Rank{rank}, job_of(jobs, Rank{rank}, machine.topology().ranks)));
  note_nodes(scenario, machine.topology(), result);
  note_idle_gpus(scenario, result);
  Summary summary(machine, scenario, jobs.front(), prepared);
  try {
    machine.run_ranks(std::move(ranks));
    result.infeasible = machine.shortage();
    if (result.feasible()) summary.add_steps(result);
  } catch (const OutOfMemory& failure) {
    result.infeasible = failure.request();
  }
  if (delays) *delays = shared.delays;
  if (!shared.plan.is_null()) result.plan = shared.plan;
  add_memory(machine, scenario, decision->filled, result);
  result.run = finished_run(scenario, result,
                            static_cast<double>(prepared.model.trained_parameters().value()));
  note_room_of_checkpoints(scenario, result);
  note_packed_base(scenario, prepared.model, result);
  return result;
}

Decision decided(const description::Scenario& scenario, Tiers tiers, const Probe& probe) {
  return decide(scenario, std::make_shared<const Prepared>(prepare(scenario)), probe, tiers);
}

Decision decided_as_written(const description::Scenario& scenario, Tiers tiers) {
  return decide_settled(scenario, std::make_shared<const Prepared>(prepare(scenario)),
                        counting_probe(), tiers);
}

}  // namespace spillway::strategies
