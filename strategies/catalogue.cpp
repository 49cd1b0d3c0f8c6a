#include "strategies/catalogue.hpp"

#include "strategies/planned.hpp"
#include "strategies/streaming.hpp"
#include "strategies/systems.hpp"

namespace spillway::strategies {

namespace {

constexpr System systems[] = {
    {"resident", "everything on the GPU; keep or recompute activations",
     "Megatron-LM (arXiv 1909.08053); ZeRO (SC'20)", Program::trainer, resident_defaults,
     train_streaming, streaming_numerics},
    {"zero_offload", "weights, gradients and optimizer states in host memory, Adam on the CPU",
     "ZeRO-Offload (USENIX ATC'21); DeepSpeed ZeRO-3 with CPU offload", Program::deepspeed,
     zero_offload_defaults, train_streaming, streaming_numerics},
    {"zero_infinity", "weights, gradients and optimizer states on SSD, Adam on the CPU",
     "ZeRO-Infinity (SC'21); DeepSpeed ZeRO-3 with NVMe offload", Program::deepspeed,
     zero_infinity_defaults, train_streaming, streaming_numerics},
    {"memascend",
     "ZeRO-Infinity with half its host memory: pool by shape, exact pinning, direct I/O",
     "MemAscend (see its section IV)", Program::none, memascend_defaults, train_streaming,
     streaming_numerics},
    {"mlp_offload", "optimizer states over several storage paths, sub-groups cached in host memory",
     "MLP-Offload (SC'25)", Program::authors, mlp_offload_defaults, train_streaming,
     streaming_numerics},
    {"lohan",
     "states on SSD, gradients updated as they come, activations swapped as the whole step is best",
     "LoHan (see its section IV)", Program::authors, lohan_defaults, train_streaming,
     streaming_numerics},
    {"ssdtrain", "activations to SSD through a cache of tensors; all else on the GPU",
     "SSDTrain (see its section III)", Program::authors, ssdtrain_defaults, train_streaming,
     streaming_numerics},
    {"teraio", "idle tensors leave the GPU for SSD and host as a plan from their lifetimes says",
     "TeraIO (see its sections 3 and 4)", Program::none, teraio_defaults, train_planned,
     planned_numerics},
    {"g10", "one memory of GPU, host and flash: tensors move where their way hides, early back",
     "G10 (MICRO'23), as LoHan's baseline", Program::none, g10_defaults, train_planned,
     planned_numerics},
    {"flashneuron",
     "activations to SSD until the rest fits, straight from the GPU, or by POSIX calls (file)",
     "FlashNeuron (FAST'21), as LoHan's baseline", Program::authors, flashneuron_defaults,
     train_streaming, streaming_numerics},
    {"capuchin", "activations kept, swapped to host memory or recomputed, by measured cost",
     "Capuchin (ASPLOS'20), as LoHan's baseline", Program::none, capuchin_defaults, train_streaming,
     streaming_numerics},
    {"checkmate",
     "activations kept or recomputed, and to host memory on request, by an integer program",
     "Checkmate (MLSys'20), as LoHan's baseline", Program::authors, checkmate_defaults,
     train_streaming, streaming_numerics},
    {"colossal_gemini",
     "weights in host memory by chunks, gradients in their place, states on SSD, all in turn",
     "ColossalAI 0.3.5, Gemini (PatrickStar, arXiv 2108.05818), as LoHan's baseline",
     Program::colossal_ai, colossal_gemini_defaults, train_streaming, streaming_numerics},
    {"smart_infinity", "ZeRO-Infinity whose drives do the update: only new weights come back",
     "Smart-Infinity (HPCA'24)", Program::authors, smart_infinity_defaults, train_streaming,
     streaming_numerics},
    {"angel_ptm", "pages in host memory, states on SSD, an update that no step waits for",
     "Angel-PTM (VLDB'23)", Program::none, angel_ptm_defaults, train_streaming, streaming_numerics},
};

}  // namespace

std::span<const System> catalogue() { return systems; }

const System* find_system(const std::string& name) {
  for (const System& system : systems)
    if (name == system.name) return &system;
  return nullptr;
}

bool plans_steps(const std::string& name) {
  const System* system = find_system(name);
  return system && system->train == train_planned;
}

}  // namespace spillway::strategies
