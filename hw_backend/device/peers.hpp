#pragma once

#include "hw_backend/device/device.hpp"

#include <algorithm>

namespace spillway::hw_backend {

/// Calls copy(std::byte* into, const std::byte* from, std::uint64_t bytes) for each piece that an
/// all_gather brings to its place; `into` may be `from`, where it lies already.
template <class Copy>
void copy_gathered(const PeerCall& call, Copy copy) {
  const std::uint64_t shard = call.bytes / call.in.size();
  for (std::byte* out : call.out)
    for (std::size_t member = 0; member < call.in.size(); ++member)
      copy(out + member * shard, call.in[member], shard);
}

/// Pieces of one length, a stride from one to the next.
struct Strided {
  std::byte* into = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;  ///< of a piece
  std::uint64_t pieces = 1;
  std::uint64_t into_stride = 0, from_stride = 0;
};

/// The same of an all_to_all whose parts differ: what all send to a member is as long as its part,
/// and lies there one behind the other, until it returns.
template <class Copy>
void copy_shares(const PeerCall& call, Copy copy) {
  const std::uint64_t members = call.parts.size();
  std::uint64_t before = 0;  // in the memory that holds a part of each member's
  for (std::uint64_t member = 0; member < members; ++member) {
    const std::uint64_t part = call.parts[member];
    for (std::uint64_t other = 0; other < members; ++other) {
      if (call.pieces.returns)
        copy(Strided{call.out[other] + before, call.in[member] + other * part, part});
      else
        copy(Strided{call.out[member] + other * part, call.in[other] + before, part});
    }
    before += part;
  }
}

/// Calls copy(const Strided&) for what an all_to_all brings to its place: part t of a member's
/// input is part f of the output of member t, if the member is number f. Of the two sides one has
/// as many pieces in each piece of the other as fit.
template <class Copy>
void copy_exchanged(const PeerCall& call, Copy copy) {
  if (!call.parts.empty()) return copy_shares(call, copy);
  const std::uint64_t members = call.in.size(), part = call.bytes / members;
  const std::uint64_t in = part / call.pieces.in, out = part / call.pieces.out;
  const std::uint64_t piece = std::min(in, out), longer = std::max(in, out);
  for (std::size_t to = 0; to < call.out.size(); ++to)
    for (std::size_t from = 0; from < members; ++from)
      for (std::uint64_t done = 0; done < part; done += longer)
        copy(Strided{call.out[to] + done * members + from * out,
                     call.in[from] + done * members + to * in, piece, longer / piece,
                     out == piece ? out * members : piece, in == piece ? in * members : piece});
}

/// The same of a ring_shift: what a member has goes to the one behind it, the last one's to the
/// first.
template <class Copy>
void copy_shifted(const PeerCall& call, Copy copy) {
  for (std::size_t from = 0; from < call.in.size(); ++from)
    copy(call.out[(from + 1) % call.out.size()], call.in[from], call.bytes);
}

/// A collective of devices whose memory the caller can read and write. Reductions add in fp32, in
/// rank order, and round once; an output may be its member's input.
void combine(const PeerCall& call);

}  // namespace spillway::hw_backend
