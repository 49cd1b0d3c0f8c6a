#include "hw_backend/storage/transfer_queue.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace spillway::hw_backend {
namespace {

constexpr std::uint64_t page = 4096;

}  // namespace

TransferQueue::TransferQueue(unsigned queue_depth, std::uint64_t block_size)
    : queue_depth_(queue_depth), block_size_(block_size) {
  ENSURE(queue_depth > 0, "a queue depth of 0 moves nothing");
  ENSURE(block_size > 0 && block_size % page == 0 && block_size <= (1u << 30),
         "a block is a multiple of 4096 bytes, up to 1 GiB");
}

TransferQueue::~TransferQueue() {
  for (std::byte* bounce : bounces_) std::free(bounce);
}

Moving& TransferQueue::add(const Transfer& transfer) {
  auto moving = std::make_unique<Moving>();
  moving->transfer = transfer;
  Moving& added = *moving;
  moving_.emplace(&added, std::move(moving));
  lanes_[transfer.target->device()].waiting.push_back(&added);
  return added;
}

void TransferQueue::fill(const RegisteredMemory& registered,
                         const std::function<void(Request&)>& make) {
  for (auto& [device, lane] : lanes_) {
    std::size_t held_up = 0;
    while (lane.in_kernel < queue_depth_ && held_up < lane.waiting.size()) {
      Moving& moving = *lane.waiting.front();
      lane.waiting.pop_front();
      if (moving.all_handed_out()) continue;
      Request* request = hand_out(moving, registered);
      if (!moving.all_handed_out()) lane.waiting.push_back(&moving);
      if (!request) {
        ++held_up;
        continue;
      }
      held_up = 0;
      ++lane.in_kernel;
      make(*request);
    }
  }
}

/// Null while another partial write holds the sector.
Request* TransferQueue::hand_out(Moving& moving, const RegisteredMemory& registered) {
  const Transfer& transfer = moving.transfer;
  const Piece piece = next_piece(transfer, moving.handed_out, block_size_, registered);
  const bool reads_first = transfer.write && piece.partial();
  if (reads_first && !partial_.emplace(transfer.target, piece.offset).second) return nullptr;
  if (free_requests_.empty()) free_requests_.push_back(&requests_.emplace_back());
  Request* request = free_requests_.back();
  free_requests_.pop_back();
  *request = Request{.owner = &moving, .piece = piece, .reads_first = reads_first};
  if (piece.bounced) {
    request->bounce = take_bounce();
    if (transfer.write && !reads_first) {
      std::copy_n(piece.memory, piece.wanted, request->bounce);
    }
  }
  moving.handed_out += piece.wanted;
  ++moving.in_kernel;
  ++in_kernel_;
  return request;
}

void TransferQueue::retire(Request& request) {
  Moving& moving = *request.owner;
  const Transfer& transfer = moving.transfer;
  if (request.bounce) {
    const bool complete = request.done == request.piece.bytes;
    if (!transfer.write && complete) {
      std::copy_n(request.bounce + request.piece.skip, request.piece.wanted, request.piece.memory);
    }
    free_bounces_.push_back(request.bounce);
  }
  if (transfer.write && request.piece.partial()) {
    partial_.erase({transfer.target, request.piece.offset});
  }
  --moving.in_kernel;
  --in_kernel_;
  --lanes_.at(transfer.target->device()).in_kernel;
  request = {};
  free_requests_.push_back(&request);
}

void TransferQueue::remove(Moving& moving) {
  std::erase(lanes_.at(moving.transfer.target->device()).waiting, &moving);
  moving_.erase(&moving);
}

void TransferQueue::drop_waiting() {
  for (auto& [device, lane] : lanes_) lane.waiting.clear();
  std::erase_if(moving_, [](const auto& entry) { return entry.second->in_kernel == 0; });
}

std::vector<Request*> TransferQueue::requests() {
  std::vector<Request*> out;
  for (Request& request : requests_) {
    if (request.owner) out.push_back(&request);
  }
  return out;
}

std::byte* TransferQueue::take_bounce() {
  if (free_bounces_.empty()) {
    auto* bounce = static_cast<std::byte*>(std::aligned_alloc(page, block_size_));
    if (!bounce) throw std::bad_alloc();
    bounces_.push_back(bounce);
    free_bounces_.push_back(bounce);
  }
  std::byte* bounce = free_bounces_.back();
  free_bounces_.pop_back();
  return bounce;
}

}  // namespace spillway::hw_backend
