#include "answers/worker/answer_request.hpp"

#include "answers/bound/bound.hpp"
#include "explore/more_memory.hpp"
#include "explore/outcome_json.hpp"
#include "explore/reply.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/complaint_json.hpp"
#include "strategies/catalogue.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::answers {

using explore::Request;
using explore::Want;
using nlohmann::json;

namespace {

const std::vector<scenarios::SystemInfo>& systems() {
  static const std::vector<scenarios::SystemInfo> all = explore::known_systems();
  return all;
}

scenarios::Resolved read(const json& scenario, const std::vector<std::string>& overrides) {
  return scenarios::read_scenario(scenario, overrides, systems(), strategies::unsupported);
}

/// [{"path", "value", "source"}].
json settings_json(const std::vector<scenarios::Setting>& settings) {
  json list = json::array();
  for (const scenarios::Setting& one : settings)
    list.push_back({{"path", one.path}, {"value", one.value}, {"source", one.source}});
  return list;
}

/// [{"name", "step_time_s", "tokens_per_s", "why"}], the shortest step first.
json what_ifs_json(const result::Result& result) {
  std::vector<std::pair<double, json>> list;
  for (const auto& [name, one] : result.next) {
    const double step_s = one.step_time_s.value_or(HUGE_VAL);
    json row = {{"name", name}, {"step_time_s", nullptr}, {"tokens_per_s", nullptr}};
    row["why"] = one.why;
    if (one.step_time_s) row["step_time_s"] = step_s;
    if (step_s > 0 && one.step_time_s)
      row["tokens_per_s"] = result.tokens_per_s * result.step_time_s / step_s;
    list.emplace_back(step_s, std::move(row));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  json rows = json::array();
  for (auto& [step_s, row] : list) rows.push_back(std::move(row));
  return rows;
}

/// {"words", "set", "result"}, or null.
json remedy_json(const std::optional<explore::Remedy>& remedy) {
  if (!remedy) return nullptr;
  return {{"words", remedy->words}, {"set", remedy->overrides}, {"result", remedy->result}};
}

/// Owns the answer to one request while it is worked out, in a process of its own.
class Answering {
 public:
  Answering(const explore::Backend& backend, const WriteTrace& write_trace, const Request& request,
            explore::Reply& reply)
      : backend_(backend), write_trace_(write_trace), request_(request), reply_(reply) {
    for (const Want want :
         {Want::settings, Want::bound, Want::result, Want::trace, Want::what_if, Want::remedy})
      left_ += request.wants(want);
    backend_.on_bug = {};  // it stands in the answer
  }

  void run() {
    const scenarios::Resolved resolved = read(request_.scenario, {});
    if (request_.wants(Want::settings))
      tell(Want::settings, settings_json(resolved.settings).dump());
    if (request_.wants(Want::bound)) tell(Want::bound, json(bound_of(resolved.scenario)).dump());
    if (request_.quick()) return;
    const result::Result result = simulate(resolved.scenario);
    if (request_.wants(Want::what_if)) what_if(resolved.scenario, result);
    if (request_.wants(Want::remedy)) remedy(resolved.scenario, result);
  }

 private:
  void tell(Want want, std::string text) {
    reply_.part(explore::want_names[static_cast<std::size_t>(want)], std::move(text), --left_ > 0);
  }

  /// In a child where others follow: they start from a process in which nothing was simulated yet.
  result::Result simulate(const description::Scenario& scenario) {
    const std::function<std::string(std::size_t)> work = [&](std::size_t) {
      result::Trace trace;
      explore::Outcome outcome;
      const bool traced = request_.wants(Want::trace);
      try {
        outcome.result =
            explore::simulate(backend_, scenario, traced ? &trace : nullptr, {request_.when_full});
      } catch (const description::ScenarioError& error) {
        outcome.complaints = error.complaints();
      } catch (const description::DeviceError& error) {
        outcome.failure = error.what();
      } catch (const std::exception& error) {
        outcome.failure = description::as_bug(error.what());
      }
      return explore::outcome_json(outcome).dump() +
             (traced && outcome.result ? "\n" + write_trace_(trace) : "");
    };
    const bool more = request_.wants(Want::what_if) || request_.wants(Want::remedy);
    explore::Piece piece{explore::Piece::End::done, "", 0};
    if (more)
      piece = std::move(explore::in_children(1, work, 1, HUGE_VAL, {}).front());
    else
      piece.text = work(0);
    const std::size_t end = std::min(piece.text.find('\n'), piece.text.size());
    result::Result result =
        explore::result_of(explore::read_outcome(piece.text.substr(0, end), piece.status));
    if (request_.wants(Want::result)) tell(Want::result, json(result).dump());
    if (request_.wants(Want::trace)) tell(Want::trace, piece.text.substr(end + 1));
    return result;
  }

  void what_if(const description::Scenario& scenario, result::Result result) {
    if (result.feasible()) result::add_what_ifs(result, explore::what_next(backend_, scenario));
    if (request_.wants(Want::result)) reply_.part("result", json(result).dump(), false);
    tell(Want::what_if, what_ifs_json(result).dump());
  }

  void remedy(const description::Scenario& scenario, const result::Result& result) {
    if (result.feasible() || scenario.run.io_bench) return tell(Want::remedy, "null");
    const auto start = std::chrono::steady_clock::now();
    explore::Backend watched = backend_;
    watched.watch = [start](std::size_t) {
      return explore::seconds_since(start) < worker_remedy_s;
    };
    const explore::Resolve resolve =
        [this](const std::vector<std::string>& more) -> std::optional<description::Scenario> {
      try {
        return read(request_.scenario, more).scenario;
      } catch (const description::ScenarioError&) {
        return std::nullopt;  // this change does not go with the scenario; the others may
      }
    };
    json remedies = {
        {"memory", remedy_json(explore::more_memory(watched, scenario, result, resolve))},
        {"change", remedy_json(explore::cheapest_remedy(watched, scenario, resolve))}};
    remedies["whole"] = watched.goes_on();
    tell(Want::remedy, remedies.dump());
  }

  explore::Backend backend_;
  const WriteTrace& write_trace_;
  const Request& request_;
  explore::Reply& reply_;
  int left_ = 0;  ///< parts that are not told yet
};

}  // namespace

explore::AnswerRequest answer_request(const explore::Backend& backend, WriteTrace write_trace) {
  return [backend, write = std::move(write_trace)](const Request& request, int pipe) {
    explore::Reply reply(request.id, pipe);
    try {
      Answering(backend, write, request, reply).run();
      reply.end();
    } catch (const description::ScenarioError& error) {
      reply.end({{"errors", error.complaints()}});
    } catch (const description::DeviceError& error) {
      reply.end({{"failure", error.what()}});
    } catch (const std::exception& error) {
      reply.end({{"failure", description::as_bug(error.what())}});
    }
  };
}

}  // namespace spillway::answers
