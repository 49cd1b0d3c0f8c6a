#pragma once

#include <QFile>
#include <QString>

#include <string>

namespace spillway::gui {

/// Writes a space of two systems and so many seeds; each point is simulated, since one system is
/// faster and the other takes less of the GPU.
inline void write_small_space(const QString& path, int seeds) {
  const std::string text = R"({ "name": "small",
  "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
            "strategy": { "system": "resident" } },
  "axes": { "strategy.system": ["resident", "zero_offload"],
            "run.seed": { "from": 1, "to": )" +
                           std::to_string(seeds) + R"( } },
  "constraints": ["feasible"],
  "objectives": { "throughput.tokens_per_s": "max", "peak_bytes.gpu.total": "min" } })";
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(text.c_str());
}

}  // namespace spillway::gui
