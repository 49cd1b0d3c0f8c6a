#include "strategies/systems/catalogue.hpp"

#include "scenarios/description/errors.hpp"

namespace spillway::strategies {

System resident();
System zero_offload();
System zero_infinity();
System memascend();
System mlp_offload();
System lohan();
System ssdtrain();
System teraio();
System g10();
System flashneuron();
System capuchin();
System checkmate();
System colossal_gemini();
System smart_infinity();
System angel_ptm();
System stronghold();
System slideformer();
System megatrain();
System superoffload();
System greedysnake();
System zenflow();

std::span<const System> catalogue() {
  static const System systems[] = {resident(),        zero_offload(),   zero_infinity(),
                                   memascend(),       mlp_offload(),    lohan(),
                                   ssdtrain(),        teraio(),         g10(),
                                   flashneuron(),     capuchin(),       checkmate(),
                                   colossal_gemini(), smart_infinity(), angel_ptm(),
                                   stronghold(),      slideformer(),    megatrain(),
                                   superoffload(),    greedysnake(),    zenflow()};
  return systems;
}

const System* find_system(const std::string& name) {
  for (const System& system : catalogue())
    if (name == system.name) return &system;
  return nullptr;
}

description::Strategy defaults_of(const std::string& name) {
  const System* system = find_system(name);
  ENSURE(system, "no system " + name);
  return system->defaults();
}

bool plans_steps(const std::string& name) {
  const System* system = find_system(name);
  return system && system->schedule == Schedule::planned;
}

}  // namespace spillway::strategies
