// Our engine beside fio, on the same file with the same blocks, depth and O_DIRECT; and a file per
// tensor beside one file for all. README.md has the bar and the figures.

#include "hw_backend/storage/open_engine.hpp"
#include "hw_backend/storage/store_directory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

namespace spillway::hw_backend {
namespace {

using Clock = std::chrono::steady_clock;
using Buffer = std::unique_ptr<std::byte, void (*)(void*)>;

constexpr std::uint64_t block = 1 << 20;
constexpr unsigned depth = 32;
constexpr std::uint64_t file_bytes = std::uint64_t{2} << 30;
constexpr std::uint64_t tensor_bytes = 64 << 20;
constexpr std::uint64_t tensors = 16;

struct Settings {
  std::filesystem::path directory = ".";
  double seconds = 3;
  int rounds = 5;
};

struct Pattern {
  const char* name;
  const char* fio;
  bool reads, writes;
};
constexpr Pattern patterns[] = {
    {"read", "read", true, false}, {"write", "write", false, true}, {"mixed", "rw", true, true}};

double since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Memory in huge pages: scattered ones of 4 KiB cost more than half of a read's rate, whoever
/// reads.
Buffer pages(std::uint64_t bytes) {
  constexpr std::uint64_t huge_page = 2 << 20;
  Buffer memory(static_cast<std::byte*>(std::aligned_alloc(huge_page, bytes)), std::free);
  madvise(memory.get(), bytes, MADV_HUGEPAGE);
  std::fill_n(memory.get(), bytes, std::byte{1});
  return memory;
}

/// Ends what is in flight; the tags in the order they came back.
std::vector<void*> ended(IoEngine& engine) {
  std::vector<void*> tags;
  for (const Completion& completion : engine.wait({})) {
    if (completion.error) std::rethrow_exception(completion.error);
    tags.push_back(completion.tag);
  }
  return tags;
}

/// Bytes per second of transfers of one block, one after the other through the file, `depth` of
/// them in flight; reads and writes by turns where the pattern has both.
double ours(Target& target, const Pattern& pattern, double seconds) {
  UringEngine engine({.queue_depth = depth, .block_size = block});
  const Buffer memory = pages(depth * block);
  engine.register_memory(memory.get(), depth * block);
  engine.attach(target);
  std::uint64_t next[2] = {0, 0};
  std::uint64_t moved = 0;
  bool write = !pattern.reads;
  const auto submit = [&](void* tag) {
    std::uint64_t& offset = next[write ? 1 : 0];
    engine.submit({&target, write, offset, static_cast<std::byte*>(tag), block, tag});
    offset = (offset + block) % target.size();
    moved += block;
    if (pattern.reads && pattern.writes) write = !write;
  };
  const auto begun = Clock::now();
  for (unsigned i = 0; i < depth; ++i) submit(memory.get() + i * block);
  while (engine.in_flight() > 0) {
    for (void* tag : ended(engine)) {
      if (since(begun) < seconds) submit(tag);
    }
  }
  const double rate = static_cast<double>(moved) / since(begun);
  engine.detach(target);
  return rate;
}

/// fio's bytes per second for the same; its memory is malloc's, which the C library is told to ask
/// huge pages for.
double fios(const std::filesystem::path& file, const Pattern& pattern, double seconds) {
  const std::string command = fmt::format(
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 fio --name=bench --filename='{}' --rw={} --bs={} "
      "--iodepth={} --direct=1 "
      "--ioengine=io_uring --fixedbufs=1 --registerfiles=1 --size={} --time_based "
      "--runtime={}s --allow_file_create=0 --output-format=json",
      file.string(), pattern.fio, block, depth, file_bytes, seconds);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char buffer[4096];
  for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) {
    text.append(buffer, got);
  }
  const auto job = nlohmann::json::parse(text.substr(text.find('{'))).at("jobs").at(0);
  const double moved =
      job.at("read").at("io_bytes").get<double>() + job.at("write").at("io_bytes").get<double>();
  const double ms = std::max(job.at("read").at("runtime").get<double>(),
                             job.at("write").at("runtime").get<double>());
  return moved / ms * 1000;
}

void beside_fio(StoreDirectory& store, const Settings& settings) {
  const auto file = store.create("bench", file_bytes);
  // First of all every block gets data: one that was only allocated costs the file system more.
  const Buffer memory = pages(tensor_bytes);
  UringEngine engine({.queue_depth = depth, .block_size = block});
  for (std::uint64_t at = 0; at < file_bytes; at += tensor_bytes) {
    engine.submit({&file->target(), true, at, memory.get(), tensor_bytes, nullptr});
    ended(engine);
  }
  std::cout << fmt::format(
                   "{}, 2 GiB, blocks of 1 MiB, depth {}, {}; medians of {} rounds of {} s\n",
                   settings.directory.string(), depth,
                   file->target().direct() ? "O_DIRECT" : "page cache", settings.rounds,
                   settings.seconds)
            << fmt::format("{:8}{:>14}{:>14}{:>10}   by round\n", "", "fio, MB/s", "ours, MB/s",
                           "ratio");
  for (const Pattern& pattern : patterns) {
    std::vector<double> fio, own, ratios;
    std::string each;
    for (int round = 0; round < settings.rounds; ++round) {
      // Who goes first alternates too: drives and hosts change while they are looked at.
      if (round % 2 == 0) fio.push_back(fios(file->path(), pattern, settings.seconds));
      own.push_back(ours(file->target(), pattern, settings.seconds));
      if (round % 2 == 1) fio.push_back(fios(file->path(), pattern, settings.seconds));
      ratios.push_back(own.back() / fio.back());
      each += fmt::format(" {:.3f}", ratios.back());
    }
    std::cout << fmt::format("{:8}{:14.0f}{:14.0f}{:10.3f}  {}\n", pattern.name, median(fio) / 1e6,
                             median(own) / 1e6, median(ratios), each)
              << std::flush;
  }
}

/// Seconds to write, or to read, every tensor, two in flight.
double pass(std::vector<Transfer> transfers, bool write) {
  UringEngine engine({.queue_depth = depth, .block_size = block});
  const auto begun = Clock::now();
  for (Transfer& transfer : transfers) {
    transfer.write = write;
    engine.submit(transfer);
    if (engine.in_flight() >= 2) ended(engine);
  }
  while (engine.in_flight() > 0) ended(engine);
  return since(begun);
}

void files_beside_one(StoreDirectory& store, const Settings& settings) {
  const Buffer memory = pages(2 * tensor_bytes);
  const auto begun = Clock::now();
  std::vector<std::unique_ptr<StoreFile>> files;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    files.push_back(store.create("tensor" + std::to_string(i), tensor_bytes));
  }
  const double made_s = since(begun);
  const auto one = store.create("all", tensors * tensor_bytes);
  std::vector<Transfer> of_files, of_one;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    std::byte* half = memory.get() + i % 2 * tensor_bytes;
    of_files.push_back({&files[i]->target(), true, 0, half, tensor_bytes, nullptr});
    of_one.push_back({&one->target(), true, i * tensor_bytes, half, tensor_bytes, nullptr});
  }
  std::vector<double> rates[4];
  for (int round = -1; round < settings.rounds; ++round) {
    const double seconds[] = {pass(of_files, true), pass(of_one, true), pass(of_files, false),
                              pass(of_one, false)};
    for (int i = 0; round >= 0 && i < 4; ++i) {
      rates[i].push_back(static_cast<double>(tensors * tensor_bytes) / seconds[i]);
    }
  }
  std::cout << fmt::format("\n{} tensors of 64 MiB, two in flight; {:.1f} ms to make a file each\n",
                           tensors, made_s * 1e3)
            << fmt::format("{:8}{:>14}{:>14}{:>10}\n", "", "file, MB/s", "direct, MB/s", "ratio");
  const char* names[] = {"write", "read"};
  for (int i = 0; i < 2; ++i) {
    const double file = median(rates[2 * i]), direct = median(rates[2 * i + 1]);
    std::cout << fmt::format("{:8}{:14.0f}{:14.0f}{:10.3f}\n", names[i], file / 1e6, direct / 1e6,
                             file / direct);
  }
}

}  // namespace
}  // namespace spillway::hw_backend

int main(int count, char** arguments) {
  spillway::hw_backend::Settings settings;
  if (count > 1) settings.directory = arguments[1];
  if (count > 2) settings.seconds = std::atof(arguments[2]);
  if (count > 3) settings.rounds = std::atoi(arguments[3]);
  try {
    spillway::hw_backend::StoreDirectory store(settings.directory);
    beside_fio(store, settings);
    files_beside_one(store, settings);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
