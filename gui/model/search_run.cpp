#include "gui/model/search_run.hpp"

#include <utility>

namespace spillway::gui {

namespace {

constexpr const char* by_slurm = "slurm";

}  // namespace

QStringList words_of(const SearchRequest& request) {
  QStringList words = {"explore", request.space, "--db", request.database};
  if (request.jobs > 0) words << "--jobs" << QString::number(request.jobs);
  if (!request.budget.isEmpty()) words << "--budget" << request.budget;
  if (!request.kind.isEmpty()) words << "--search" << request.kind;
  if (!request.kind.isEmpty() && request.samples > 0)
    words << "--samples" << QString::number(request.samples);
  if (request.hosts == by_slurm)
    words << "--srun";
  else if (!request.hosts.isEmpty())
    words << "--mpirun" << QString(request.hosts).remove(' ');
  return words;
}

SearchRun::SearchRun(QString program, QObject* parent) : AskedRun(std::move(program), parent) {
  connect(this, &AskedRun::changed, this, [this] {
    if (state() == State::running) agreed_ = words_of(request_);
  });
}

void SearchRun::start(const SearchRequest& request) {
  if (state() != State::none) return;
  request_ = request;
  agreed_.clear();
  AskedRun::start(words_of(request) << "--progress"
                                    << "--ask");
}

void SearchRun::resume() {
  if (resumable()) AskedRun::start(QStringList(agreed_) << "--progress", false);
}

}  // namespace spillway::gui
