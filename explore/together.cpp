#include "explore/together.hpp"

#include "explore/team.hpp"

namespace spillway::explore {

std::optional<Exploration> explore_together(const Backend& backend, const Points& points,
                                            const std::string& database,
                                            const ExploreOptions& options) {
  Outpost outpost(backend, points, options.jobs ? options.jobs : usable_cores(), options.limit_s);
  const std::unique_ptr<Messenger> messenger = join_cluster();
  if (messenger->rank() != 0) {
    relay(outpost, *messenger, options);
    return std::nullopt;
  }
  if (messenger->ranks() > 1 && !survives_lost_ranks())
    options.notice("mpirun without --enable-recovery ends all ranks when one ends");
  const Measures measures(points);
  Store store(database, Database::Access::write);
  Team team(points, measures, store, database, outpost, *messenger, options);
  return search(points, measures, store, team, options);
}

}  // namespace spillway::explore
