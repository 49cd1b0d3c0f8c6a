#pragma once

#include "scenarios/description/machine_file.hpp"

namespace spillway::strategies {

/// The least host memory of which a run may take `used`: with the machine's reserve, or with the
/// one that follows from the memory where the machine file states none.
description::Bytes host_memory_with(description::Bytes used,
                                    const description::MachineFile& machine);
/// The same of a GPU.
description::Bytes gpu_memory_with(description::Bytes used,
                                   const description::MachineFile& machine);

}  // namespace spillway::strategies
