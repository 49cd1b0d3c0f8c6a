#pragma once

#include "answers/server/places.hpp"
#include "hw_backend/raw_device/raw_device.hpp"

#include <functional>
#include <map>

/// Disks without a file system: asked for, shown, typed, and held for a run.
namespace spillway::answers {

/// Shows `text` to a person and reads one line of an answer, without its end.
///   Throws  ScenarioError: nobody can answer
using Ask = std::function<std::string(const std::string& text)>;

/// Raw devices by the position of their place.
using Gates = std::map<std::size_t, hw_backend::RawGate>;
using RawDisks = std::map<std::size_t, hw_backend::RawDevice>;

/// A gate for each raw place; their serial numbers in the same order.
///   layer   outlives what is returned
///   Throws  ScenarioError: not as many serial numbers as raw places, or every reason that a gate
///           has; DeviceError
Gates raw_gates(const hw_backend::BlockLayer& layer, const std::vector<StoragePath>& places,
                const std::vector<std::string>& serials);

/// Shows what will be lost and worn off, and has each serial number typed again.
///   wear    by place
///   Throws  ScenarioError: another one was typed; nothing was written to that disk then
RawDisks open_raw_disks(Gates gates, const std::vector<hw_backend::ProjectedWear>& wear,
                        const Ask& ask);

}  // namespace spillway::answers
