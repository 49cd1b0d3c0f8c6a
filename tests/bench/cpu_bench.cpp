#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hw_backend/cpu/conversion.hpp"
#include "hw_backend/cpu/kernels.hpp"
#include "hw_backend/cpu/optimizer_step.hpp"
#include "hw_backend/cpu/overflow_check.hpp"

// Each kernel against copies of as many bytes, in turn and on the same threads. README.md has the
// bars and the figures.

namespace {

using namespace spillway::hw_backend;

/// Memory from the system, untouched. Without `huge` its pages are as small as most allocators'.
class Pages {
 public:
  explicit Pages(std::size_t bytes, bool huge = true) : bytes_(bytes) {
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(at);
    if (huge) madvise(data_, bytes_, MADV_HUGEPAGE);
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Numbers that every type holds without overflow, and sums of them too.
void fill(std::byte* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / 4; ++i) {
    const std::uint32_t bits = 0x2C002C00u + static_cast<std::uint32_t>(i % 512) * 0x10001u;
    std::memcpy(data + i * 4, &bits, sizeof bits);
  }
}

/// What a row of the table measures: `bytes` are read and written together.
struct Row {
  std::string name;
  std::size_t bytes;
  std::function<void()> work;
  bool only_reads = false;
};

struct Arena {
  std::size_t n;
  Pages memory{n * 40};
  std::byte* at(std::size_t bytes_per_element) const {
    return memory.data() + n * bytes_per_element;
  }
};

/// How fast this machine moves as many bytes, one piece for each thread: by memcpy, by copies past
/// the caches, and for kernels that write nothing, by comparing two equal halves with memcmp.
struct References {
  std::vector<double> plain, streamed, read;

