#pragma once

#include "scenarios/description/errors.hpp"

#include <string_view>

namespace spillway::hw_backend {

/// "write: /mnt/a/0.data, 4096 bytes at 8192: EIO (Input/output error); <remedy>"
///   code  as errno has it, positive
description::DeviceError io_error(std::string_view call, int code, std::string_view device,
                                  std::string_view remedy = {});

}  // namespace spillway::hw_backend
