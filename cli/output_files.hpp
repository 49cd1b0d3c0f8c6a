#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace spillway::cli {

/// A file to write, and all that will be in it.
struct OutputFile {
  std::string path, text;
};

/// Writes all of these files or none. Each is made beside its place under a name that nobody can
/// foresee, flushed to its drive, given the mode of the file that it replaces, and renamed. Links
/// at the end of a path are followed when this user or root made them. Into a device or a pipe,
/// also one of /proc, the text goes as it is.
///   Throws  ScenarioError: a path that cannot be used, or in a folder in which others may rename
///           (hw_backend::OwnFolder); DeviceError: the drive is full or fails
void write_files(const std::vector<OutputFile>& files);
void write_file(const std::string& path, const std::string& text);

/// That it can be written, before minutes are spent on what could not be kept.
///   option  the word of the command that names it
///   Throws  ScenarioError
void require_writable(const std::string& option, const std::string& path);

/// `--shared-folders`, of a verb that writes files.
void add_shared_folders(CLI::App& verb);

}  // namespace spillway::cli
