#pragma once

#include "gui/model/text_table.hpp"
#include "gui/page/page.hpp"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>

namespace spillway::gui {

/// Every number of a machine, with its source; what is assumed stands out. A number that is edited
/// makes a copy of the machine, which What-if then asks about.
class MachinesPage : public Page {
  Q_OBJECT

 public:
  explicit MachinesPage(Session& session, QWidget* parent = nullptr);

  QString command() const override;
  void shown() override;
  QString text() const override { return table_.as_text(); }
  QWidget* first_field() override { return which_; }

 private:
  void list();
  void show_machine();
  void change(const QString& path, const QString& value);
  void save();

  nlohmann::json machine_;  ///< that is shown

  TextTable table_;
  QTableView* view_;
  QComboBox* which_;
  QLineEdit* filter_;
  QLabel* words_;
};

}  // namespace spillway::gui
