#pragma once

#include "models/program/step_program.hpp"

namespace spillway::models {

/// Puts behind all other operators of each layer's backward those that make gradients of weights
/// and nothing else (LayerSpan::weights_apart): products, and the gathering of tokens for them. The
/// rest of the backward needs nothing of them.
///   Copies   a gradient that later operators add to, or that other layers use, is copied for the
///            product that reads it, where autograd would sum into a new tensor: a read and a write
///   Stay     products of gradients that lie in logits, of inputs that backward overwrites, and of
///            weights that other operators of the layer make a gradient of; what makes both kinds
///            of gradients at once, as those of norms, embeddings and a fused loss
///   Source   Qi et al.: Zero Bubble Pipeline Parallelism (ICLR 2024), 2: B and W
void split_backward(StepProgram& program);

}  // namespace spillway::models
