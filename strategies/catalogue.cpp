#include "strategies/catalogue.hpp"

#include "strategies/streaming.hpp"
#include "strategies/systems.hpp"

namespace spillway::strategies {

namespace {

constexpr System systems[] = {
    {"resident", "everything on the GPU; keep or recompute activations",
     "Megatron-LM (arXiv 1909.08053); ZeRO (SC'20)", resident_defaults, train_streaming,
     streaming_numerics},
    {"zero_offload", "weights, gradients and optimizer states in host memory, Adam on the CPU",
     "ZeRO-Offload (USENIX ATC'21); DeepSpeed ZeRO-3 with CPU offload", zero_offload_defaults,
     train_streaming, streaming_numerics},
    {"zero_infinity", "weights, gradients and optimizer states on SSD, Adam on the CPU",
     "ZeRO-Infinity (SC'21); DeepSpeed ZeRO-3 with NVMe offload", zero_infinity_defaults,
     train_streaming, streaming_numerics},
    {"memascend",
     "ZeRO-Infinity with half its host memory: pool by shape, exact pinning, direct I/O",
     "MemAscend (see its section IV)", memascend_defaults, train_streaming, streaming_numerics},
    {"mlp_offload", "optimizer states over several storage paths, sub-groups cached in host memory",
     "MLP-Offload (SC'25)", mlp_offload_defaults, train_streaming, streaming_numerics},
    {"lohan",
     "states on SSD, gradients updated as they come, activations swapped as the whole step is best",
     "LoHan (see its section IV)", lohan_defaults, train_streaming, streaming_numerics},
};

}  // namespace

std::span<const System> catalogue() { return systems; }

const System* find_system(const std::string& name) {
  for (const System& system : systems)
    if (name == system.name) return &system;
  return nullptr;
}

}  // namespace spillway::strategies
