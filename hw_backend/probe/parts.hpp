#pragma once

#include "hw_backend/probe/device_loop.hpp"
#include "hw_backend/probe/session.hpp"
#include "hw_backend/storage/store_directory.hpp"

/// The parts of a probe; each fills its part of the machine file.
namespace spillway::hw_backend {

/// Seconds that a part takes, for the progress.
double device_seconds(const ProbeOptions& options);
double host_seconds(const ProbeOptions& options);
double products_seconds(const ProbeOptions& options);
double shapes_seconds(const ProbeOptions& options);
double storage_seconds(const ProbeOptions& options);

/// Products, attention, memory-bound kernels, launches, copies, copies to a peer.
///   peer  null: there is no other device
void probe_device(Session& session, Device& device, Device* peer, IoEngine& engine);

/// Of it, gpu.products: what products of other shapes reach; none where shapes were asked for.
void probe_shapes(Session& session, DeviceLoop& loop);
/// Of it, gpu.attention of one type.
void probe_attention(Session& session, DeviceLoop& loop, Element type);
/// Of it, updates, kernels between products, and launches.
void probe_kernels(Session& session, DeviceLoop& loop);

/// Memory and what the cores do.
void probe_host(Session& session);
/// host.compute: matrix products of all cores, by the kernel of runs here; and beside it what units
/// of the processor reach that no run uses.
void probe_products(Session& session);
/// Of it, what one thread costs: new pages, and the page cache, on a file of `directory`; without
/// one that rate is assumed.
void probe_threads(Session& session, StoreDirectory* directory);

/// A storage a directory.
void probe_storages(Session& session, IoEngine& engine);

}  // namespace spillway::hw_backend
