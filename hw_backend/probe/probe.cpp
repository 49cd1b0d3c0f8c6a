#include "hw_backend/probe/probe.hpp"

#include "hw_backend/device/host_device.hpp"
#include "hw_backend/device/host_memory.hpp"
#include "hw_backend/machine/other_work.hpp"
#include "hw_backend/probe/parts.hpp"
#include "hw_backend/probe/ratings.hpp"
#include "hw_backend/probe/usable_memory.hpp"
#include "hw_backend/storage/limits.hpp"
#include "hw_backend/storage/open_engine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

namespace spillway::hw_backend {

using description::Bytes;

namespace {

constexpr std::uint64_t locked_bytes = std::uint64_t{256} << 20;  // more than any part locks
constexpr std::uint64_t open_files = 256;
constexpr std::uint64_t shares = 4;  // of host memory, one for devices that live in it

std::string computer_name() {
  utsname system{};
  return uname(&system) == 0 && system.nodename[0] ? system.nodename : "this computer";
}

std::uint64_t whole_mib(std::uint64_t bytes) { return bytes >> 20 << 20; }

/// The engine and the devices, and what the process takes with each of them.
struct Opened {
  std::unique_ptr<IoEngine> engine;
  std::vector<std::unique_ptr<Device>> devices;
  std::uint64_t first_base = 0, next_base = 0;
};

Opened open_all(const ProbeOptions& options) {
  Opened opened;
  EngineOptions engine;
  engine.uring = options.uring;
  opened.engine = open_engine(engine);
  const auto open_one = [&](std::size_t index) {
    return options.open_device ? options.open_device(index) : std::make_unique<HostDevice>(true);
  };
  opened.devices.push_back(open_one(0));
  opened.first_base = process_memory().resident;
  const bool second = options.devices > 1 || opened.devices.front()->shares_host();
  if (second) opened.devices.push_back(open_one(1));
  opened.next_base = process_memory().resident;
  opened.next_base -= std::min(opened.next_base, opened.first_base);
  return opened;
}

void describe_memory(Session& session, const Opened& opened) {
  const ProbeOptions& options = session.options();
  description::MachineFile& machine = session.out().machine;
  const bool shared = opened.devices.front()->shares_host();
  const std::uint64_t usable = usable_memory();
  machine.gpu.shares_host = shared;
  machine.gpu.context = Bytes(shared ? 0 : options.device_context);
  session.source("gpu.context", shared ? "measured: the host device has none"
                                       : "measured: device memory in use once it is open");
  if (shared) {
    machine.gpu.memory = Bytes(whole_mib(usable / shares / options.devices));
    machine.host.memory = Bytes(whole_mib(usable - usable / shares));
    session.source(
        "gpu.memory",
        fmt::format("assumed: a quarter of what the process may use, {} device(s) together",
                    options.devices));
    session.source("host.memory",
                   "measured: available to the process, less a quarter for its host devices");
  } else {
    machine.gpu.memory = Bytes(options.device_memory);
    machine.host.memory = Bytes(whole_mib(usable));
    session.source("gpu.memory", "measured: what the driver reports");
    session.source("host.memory",
                   "measured: the smaller of MemAvailable and the control groups' limits");
  }
  machine.gpu.reserve = description::default_gpu_reserve(machine.gpu);
  session.source("gpu.reserve", shared ? "assumed: none, host.memory has its own"
                                       : "assumed: 300 MiB for fragmentation and others");
  machine.host.reserve = Bytes(0);
  session.source("host.reserve", "measured: host.memory is what the system leaves free");
  machine.host.process_base = Bytes(opened.first_base);
  session.source("host.process_base",
                 "measured: resident bytes of the process with engine and device open, one run");
  machine.host.process_base_next =
      Bytes(opened.devices.size() > 1 ? opened.next_base : opened.first_base);
  session.source("host.process_base_next",
                 opened.devices.size() > 1
                     ? "measured: resident bytes that a further device adds, one run"
                     : "assumed: as the first");
  session.source("host.runtime_base", "assumed: nothing beyond the process");
}

/// What this computer is, whatever its rates.
void describe(Session& session) {
  const ProbeOptions& options = session.options();
  description::MachineFile& machine = session.out().machine;
  machine.name = options.name.empty() ? computer_name() : options.name;
  machine.nodes = 1;
  machine.gpu.count = options.devices;
  machine.gpu.elementwise = description::ElementwiseCost::separate;
  machine.gpu.matrix_half = 0;
  machine.gpu.gpudirect = options.gpudirect;
  session.source("nodes", "measured: this computer");
  session.source("gpu.count", "assumed: as the probe was asked");
  session.source("gpu.shares_host", "measured: what the device says of itself");
  session.source("gpu.elementwise", "measured: gpu.compute is the rate of products alone");
  session.source("gpu.matrix_half", "assumed: no curve; gpu.compute is measured at its own sizes");
  session.source("gpu.gpudirect", "measured: what is installed");
}

/// Nothing here measures a network, and one computer needs none.
void describe_network(Session& session) {
  description::MachineFile& machine = session.out().machine;
  machine.network.per_gpu = std::min(machine.pcie.h2d, machine.pcie.d2h);
  machine.network.latency = description::Seconds(machine.pcie.latency);
  session.source("network.per_gpu", "assumed: as pcie, no other computer was asked");
  session.source("network.latency", "assumed: as pcie.latency");
}

}  // namespace

Probed probe(const ProbeOptions& options, const ProbeProgress& progress) {
  ENSURE(options.devices > 0, "a machine without devices");
  Probed out;
  Session session(options, progress, out);
  session.plan(device_seconds(options) + host_seconds(options) + products_seconds(options) +
               storage_seconds(options));
  check_limits(locked_bytes, open_files);
  require_memory_to_probe(usable_memory());
  const Opened opened = open_all(options);
  Device* const peer = opened.devices.size() > 1 ? opened.devices[1].get() : nullptr;
  describe(session);
  describe_memory(session, opened);
  const ProcessorTimes times = processor_times();
  // storage first: a directory that cannot be used should say so at once
  probe_storages(session, *opened.engine);
  probe_device(session, *opened.devices.front(), peer, *opened.engine);
  probe_host(session);
  probe_products(session);
  describe_network(session);
  const text::Text others = other_work(times, processor_times(), "this machine was measured");
  if (!others.empty()) session.warn(others);
  for (const std::string& note : opened.engine->notes()) session.warn(note);
  for (text::Text& below : below_ratings()) session.warn(std::move(below));
  return out;
}

}  // namespace spillway::hw_backend
