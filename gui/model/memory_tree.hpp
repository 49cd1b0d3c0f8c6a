#pragma once

#include "gui/model/trace.hpp"
#include "reports/result/result.hpp"

#include <QAbstractItemModel>
#include <QString>

#include <memory>
#include <vector>

namespace spillway::gui {

/// Buffers at the fullest instant of each tier: tier, purpose, buffers of one size; the largest
/// first. Each with the setting that decides how large it is, and how it gets smaller.
class MemoryTree : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column : int { name, bytes, share, phase, setting, smaller, columns };
  /// Bytes as a number; name and bytes of what a chart draws; bytes a tier has, its reserve in it.
  enum Role : int { bytes_role = Qt::UserRole + 1, key_role, capacity_role, needed_role };

  explicit MemoryTree(QObject* parent = nullptr);
  ~MemoryTree() override;

  /// Of a run that does not fit, what each tier would need.
  void set(const result::Result* result);
  /// What each tier of a trace held when it was fullest in [from, to), by purpose with its
  /// rounding; of the GPUs the fullest. A trace knows no single buffers.
  void set(const Trace& trace, Instant from, Instant to);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Node;
  static std::unique_ptr<Node> purpose_node(const std::string& tier, const std::string& purpose,
                                            std::uint64_t bytes);
  void add_tier(const char* tier, const result::PeakBytes& peak, std::uint64_t needed,
                const nlohmann::json& scenario);
  void add_tier(const Counter& counter, const Sample& most, const std::string& phase);
  const Node* node(const QModelIndex& index) const;

  std::unique_ptr<Node> root_;
};

}  // namespace spillway::gui
