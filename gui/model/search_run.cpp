#include "gui/model/search_run.hpp"

#include <utility>

namespace spillway::gui {

QStringList words_of(const SearchRequest& request) {
  QStringList words = {"explore", request.space, "--db", request.database};
  if (request.jobs > 0) words << "--jobs" << QString::number(request.jobs);
  if (!request.budget.isEmpty()) words << "--budget" << request.budget;
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
