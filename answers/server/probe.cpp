#include "answers/server/probe.hpp"

#include "hw_backend/cuda/gds.hpp"

namespace spillway::answers {

namespace {

using hw_backend::Measurement;
using hw_backend::Unit;

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return "bytes";
    case Unit::bytes_per_second:
      return "bytes_per_s";
    case Unit::flops_per_second:
      return "flops_per_s";
    case Unit::params_per_second:
      return "params_per_s";
    case Unit::seconds:
      return "s";
    case Unit::share:
      return "share";
  }
  return "";
}

answer::Measurement plain(const Measurement& measured) {
  return {measured.path,  measured.what, name_of(measured.unit), measured.median,
          measured.least, measured.most, measured.runs};
}

answer::Probe answer_of(const hw_backend::Probed& probed, const DeviceChoice& device) {
  answer::Probe answer;
  answer.machine = probed.machine;
  answer.device = probed.device;
  answer.device_why = device.why;
  answer.bytes_written = probed.bytes_written;
  answer.warnings = probed.warnings;
  answer.buffered = probed.buffered;
  for (const Measurement& each : probed.measurements) answer.measurements.push_back(plain(each));
  for (const hw_backend::ProductRate& each : probed.products)
    answer.products.push_back({plain(each.flops_per_s), each.shape.rows, each.shape.columns,
                               each.shape.inner, std::string(hw_backend::to_string(each.type))});
  for (const hw_backend::MixedRequests& each : probed.mixes)
    answer.mixes.push_back({each.storage, each.request_bytes, each.in_machine_file,
                            each.efficiency.median, each.efficiency.least, each.efficiency.most});
  return answer;
}

}  // namespace

DeviceChoice choose_probe_device(const std::string& wish, hw_backend::ProbeOptions& probe) {
  DeviceNeeds needs;
  needs.wish = wish;
  const DeviceChoice choice = choose_device(needs, cuda_here());
  probe.open_device = make_device(choice);
  if (!choice.cuda()) return choice;
  const DeviceMemory each = memory_of_devices(choice, probe.devices);
  probe.device_memory = each.memory;
  probe.device_context = each.context;
  probe.gpudirect = hw_backend::gds_missing().empty();
  return choice;
}

answer::Probe probe(const hw_backend::ProbeOptions& options, const DeviceChoice& device,
                    const std::function<void(double share, const std::string& what)>& progress) {
  return answer_of(hw_backend::probe(options, progress), device);
}

}  // namespace spillway::answers
