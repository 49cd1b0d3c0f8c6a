#pragma once

#include "strategies/rules/rule.hpp"

/// What several rows ask.
namespace spillway::strategies::rules {

/// The schedule goes layer by layer; else it carries out plans of whole steps, tensor by tensor.
bool streams(const Case& subject);

/// A pipeline whose stages stream their layers.
bool has_streaming_stages(const Case& subject);

/// Weights and their update never leave the GPU.
bool is_resident(const Case& subject);

/// The update begins when all passes of a step are over, layers bring their own weights, and
/// nothing runs inside the storage.
bool updates_behind_passes(const Case& subject);

/// The update runs outside the GPU.
bool updates_off_gpu(const Case& subject);

/// Gradients are updated while backward goes on.
bool is_active(const Case& subject);

/// The update is not the GPU's, and steps wait for none of it.
bool is_loose(const Case& subject);

/// Places where saved tensors go; `home` is one of them.
bool activations_go_to(const Case& subject, const char* home);

/// Knobs ("weights.home") by which something lies on a drive that the rank reaches.
std::vector<std::string> drive_users(const Case& subject);

/// The machine's drives.
std::vector<description::StorageSpec> drives(const Case& subject);

/// The storages that optimizer states lie on: those of `optimizer.paths` with a share, else all
/// drives.
std::vector<description::StorageSpec> state_storages(const Case& subject);

/// The machine's storages by name.
std::vector<std::string> storage_names(const description::Scenario& scenario);

}  // namespace spillway::strategies::rules
