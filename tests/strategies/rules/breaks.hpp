#pragma once

#include "strategies/rules/rules.hpp"

#include <vector>

namespace spillway::strategies::rules::rows_test {

using namespace description;

/// A scenario of one system with one change, which no row but those it breaks should mind.
struct Breaks {
  const char* system;
  void (*change)(Scenario&);
  void (*of_model)(models::Architecture&) = [](models::Architecture&) {};
};

inline void with_adapters(Scenario& s) { s.training.method = Method::lora; }

inline constexpr Breaks of_method[] = {
    {"resident", [](Scenario&) {}},  // adapters that are written, but not trained
    {"resident", [](Scenario& s) { s.training.frozen = {"embeddings"}; }},
    {"resident", [](Scenario& s) { s.training.method = Method::frozen; }},
    {"resident", with_adapters, [](models::Architecture& a) { a.labels = 16; }},
    {"resident",
     [](Scenario& s) {
       with_adapters(s);
       s.parallel.tensor = 2;
     }},
    {"resident",
     [](Scenario& s) {
       with_adapters(s);
       s.parallel.pipeline = 2;
     }},
    {"teraio", with_adapters},
    {"lohan", with_adapters},
    {"colossal_gemini", with_adapters},
    {"angel_ptm", with_adapters},
};

inline constexpr Breaks of_fp8[] = {
    {"resident", [](Scenario&) {}},  // fields of fp8 that are written, of another precision
    {"resident",
     [](Scenario& s) {
       s.training.precision = Precision::fp8;
       s.machine.gpu.compute.erase("fp8");
     }},
    {"resident",
     [](Scenario& s) {
       s.training.precision = Precision::fp8;
       s.machine.gpu.fp8_any_layout = true;
     }},
    {"resident",
     [](Scenario& s) {
       with_adapters(s);
       s.training.lora.base = BaseType::int8;
       s.training.precision = Precision::fp8;
     }},
    {"resident",
     [](Scenario& s) {
       s.training.precision = Precision::fp8;
       s.parallel.sequence_parallel = true;
     }},
    {"zero_infinity", [](Scenario& s) { s.training.precision = Precision::fp8; }},
};

inline void with_experts(models::Architecture& a) {
  a.experts = 4;
  a.experts_per_token = 2;
}

inline constexpr Breaks of_experts[] = {
    {"resident",
     [](Scenario& s) {
       s.parallel.expert = 3;
       s.parallel.data = 4;
       s.machine.gpu.count = 4;
       s.training.experts = ExpertLayout::separate;
     },
     with_experts},
    {"colossal_gemini",
     [](Scenario& s) {
       s.parallel.data = 2;
       s.parallel.expert = 2;
     },
     with_experts},
    {"resident",
     [](Scenario& s) {
       s.training.expert_load.counts = {1, 2, 3};
     },
     with_experts},
    {"resident",
     [](Scenario& s) {
       s.training.expert_load.counts = {4, 0, 0, 0};
     },
     with_experts},
    {"resident", [](Scenario& s) { s.training.mlp_tiles = 2; }, with_experts},
    {"zero_infinity",
     [](Scenario& s) {
       s.strategy.weights.experts = ExpertPlace::alone;
       s.training.expert_load.zipf = 1;
       s.training.experts = ExpertLayout::separate;
       s.parallel.data = 2;
       s.machine.gpu.count = 2;
     },
     with_experts},
    {"resident", [](Scenario& s) { s.strategy.weights.experts = ExpertPlace::alone; }},
    {"resident", [](Scenario& s) { s.strategy.weights.expert_cache = Bytes(1); }},
    {"teraio",
     [](Scenario& s) {
       s.strategy.weights.experts = ExpertPlace::cpu;
       s.training.experts = ExpertLayout::separate;
     },
     with_experts},
};

}  // namespace spillway::strategies::rules::rows_test
