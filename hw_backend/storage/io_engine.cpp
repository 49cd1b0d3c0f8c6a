#include "hw_backend/storage/io_engine.hpp"

#include "scenarios/description/errors.hpp"

#include <fmt/format.h>

namespace spillway::hw_backend {

std::string to_string(const Transfer& transfer) {
  return fmt::format("{} {}, {} bytes at {}", transfer.write ? "write" : "read",
                     transfer.target->name(), transfer.bytes, transfer.offset);
}

void check_transfer(const Transfer& transfer) {
  const Target& target = *transfer.target;
  ENSURE(transfer.bytes <= target.size() && transfer.offset <= target.size() - transfer.bytes,
         to_string(transfer) + " is past the end of a target of " + std::to_string(target.size()));
  ENSURE(!transfer.write || target.writable(),
         to_string(transfer) + " to a target opened for reading");
}

}  // namespace spillway::hw_backend
