#pragma once

#include "models/program/formats.hpp"
#include "strategies/machine/machine.hpp"

/// The CPU work that parts issue, with its DRAM traffic.
namespace spillway::strategies {

/// Zeros.
///   Traffic   what is written
inline CpuKernel zeros(View into) {
  CpuKernel kernel;
  kernel.work = CpuWork::initialize;
  kernel.elements = into.bytes / 4;
  kernel.traffic = into.bytes;
  kernel.operands.emplace_back(std::move(into), models::Access::write);
  return kernel;
}

/// First values of a weight from `first_element` on, as the weight itself or as its master.
///   Traffic   what is written
inline CpuKernel first_values(View into, ElementType type, Role role, std::uint32_t weight,
                              std::uint64_t first_element) {
  CpuKernel kernel = zeros(into);
  kernel.elements = into.bytes * 8 / description::bits_of(type);
  kernel.first_element = first_element;
  kernel.operands.front().role = role;
  kernel.operands.front().type = type;
  kernel.operands.front().index = weight;
  return kernel;
}

/// A checkpoint takes `elements` elements of a weight, from `first_element` on: of its master, or
/// of the weight where that is its own.
///   Traffic   what is read
inline CpuKernel checkpointed(View from, ElementType type, std::uint32_t weight,
                              std::uint64_t elements, std::uint64_t first_element) {
  CpuKernel kernel;
  kernel.work = CpuWork::checkpoint;
  kernel.elements = elements;
  kernel.traffic = from.bytes;
  kernel.first_element = first_element;
  kernel.operands.emplace_back(std::move(from), models::Access::read, Role::master, type, weight);
  return kernel;
}

/// The first writes to memory that the system has just given; what they leave there is not said.
///   Traffic   what is written
inline CpuKernel touched(View into) {
  CpuKernel kernel;
  kernel.work = CpuWork::touch;
  kernel.elements = into.bytes / 4;
  kernel.traffic = into.bytes;
  kernel.operands.emplace_back(std::move(into), models::Access::write);
  return kernel;
}

/// What a conversion reads or writes.
struct Converted {
  View view;
  ElementType type;
  Converted(View what, ElementType of) : view(std::move(what)), type(of) {}
};

/// Change of element type; `add`: into what is there, which is no conversion where both are fp32.
///   Traffic   read from + written to (+ read to, when adding)
inline CpuKernel convert(Converted into, Converted from, std::uint64_t elements, bool add) {
  CpuKernel kernel;
  const bool wide = into.type == ElementType::fp32 && from.type == ElementType::fp32;
  kernel.work = add && wide ? CpuWork::add : CpuWork::convert;
  kernel.elements = elements;
  kernel.traffic = models::NumberFormat(from.type).bytes(elements) +
                   models::NumberFormat(into.type).bytes(elements) * (add ? 2 : 1);
  kernel.operands.emplace_back(std::move(into.view),
                               add ? models::Access::read_write : models::Access::write,
                               Role::output, into.type, 0);
  kernel.operands.emplace_back(std::move(from.view), models::Access::read, Role::input, from.type,
                               0);
  return kernel;
}

/// Arrays times one number, in place.
///   Traffic   what is read and written
inline CpuKernel scaled(const std::vector<Converted>& arrays) {
  CpuKernel kernel;
  kernel.work = CpuWork::scale;
  for (std::uint32_t i = 0; i < arrays.size(); ++i) {
    kernel.elements += arrays[i].view.bytes * 8 / description::bits_of(arrays[i].type);
    kernel.traffic += 2 * arrays[i].view.bytes;
    kernel.operands.emplace_back(arrays[i].view, models::Access::read_write, Role::gradient,
                                 arrays[i].type, i);
  }
  return kernel;
}

}  // namespace spillway::strategies
