// One application for all tests of a process, without a display.
#include <gtest/gtest.h>

#include <QApplication>
#include <QStyleFactory>

#include <memory>

#include "gui/chart/palette.hpp"

#ifdef __SANITIZE_ADDRESS__
/// What GLib, under Qt, keeps for each thread looks like a leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libglib-2.0.so"; }
#endif

namespace spillway::gui {
namespace {

class Application : public testing::Environment {
 public:
  void SetUp() override {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("SPILLWAY_PROGRAM", SPILLWAY_PROGRAM);
    application_ = std::make_unique<QApplication>(count_, words_);
    QApplication::setStyle(QStyleFactory::create("Fusion"));
    QApplication::setFont(QFont("DejaVu Sans", 10));
    QApplication::setPalette(program_palette(false));
  }
  void TearDown() override { application_.reset(); }

 private:
  int count_ = 1;
  char name_[9] = "test_gui";
  char* words_[2] = {name_, nullptr};
  std::unique_ptr<QApplication> application_;
};

[[maybe_unused]] const auto* const registered = testing::AddGlobalTestEnvironment(new Application);

}  // namespace
}  // namespace spillway::gui
