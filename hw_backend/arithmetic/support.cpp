#include "hw_backend/arithmetic/execute.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

void require_support(const models::Model& model, const models::Workload& workload) {
  const models::Architecture& a = model.architecture;
  std::vector<description::Complaint> complaints;
  const auto refuse = [&](bool wrong, const char* path, const std::string& message,
                          const char* hint) {
    if (!wrong) return;
    description::Complaint complaint;
    complaint.path = path;
    complaint.message = message;
    complaint.hint = hint;
    complaints.push_back(std::move(complaint));
  };
  const char* const decoders = "dense decoders compute for real: llama, qwen2, mistral, gpt2, opt";
  refuse(a.is_diffusion(), "model",
         a.name + " is a diffusion model, which no device computes for real", decoders);
  refuse(a.stack != models::Stack::decoder && !a.is_diffusion(), "model",
         a.name + " has an encoder, which no device computes for real", decoders);
  refuse(a.experts > 0, "model", a.name + " has experts, which no device computes for real",
         decoders);
  refuse(a.embedding_width != a.hidden, "model",
         a.name +
             " has an embedding narrower than its hidden states, which no device computes "
             "for real",
         decoders);
  refuse(a.learned_positions == 0 && a.head_dim % 2 != 0, "model",
         a.name + " has rotary heads of " + std::to_string(a.head_dim) + " elements",
         "rotation takes elements in pairs");
  refuse(workload.tensor > 1, "parallel.tensor",
         std::to_string(workload.tensor) + " tensor ranks cannot compute for real",
         "write 1; simulate knows more");
  refuse(workload.dropout < 0 || workload.dropout >= 1, "training.dropout",
         "is not a share from 0 to less than 1", "");
  if (!complaints.empty()) throw description::ScenarioError(complaints);
}

}  // namespace spillway::hw_backend
