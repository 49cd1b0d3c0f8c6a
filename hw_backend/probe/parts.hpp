#pragma once

#include "hw_backend/probe/device_loop.hpp"
#include "hw_backend/probe/session.hpp"

/// The parts of a probe; each fills its part of the machine file.
namespace spillway::hw_backend {

/// Seconds that a part takes, for the progress.
double device_seconds(const ProbeOptions& options);
double host_seconds(const ProbeOptions& options);
double storage_seconds(const ProbeOptions& options);

/// Products, attention, memory-bound kernels, launches, copies, copies to a peer.
///   peer  null: there is no other device
void probe_device(Session& session, Device& device, Device* peer, IoEngine& engine);

/// Of it, gpu.attention of one type.
void probe_attention(Session& session, DeviceLoop& loop, Element type);
/// Of it, updates, kernels between products, and launches.
void probe_kernels(Session& session, DeviceLoop& loop);

/// Memory and what the cores do.
void probe_host(Session& session);

/// A storage a directory.
void probe_storages(Session& session, IoEngine& engine);

}  // namespace spillway::hw_backend
