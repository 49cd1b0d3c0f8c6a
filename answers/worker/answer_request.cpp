#include "answers/worker/answer_request.hpp"

#include "answers/bound/bound.hpp"
#include "answers/simulate/simulate.hpp"
#include "explore/remedies/faster_settings.hpp"
#include "explore/workers/reply.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/complaint_json.hpp"
#include "scenarios/description/text.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::answers {

using description::json_text;
using explore::Request;
using explore::Told;
using explore::Want;
using nlohmann::json;

namespace {

const std::vector<scenarios::SystemInfo>& systems() {
  static const std::vector<scenarios::SystemInfo> all = explore::known_systems();
  return all;
}

/// A process that answers several requests remembers the last count.
Bounding& bounds() {
  static Bounding all;
  return all;
}

scenarios::Resolved read(const json& scenario, const std::vector<std::string>& overrides) {
  return scenarios::read_scenario(scenario, overrides, systems(),
                                  scenarios::Refuse::what_cannot_run);
}

/// Owns the answer to one request while it is worked out, in a process of its own.
class Answering {
 public:
  Answering(const explore::Backend& backend, const WriteTrace& write_trace, const Request& request,
            explore::Reply& reply)
      : backend_(backend), write_trace_(write_trace), request_(request), reply_(reply) {
    for (const Want want : {Want::settings, Want::bound, Want::result, Want::trace, Want::what_if,
                            Want::faster, Want::remedy})
      left_ += request.wants(want);
    backend_.on_bug = {};  // it stands in the answer
    backend_.on_unanswered = [this](const std::string& why) { unanswered_.push_back(why); };
  }
  Answering(const Answering&) = delete;

  void run() {
    const scenarios::Resolved resolved = read(request_.scenario, {});
    if (request_.wants(Want::settings)) settings(resolved);
    if (request_.wants(Want::bound)) tell(Want::bound, bounds().of(resolved.scenario));
    if (request_.quick()) return;
    const result::Result result = simulate(resolved.scenario);
    if (request_.wants(Want::what_if)) what_if(resolved.scenario, result);
    if (request_.wants(Want::faster))
      tell(Want::faster, explore::faster_settings(within(worker_remedy_s), result, resolver()));
    if (request_.wants(Want::remedy)) remedy(resolved.scenario, result);
    if (!unanswered_.empty()) reply_.part("unanswered", json_text(unanswered_), Told::at_the_end);
  }

 private:
  static const char* name_of(Want want) {
    return explore::want_names[static_cast<std::size_t>(want)];
  }

  void tell(Want want, const json& part) {
    reply_.part(name_of(want), json_text(part),
                --left_ > 0 ? Told::now_and_at_the_end : Told::at_the_end);
  }

  void settings(const scenarios::Resolved& resolved) {
    std::vector<answer::Setting> all;
    for (const scenarios::Setting& one : resolved.settings())
      all.push_back({one.path, one.value, one.source});
    reply_.part("warnings", json_text(resolved.warnings), Told::at_the_end);
    reply_.part("old_prices",
                json_text(old_prices_words(resolved.scenario.machine, request_.today)),
                Told::at_the_end);
    tell(Want::settings, all);
  }

  /// In a child where others follow: they start from a process in which nothing was simulated yet.
  result::Result simulate(const description::Scenario& scenario) {
    const bool traced = request_.wants(Want::trace), remedy = request_.wants(Want::remedy),
               others = request_.wants(Want::what_if) || request_.wants(Want::faster);
    // what makes it fit follows from all that it needs
    const explore::Effort effort{remedy ? explore::WhenFull::find_need : request_.when_full};
    const std::function<std::string(std::size_t)> work = [&](std::size_t) {
      result::Trace trace;
      const explore::Outcome outcome =
          explore::attempt(backend_, scenario, effort, traced ? &trace : nullptr);
      return json_text(explore::outcome_json(outcome)) +
             (traced && outcome.result ? "\n" + write_trace_(trace) : "");
    };
    explore::Piece piece{explore::Piece::End::done, "", 0};
    if (remedy || others)
      piece = std::move(explore::in_children(1, work, 1, HUGE_VAL, {}).front());
    else
      piece.text = work(0);
    const std::size_t end = std::min(piece.text.find('\n'), piece.text.size());
    std::string trace = piece.text.substr(std::min(end + 1, piece.text.size()));
    piece.text.resize(end);
    result::Result result = explore::result_of(explore::outcome_of(piece));
    date_prices(result, request_.today);
    if (request_.wants(Want::result)) tell(Want::result, result);
    if (traced)  // it may be large
      reply_.part(name_of(Want::trace), std::move(trace),
                  --left_ > 0 ? Told::now : Told::at_the_end);
    return result;
  }

  void what_if(const description::Scenario& scenario, result::Result result) {
    result::add_what_ifs(result, explore::what_next(backend_, scenario));
    if (request_.wants(Want::result))
      reply_.part(name_of(Want::result), json_text(result), Told::at_the_end);
    tell(Want::what_if, answer::what_ifs_of(result));
  }

  /// The backend for so long from now.
  explore::Backend within(double seconds) const {
    explore::Backend watched = backend_;
    watched.watch = [start = std::chrono::steady_clock::now(), seconds](std::size_t) {
      return explore::seconds_since(start) < seconds;
    };
    return watched;
  }

  /// The request's scenario with further overrides.
  explore::Resolve resolver() const {
    return explore::resolving([this](const std::vector<std::string>& more) {
      return read(request_.scenario, more).scenario;
    });
  }

  void remedy(const description::Scenario& scenario, const result::Result& result) {
    if (!needs_remedy(scenario, result)) return tell(Want::remedy, nullptr);
    tell(Want::remedy, find_remedies(within(worker_remedy_s), scenario, result, resolver()));
  }

  explore::Backend backend_;
  const WriteTrace& write_trace_;
  const Request& request_;
  explore::Reply& reply_;
  int left_ = 0;  ///< parts that are not told yet
  std::vector<std::string>
      unanswered_;  ///< why other simulations than the scenario's were not done
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
