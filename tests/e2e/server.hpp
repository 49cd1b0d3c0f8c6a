#pragma once

#include "tests/e2e/command.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>
#include <string>

namespace spillway::e2e {

/// A profile of some server, as a person would write it: storages `nvme` and `pfs`.
inline nlohmann::json some_server() {
  const auto storage = [](const char* name) {
    return nlohmann::json{{"name", name},        {"kind", "ssd"},
                          {"count", 1},          {"capacity", "2 GB"},
                          {"read", "1 GB/s"},    {"write", "0.8 GB/s"},
                          {"latency", "200 us"}, {"endurance", {{"rated", "600 TB"}}}};
  };
  return {{"name", "some server"},
          {"gpu",
           {{"count", 1},
            {"memory", "2 GiB"},
            {"memory_rate", "10 GB/s"},
            {"shares_host", true},
            {"elementwise", "separate"},
            {"compute", {{"fp16", "50 GFLOPS"}, {"bf16", "50 GFLOPS"}, {"fp32", "50 GFLOPS"}}},
            {"peer_rate", "3 GB/s"},
            {"context", "0 B"}}},
          {"pcie", {{"h2d", "5 GB/s"}, {"d2h", "5 GB/s"}, {"latency", "50 us"}}},
          {"host",
           {{"memory", "6 GiB"},
            {"memory_rate", "20 GB/s"},
            {"cores", 2},
            {"adam", "0.3 Gparam/s"},
            {"convert", "8 GB/s"},
            {"process_base", "100 MiB"},
            {"process_base_next", "100 MiB"}}},
          {"storage", {storage("nvme"), storage("pfs")}},
          {"network", {{"per_gpu", "1 GB/s"}}}};
}

/// Directories `a` and `b`, and that profile.
class Server {
 public:
  explicit Server(const nlohmann::json& profile = some_server()) {
    place_.write("server.json", profile.dump(2));
    std::filesystem::create_directory(place_.path() / "a");
    std::filesystem::create_directory(place_.path() / "b");
  }

  Ended validate(const std::string& arguments) const {
    return shell(place_, "spillway validate --profile server.json " + arguments);
  }
  /// Starts `validate`, sends `signal` once its files are there; what is left in `a` is in `out`,
  /// with its exit code in front.
  Ended interrupted(const std::string& signal) const {
    return shell(place_,
                 "spillway validate --profile server.json --on a --pace paced_small >/dev/null &\n"
                 "child=$!\n"
                 "for try in $(seq 1000); do ls a/spillway.*/*.data && break; sleep 0.02; done "
                 ">/dev/null 2>&1\n"
                 "kill -" +
                     signal + " $child; wait $child; echo $?; ls a");
  }
  bool is_empty(const std::string& directory) const {
    return std::filesystem::is_empty(place_.path() / directory);
  }
  const Workplace& place() const { return place_; }

 private:
  Workplace place_;
};

}  // namespace spillway::e2e
