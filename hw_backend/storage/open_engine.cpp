#include "hw_backend/storage/open_engine.hpp"

#include "hw_backend/storage/checked_engine.hpp"
#include "hw_backend/storage/watched_engine.hpp"

namespace spillway::hw_backend {

std::unique_ptr<IoEngine> open_engine(const EngineOptions& options) {
  std::unique_ptr<IoEngine> engine = std::make_unique<UringEngine>(options.uring);
  if (options.faults) engine = std::make_unique<FaultyEngine>(std::move(engine), *options.faults);
  engine = std::make_unique<WatchedEngine>(std::move(engine), options.watchdog_s);
  if (options.checked || options.faults)
    engine = std::make_unique<CheckedEngine>(std::move(engine));
  return engine;
}

}  // namespace spillway::hw_backend
