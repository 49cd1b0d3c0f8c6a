#include "hw_backend/cuda/gds.hpp"
#include "hw_backend/cuda/open.hpp"
#include "tests/hw_backend/cuda/checks.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace {

using namespace spillway::hw_backend;

/// Asks one check and prints what it found.
///   Result  it passed
bool ask(const Check& check, Device& device) {
  const auto began = std::chrono::steady_clock::now();
  Report report;
  try {
    check.ask(device, report);
  } catch (const std::exception& error) {
    report.faults.push_back(std::string("threw: ") + error.what());
  }
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%-6s %-50s %7.2f s\n", report.faults.empty() ? "ok" : "FAILED", check.name, took);
  for (const std::string& note : report.notes) std::printf("         %s\n", note.c_str());
  constexpr std::size_t shown = 12;
  for (std::size_t i = 0; i < report.faults.size() && i < shown; ++i)
    std::printf("       ! %s\n", report.faults[i].c_str());
  if (report.faults.size() > shown)
    std::printf("       ! and %zu more\n", report.faults.size() - shown);
  std::fflush(stdout);
  return report.faults.empty();
}

}  // namespace

/// Every check, or those whose names contain the argument, on the first CUDA device; with --untimed
/// those that ask no rate: under a tool that slows the device down, or of an emulated one. A fault
/// of the device spoils what comes after it, so the first one is the one to look at.
int main(int count, char** arguments) {
  const bool untimed = count > 1 && std::strcmp(arguments[1], "--untimed") == 0;
  const char* const part = count > (untimed ? 2 : 1) ? arguments[untimed ? 2 : 1] : nullptr;
  const CudaDevices devices = cuda_devices();
  if (devices.count == 0) {
    std::printf("SKIP %s\n", devices.why_none.c_str());
    return 0;
  }
  const std::string gds = gds_missing();
  std::printf("GPUDirect Storage: %s\n", gds.empty() ? "is here" : ("SKIP " + gds).c_str());
  unsigned asked = 0, failed = 0;
  try {
    const std::unique_ptr<Device> device = open_cuda_device(0);
    std::printf("%d device(s), the first: %s\n", devices.count, device->name().c_str());
    for (const Check& check : all_checks()) {
      if ((part && !std::strstr(check.name, part)) || (untimed && check.timed)) continue;
      ++asked;
      failed += ask(check, *device) ? 0 : 1;
    }
  } catch (const std::exception& error) {
    std::printf("FAILED %s\n", error.what());
    return 1;
  }
  std::printf("%u of %u checks failed\n", failed, asked);
  return failed > 0 ? 1 : 0;
}
