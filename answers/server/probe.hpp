#pragma once

#include "answers/server/devices.hpp"
#include "hw_backend/probe/probe.hpp"
#include "reports/answer/probe.hpp"

#include <functional>
#include <string>

namespace spillway::answers {

/// Which devices are measured: those of the probe itself, which play GPUs on the host, or CUDA's,
/// whose memory goes into `probe`.
///   wish    auto, cuda or host
///   Throws  ScenarioError: CUDA devices are asked for and something is in the way
DeviceChoice choose_probe_device(const std::string& wish, hw_backend::ProbeOptions& probe);

/// Measures this server.
///   progress  hears how far it is, 0 to 1, and what is being measured
///   Throws    ScenarioError, DeviceError, Interrupted
answer::Probe probe(const hw_backend::ProbeOptions& options, const DeviceChoice& device,
                    const std::function<void(double share, const std::string& what)>& progress);

}  // namespace spillway::answers
