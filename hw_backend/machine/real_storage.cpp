#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/machine/real_machine.hpp"
#include "hw_backend/machine/real_operation.hpp"
#include "hw_backend/machine/real_work.hpp"
#include "hw_backend/storage/io_error.hpp"
#include "strategies/memory/extents.hpp"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>

/// Memory and storage of the real machine.
namespace spillway::hw_backend {

using strategies::Block;
using strategies::Purpose;
using strategies::TierId;

namespace {

/// Entries of the ledger that stand for what the process or a driver has anyway.
bool is_of_the_process(Purpose purpose) {
  return purpose == Purpose::process_base || purpose == Purpose::runtime_base ||
         purpose == Purpose::context;
}

/// Whole blocks around a transfer: its ends are read and written with their neighbours.
void require_inside(const RawDevice& raw, const Transfer& transfer) {
  const std::uint64_t block = raw.alignment();
  const std::uint64_t first = transfer.offset / block * block;
  const std::uint64_t last = (transfer.offset + transfer.bytes + block - 1) / block * block;
  raw.require_inside(first, last - first);
}

}  // namespace

void RealMachine::open_storages() {
  const auto& storages = topology().storages;
  ENSURE(options_.storages.size() == storages.size(), "a place for every storage");
  for (std::size_t i = 0; i < storages.size(); ++i) {
    Storage& storage = storages_.emplace_back();
    const RealStorage& place = options_.storages[i];
    const description::StorageSpec& spec = scenario_.machine.storage[i];
    const bool direct = scenario_.strategy.io_engine == description::IoEngine::direct &&
                        spec.kind == description::StorageKind::ssd;
    ENSURE((place.raw ? 1 : place.directories.size()) == storages[i].drives, "a place a drive");
    ENSURE(!place.raw || direct, "a raw device without files");
    for (const auto& directory : place.directories)
      storage.directories.push_back(
          std::make_unique<StoreDirectory>(directory, std::uint64_t{1} << 30, stop_if_interrupted));
    if (!direct) continue;
    if (place.raw) open_raw(storage, *place.raw, spec.capacity.value());
    for (auto& directory : storage.directories) {
      storage.files.push_back(directory->create("drive.data", spec.capacity.value()));
      storage.drives.push_back(&storage.files.back()->target());
    }
    for (Target* drive : storage.drives) engine_.attach(*drive);
  }
}

void RealMachine::open_raw(Storage& storage, const RawDevice& raw, std::uint64_t capacity) {
  ENSURE(capacity <= raw.size(), "a storage larger than its disk");
  Descriptor fd(fcntl(raw.fd(), F_DUPFD_CLOEXEC, 0));
  if (!fd) throw io_error("fcntl", errno, raw.name());
  storage.raw = &raw;
  storage.disk =
      std::make_unique<Target>(std::move(fd), raw.name(), Access::read_write, true, raw.size());
  storage.drives.push_back(storage.disk.get());
}

// ---- Memory

/// What the ledger has for buffers, and a physical grain more: blocks of no whole units are
/// rounded.
void RealMachine::open_arenas() {
  constexpr std::uint64_t grain = 2u << 20;
  const std::uint64_t context = scenario_.machine.gpu.context.value();
  for (const std::unique_ptr<Device>& device : devices_) {
    if (device->shares_host()) continue;
    if (devices_.size() > 1) device->meet(devices_);
    if (!options_.synthetic)
      device->reserve([this](Primitives& primitives) { go_through(primitives, lowering_); });
  }
  for (std::uint32_t rank = 0; rank < devices_.size(); ++rank) {
    std::unique_ptr<DeviceArena>& arena = arenas_.emplace_back();
    if (devices_[rank]->shares_host()) continue;
    const strategies::Usage gpu = usage(TierId::gpu, strategies::Rank{rank});
    const std::uint64_t all = std::min(gpu.used + gpu.free, devices_[rank]->available() + context);
    arena = std::make_unique<DeviceArena>(*devices_[rank], all - std::min(all, context) + grain);
    engine_.register_device_memory(static_cast<int>(rank), arena->base(), arena->bytes());
  }
}

std::byte* RealMachine::provide(Block& block) {
  if (block.tier == TierId::storage) {
    place_extent(block);
    return nullptr;
  }
  if (is_of_the_process(block.purpose) || block.charged == 0) return nullptr;
  if (block.tier == TierId::gpu && arenas_[block.rank.index])
    return arenas_[block.rank.index]->take(block.charged);
  real_bytes_ += block.charged;
  ledger_most_ = std::max(ledger_most_, real_bytes_);
  if (block.tier == TierId::gpu) return devices_[block.rank.index]->allocate(block.charged);
  if (block.tier == TierId::pageable) return pageable_.take(block.charged);
  locked_bytes_ += block.charged;
  std::byte* memory = pinned_.take(block.charged);
  // what comes and goes during steps would be registered again each time
  if (!set_up_) {
    engine_.register_memory(memory, block.charged);
    registered_.insert(memory);
  }
  return memory;
}

void RealMachine::withdraw(Block& block) {
  if (block.tier == TierId::storage) return give_up_extent(block);
  if (!block.data) return;
  if (block.tier == TierId::gpu && arenas_[block.rank.index]) {
    if (!memory_lost_) arenas_[block.rank.index]->give_back(block.data, block.charged);
    return;
  }
  real_bytes_ -= block.charged;
  if (block.tier == TierId::pinned) locked_bytes_ -= block.charged;
  if (memory_lost_) return;
  if (block.tier == TierId::gpu) return devices_[block.rank.index]->free(block.data, block.charged);
  if (block.tier == TierId::pageable) return pageable_.give_back(block.data, block.charged);
  if (registered_.erase(block.data)) engine_.unregister_memory(block.data);
  pinned_.give_back(block.data, block.charged);
}

float RealMachine::fetch(const strategies::View& view) {
  return devices_[view.block->rank.index]->fetch(view.data());
}

// ---- Extents

/// Where the block's bytes lie, in order: parts of the drives that the allocator found, or files of
/// its own, one a drive.
void RealMachine::place_extent(Block& block) {
  Placed& placed = placed_[&block];
  for (const strategies::StoredPiece& piece : block.pieces) {
    Storage& storage = storages_[piece.storage.index];
    for (const strategies::Extent& extent : piece.extents)
      placed.segments.push_back(
          {storage.drives[extent.drive], extent.offset, extent.bytes, piece.storage.index});
    if (!piece.extents.empty()) continue;
    const std::uint64_t drives = storage.directories.size();
    for (const strategies::Part& part :
         strategies::parts_of(piece.capacity.amount(), drives, drives)) {
      placed.files.push_back(storage.directories[part.drive]->create(
          "tensor." + std::to_string(next_file_++), part.bytes,
          scenario_.strategy.io_engine != description::IoEngine::buffered));
      engine_.attach(placed.files.back()->target());
      placed.segments.push_back(
          {&placed.files.back()->target(), 0, part.bytes, piece.storage.index});
    }
  }
}

void RealMachine::give_up_extent(const Block& block) {
  const auto found = placed_.find(&block);
  if (found == placed_.end()) return;
  for (const Segment& segment : found->second.segments)
    engine_.forget(*segment.target, segment.offset, segment.bytes);
  for (const auto& file : found->second.files) engine_.detach(file->target());
  placed_.erase(found);
}

void RealMachine::start_transfer(RealOperation& operation) {
  const bool write = operation.kind == strategies::OperationKind::write;
  const strategies::View& memory = operation.operands[0].view;
  const strategies::View& range = operation.operands[1].view;
  const strategies::Block& block = *memory.block.get();
  const bool elsewhere = block.tier == TierId::gpu && !devices_[block.rank.index]->shares_host();
  const int device = elsewhere ? static_cast<int>(block.rank.index) : -1;
  operation.failure = nullptr;
  under_way_.insert(&operation);
  operation.parts_left = transfer(operation, write, *range.block.get(), {range.offset, range.bytes},
                                  memory.data(), device);
}

/// Submits what moves between memory and a range of an extent.
///   Result  transfers, which come back with the operation
std::size_t RealMachine::transfer(RealOperation& operation, bool write, const Block& extent,
                                  strategies::Range range, std::byte* memory, int device) {
  const auto placed = placed_.find(&extent);
  ENSURE(placed != placed_.end(), "a transfer of an extent that lies nowhere");
  const std::uint64_t end = range.offset + range.bytes;
  std::vector<Transfer> transfers;
  std::uint64_t before = 0;  // bytes of the extent in the segments so far
  for (const Segment& segment : placed->second.segments) {
    const std::uint64_t first = std::max(before, range.offset);
    const std::uint64_t last = std::min(before + segment.bytes, end);
    if (first < last) {
      transfers.push_back({segment.target, write, segment.offset + first - before,
                           memory + (first - range.offset), last - first, &operation, device});
      Storage& storage = storages_[segment.storage];
      if (storage.raw) require_inside(*storage.raw, transfers.back());
      (write ? storage.written : storage.read) += last - first;
    }
    before += segment.bytes;
  }
  ENSURE(!transfers.empty() && before >= end, "a transfer beyond its extent");
  for (const Transfer& transfer : transfers) engine_.submit(transfer);
  return transfers.size();
}

std::pair<std::uint64_t, std::uint64_t> RealMachine::moved(std::size_t storage) const {
  return {storages_.at(storage).read, storages_.at(storage).written};
}

}  // namespace spillway::hw_backend
