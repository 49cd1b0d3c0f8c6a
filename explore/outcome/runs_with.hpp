#pragma once

#include "reports/result/finished_run.hpp"
#include "scenarios/description/scenario.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::explore {

/// Which program trains as the scenario says, as far as is known:
///   "DeepSpeed", with the version where it matters: it has every part that the scenario has, which
///   is to say that scenarios/export_deepspeed can write its configuration
///   "PyTorch", "Megatron-LM"  all stays on the GPUs, alone, or shared by layers
///   "Transformers with device_map auto"  ... of a pipeline one stage works at a time
///   "Axolotl", "Megatron-Bridge"  ... of ranks that share samples or layers, and adapters are
///   trained
///   "Megatron-LM with the authors' zero bubble"  ... whose stages split their backwards
///   "Colossal-AI"             Gemini with the parts that it has
///   "the authors' code of X"  published with a paper; their models and machines, not maintained
///   "spillway alone"          no program that can be had: a paper without code, or parts of
///   several
/// Sizes and counts are settings that any of them takes; what a part does is not.
result::RunsWith runs_with(const description::Scenario& scenario);

/// Of the system with its own parts.
result::RunsWith runs_with(const strategies::System& system);

}  // namespace spillway::explore
