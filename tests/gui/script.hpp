#pragma once

#include <QFile>
#include <QTemporaryDir>

namespace spillway::gui {

/// A program of a shell script.
class Script {
 public:
  explicit Script(const char* text) {
    QFile file(path());
    if (!file.open(QIODevice::WriteOnly)) return;
    file.write(text);
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }
  QString path() const { return folder_.filePath("program"); }

 private:
  QTemporaryDir folder_;
};

}  // namespace spillway::gui