  void measure(const Arena& arena, const Row& row, Team& team) {
    const std::size_t half = row.bytes / 2;
    const std::size_t piece = half / team.threads() & ~std::size_t(4095);
    const auto each = [&](auto work) {
      return seconds_of([&] {
        team.run(team.threads(), [&](std::size_t part) {
          work(arena.at(20) + part * piece, arena.at(0) + part * piece, piece);
        });
      });
    };
    using Bytes = std::byte;
    plain.push_back(each([](Bytes* into, const Bytes* from, std::size_t length) {
      std::memcpy(into, from, length);
    }));
    streamed.push_back(each(kernels(team.isa()).copy));
    if (!row.only_reads) return;
    read.push_back(each([](const Bytes* one, const Bytes* other, std::size_t length) {
      if (std::memcmp(one, other, length) != 0) std::abort();
    }));
  }
};

void measure(const Row& row, const Arena& arena, int rounds, Team& team) {
  References references;
  std::vector<double> own;
  for (int round = 0; round < rounds; ++round) {
    references.measure(arena, row, team);
    own.push_back(seconds_of(row.work));
  }
  const double gigabytes = static_cast<double>(row.bytes) / 1e9;
  const auto rate = [&](const std::vector<double>& times) { return gigabytes / median(times); };
  const auto& best =
      rate(references.plain) > rate(references.streamed) ? references.plain : references.streamed;
  std::vector<double> ratios;  // of neighbours in time: other work on the machine slows both
  for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(best[i] / own[i]);
  fmt::print("{:<38}{:>8.2f}{:>8.1f}{:>9.1f}{:>9.1f}{:>9}{:>8.2f}\n", row.name, median(own) * 1e3,
             rate(own), rate(references.plain), rate(references.streamed),
             row.only_reads ? fmt::format("{:.1f}", rate(references.read)) : "", median(ratios));
  std::fflush(stdout);
}

std::vector<Row> rows(const Arena& arena, Team& team) {
  constexpr auto fp32 = Element::fp32, fp16 = Element::fp16, bf16 = Element::bf16;
  const std::size_t n = arena.n;
  AdamNumbers numbers;
  numbers.learning_rate = 1e-5;
  const auto step = [&, n, numbers](Element state, Element gradient,
                                    std::optional<Element> weight) {
    AdamArrays arrays{{arena.at(0), state},     {arena.at(4), state}, {arena.at(8), state},
                      {arena.at(12), gradient}, std::nullopt,         n};
    if (weight) arrays.weight = Array{arena.at(16), *weight};
    return [arrays, numbers, &team] { adam(arrays, numbers, team); };
  };
  const auto change = [&, n](Element into, Element from) {
    return [&arena, &team, into, from, n] {
      convert({arena.at(20), into}, {arena.at(0), from}, n, team);
    };
  };
  const auto check = [&, n](Element type) {
    return [&arena, &team, type, n] {
      if (check_fused({arena.at(0), type}, n * 40 / size_of(type), team)) std::abort();
    };
  };
  return {
      {"adam fp32, gradient and weight fp16", 28 * n, step(fp32, fp16, fp16)},
      {"adam fp32, gradient fp32, weight bf16", 30 * n, step(fp32, fp32, bf16)},
      {"adam fp32, no other weight", 28 * n, step(fp32, fp32, std::nullopt)},
      {"adam bf16, gradient bf16", 14 * n, step(bf16, bf16, std::nullopt)},
      {"sgd fp32, gradient and weight fp16", 12 * n,
       [&, n] {
         sgd({{arena.at(0), fp32}, {arena.at(12), fp16}, Array{arena.at(16), fp16}, n}, {}, team);
       }},
      {"convert fp32 to fp16", 6 * n, change(fp16, fp32)},
      {"convert fp32 to bf16", 6 * n, change(bf16, fp32)},
      {"convert fp16 to fp32", 6 * n, change(fp32, fp16)},
      {"convert bf16 to fp32", 6 * n, change(fp32, bf16)},
      {"convert fp16 to bf16", 4 * n, change(bf16, fp16)},
      {"add fp32 += fp32", 12 * n,
       [&, n] {
         add({arena.at(0), fp32}, {arena.at(0), fp32}, {arena.at(4), fp32}, n, team);
       }},
      {"add fp32 += fp16", 10 * n,
       [&, n] {
         add({arena.at(0), fp32}, {arena.at(0), fp32}, {arena.at(12), fp16}, n, team);
       }},
      {"add bf16 = bf16 + bf16", 6 * n,
       [&, n] {
         add({arena.at(20), bf16}, {arena.at(0), bf16}, {arena.at(4), bf16}, n, team);
       }},
      {"copy", 8 * n, [&, n] { copy(arena.at(20), arena.at(0), 4 * n, team); }},
      {"check fused fp32", 40 * n, check(fp32), true},
      {"check fused fp16", 40 * n, check(fp16), true},
  };
}

/// The fused check against the chained one on as many threads, each with a rank's share of its own.
/// `fresh` temporaries come from the system for every check, as the chain allocates them.
void compare_checks(const Arena& arena, int rounds, Team& team, bool fresh) {
  const std::size_t share = arena.n / team.threads();
  fill(arena.at(0), arena.n * 40);
  std::vector<double> chained, fused;
  for (int round = 0; round < rounds; ++round) {
    chained.push_back(seconds_of([&] {
      team.run(team.threads(), [&](std::size_t part) {
        const ConstArray values(arena.at(0) + part * share * 4, Element::fp32);
        if (fresh) {
          const Pages temporaries(share * 5, false);
          std::byte* const memory = temporaries.data();
          if (check_chained(values, share, {memory, Element::fp32}, memory + share * 4)) {
            std::abort();
          }
        } else {
          std::byte* const memory = arena.at(20) + part * share * 5;
          if (check_chained(values, share, {memory, Element::fp32}, memory + share * 4)) {
            std::abort();
          }
        }
      });
    }));
    fused.push_back(seconds_of([&] {
      if (check_fused({arena.at(0), Element::fp32}, arena.n, team)) std::abort();
    }));
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < fused.size(); ++i) ratios.push_back(fused[i] / chained[i]);
  const double ratio = median(ratios);
  fmt::print("check fp32, {} temporaries: fused {:.2f} ms, chained {:.2f} ms, {:.1f} %{}\n",
             fresh ? "fresh" : "kept", median(fused) * 1e3, median(chained) * 1e3, 100 * ratio,
             ratio <= 0.1 ? "" : "  above 10 %");
}

/// bench_cpu [threads [million elements [rounds [instruction set [part of a row's name]]]]]
int run(std::span<char*> arguments) {
  const auto number = [&](std::size_t i, std::size_t otherwise) {
    return arguments.size() > i ? std::strtoull(arguments[i], nullptr, 10) : otherwise;
  };
  const std::size_t threads = number(1, usable_cores());
  const Arena arena{number(2, 64) << 20};
  const int rounds = static_cast<int>(number(3, 21));
  Isa isa = best_isa();
  for (const Isa candidate : available_isas()) {
    if (arguments.size() > 4 && to_string(candidate) == arguments[4]) isa = candidate;
  }
  Team team(threads, isa);
  std::string load;
  std::getline(std::ifstream("/proc/loadavg"), load);
  fmt::print("{} threads of {}, {}, {} M elements, median of {} rounds, load {}\n", threads,
             usable_cores(), to_string(isa), arena.n >> 20, rounds, load);
  fmt::print("{:<38}{:>8}{:>8}{:>9}{:>9}{:>9}{:>8}\n", "", "ms", "GB/s", "memcpy", "streamed",
             "memcmp", "ratio");
  fill(arena.at(0), arena.n * 40);
  const std::string wanted = arguments.size() > 5 ? arguments[5] : "";
  for (const Row& row : rows(arena, team)) {
    if (row.name.find(wanted) == std::string::npos) continue;
    if (row.only_reads) fill(arena.at(0), arena.n * 40);
    measure(row, arena, rounds, team);
  }
  compare_checks(arena, rounds, team, false);
  compare_checks(arena, std::min(rounds, 11), team, true);
  return 0;
}

}  // namespace

int main(int count, char** arguments) { return run({arguments, static_cast<std::size_t>(count)}); }
