#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// Masters and Adam's states in host memory, of which a share may lie on drives. A window of
/// layers is on the GPU; the CPU updates each layer while backward goes on below it. The inputs of
/// blocks wait in host memory, or on drives with `activations.policy` checkpoint_ssd.
///   Share     with `optimizer.home` ssd `optimizer.ssd_share` of the sub-groups; by default none
///             is there. Its code sends one or both moments of every layer and keeps all masters:
///             a third or two thirds of the same bytes
///   Reads     states on drives one layer ahead (`read_ahead`), as its code does
///   Differs   host memory keeps the weights that kernels read besides their masters, 2 B a
///             parameter more; its code casts a layer's masters each time that the layer is sent.
///             All states of a sub-group on drives are there, its master too
///   Source    SlideFormer (arXiv 2603.16428); its authors' code, offload_transformer.py and
///             layer_adam.py
System slideformer() {
  System system;
  system.name = "slideformer";
  system.summary =
      "a window of layers on the GPU, checkpoints in host memory, Adam layer by layer beside "
      "backward, a share of the states on SSD";
  system.source = "SlideFormer (arXiv 2603.16428)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("stronghold");
    strategy.system = "slideformer";
    strategy.activations.policy = description::ActivationPolicy::checkpoint_host;
    strategy.optimizer.read_ahead = 1;
    strategy.optimizer.buffers = 9;  // three sub-groups: being read, in Adam, being written
    strategy.optimizer.host_cache = description::Bytes(0);
    strategy.io_engine = description::IoEngine::file;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
