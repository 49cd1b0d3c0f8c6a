#include "cli/output_files.hpp"

#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/storage/io_error.hpp"
#include "hw_backend/storage/own_folder.hpp"

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace spillway::cli {

namespace {

using hw_backend::Descriptor;
using hw_backend::Identity;

constexpr const char* elsewhere = "name a file in a folder that you may write to";

/// The drive's fault, or a limit's: what the user named is right.
const char* remedy_of(int error) {
  switch (error) {
    case ENOSPC:
      return "free space there, or name a file on another drive";
    case EDQUOT:
      return "free some of your quota there, or name a file on another drive";
    case EFBIG:
      return "raise the limit of a file's size: ulimit -f unlimited";
    case EIO:
      return "look at the drive: dmesg";
    default:
      return nullptr;
  }
}

[[noreturn]] void refuse_output(const std::string& path, const std::string& what,
                                const std::string& remedy = elsewhere) {
  throw description::ScenarioError({{path, 0, 0, "", "cannot be written: " + what, remedy}});
}

[[noreturn]] void fail(const char* call, const std::string& path, int error) {
  if (const char* remedy = remedy_of(error)) throw hw_backend::io_error(call, error, path, remedy);
  refuse_output(path, std::strerror(error));
}

/// Where an output goes.
struct Goal {
  hw_backend::OwnFolder at;
  bool there = false;
  struct stat status {};

  bool is_stream() const { return there && !S_ISREG(status.st_mode); }
};

/// Looks at the place of an output.
///   Throws  ScenarioError
Goal goal_of(const std::string& path) {
  Goal goal{hw_backend::open_own_parent(path)};
  if (!goal.at.refusal.empty())
    refuse_output(path, goal.at.refusal, hw_backend::shared_folder_remedy);
  if (!goal.at) fail("open", path, goal.at.error);
  goal.there =
      fstatat(goal.at.folder.get(), goal.at.name.c_str(), &goal.status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!goal.there && errno != ENOENT) fail("stat", path, errno);
  if (!goal.there) return goal;
  if (S_ISDIR(goal.status.st_mode)) fail("open", path, EISDIR);
  if (S_ISBLK(goal.status.st_mode)) refuse_output(path, "it is a block device");
  const uid_t owner = goal.status.st_uid;
  const bool is_own = owner == 0 || owner == geteuid() || S_ISCHR(goal.status.st_mode);
  if (!is_own && !hw_backend::shared_folders_accepted())
    refuse_output(path, fmt::format("it belongs to another user ({})", owner),
                  hw_backend::shared_folder_remedy);
  return goal;
}

void put(int fd, const std::string& path, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t moved = write(fd, text.data() + done, text.size() - done);
    if (moved >= 0)
      done += static_cast<std::size_t>(moved);
    else if (errno != EINTR)
      fail("write", path, errno);
    else
      hw_backend::stop_if_interrupted();  // a pipe may wait for ever
  }
}

/// A pipe, /dev/null, /dev/stdout: no file to replace. A reader of a pipe has some seconds to come.
void put_into_stream(const Goal& goal, const std::string& path, const std::string& text) {
  const int links = S_ISLNK(goal.status.st_mode) ? 0 : O_NOFOLLOW;
  Descriptor out;
  for (int tries = 0; !out && tries < 250; ++tries) {
    if (tries > 0) usleep(20'000);
    out = Descriptor(openat(goal.at.folder.get(), goal.at.name.c_str(),
                            O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | links));
    if (!out && errno != ENXIO) break;
  }
  if (!out && errno == ENXIO)
    refuse_output(path, "no program reads from it", "start the one that does first");
  if (!out) fail("open", path, errno);
  fcntl(out.get(), F_SETFL, fcntl(out.get(), F_GETFL) & ~O_NONBLOCK);
  put(out.get(), path, text);
}

/// An output beside its place, whole and on its drive; gone with this unless it was moved there.
class StagedFile {
 public:
  StagedFile(Goal goal, const OutputFile& file) : goal_(std::move(goal)), path_(file.path) {
    name_ = ".spillway." + hw_backend::random_digits() + ".part";
    const Descriptor out(openat(folder(), name_.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                goal_.there ? 0600 : 0666));
    if (!out) fail("open", path_, errno);
    made_ = hw_backend::identity_of(out.get());
    try {
      put(out.get(), path_, file.text);
      keep_owner_and_mode(out.get());
      if (fsync(out.get()) != 0 && errno != EINVAL && errno != ENOSYS) fail("fsync", path_, errno);
    } catch (...) {
      hw_backend::remove_made(folder(), name_, made_);
      throw;
    }
  }
  ~StagedFile() { hw_backend::remove_made(folder(), name_, goal_.there && moved_ ? old_ : made_); }
  StagedFile(const StagedFile&) = delete;

  /// Into its place. One of several exchanges its name with what was there, which can come back
  /// until this dies; not where the file system cannot exchange names (NFS).
  void move_in(bool alone) {
    old_ = {goal_.status.st_dev, goal_.status.st_ino};
    const bool exchanged = !alone && goal_.there && rename_as(RENAME_EXCHANGE) == 0;
    if (!exchanged && rename_as(0) != 0) fail("rename", path_, errno);
    goal_.there = exchanged;
    moved_ = true;
  }
  void move_out() {
    if (!moved_) return;
    if (!goal_.there)
      hw_backend::remove_made(folder(), goal_.at.name, made_);
    else if (rename_as(RENAME_EXCHANGE) == 0)
      moved_ = false;
  }
  /// The names in its folder, too, are on the drive.
  void flush_folder() const {
    const Descriptor again(openat(folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (again) fsync(again.get());
  }

 private:
  int folder() const { return goal_.at.folder.get(); }
  int rename_as(unsigned flags) const {
    return renameat2(folder(), name_.c_str(), folder(), goal_.at.name.c_str(), flags);
  }
  /// Root keeps the owner; whoever cannot takes no rights for another group over.
  void keep_owner_and_mode(int fd) const {
    if (!goal_.there) return;
    struct stat now {};
    mode_t mode = goal_.status.st_mode & 0777;
    const bool same = fstat(fd, &now) == 0 && now.st_uid == goal_.status.st_uid &&
                      now.st_gid == goal_.status.st_gid;
    if (!same && fchown(fd, goal_.status.st_uid, goal_.status.st_gid) != 0) mode &= 0707;
    if (fchmod(fd, mode) != 0) fail("fchmod", path_, errno);
  }

  Goal goal_;
  std::string path_, name_;
  Identity made_, old_;
  bool moved_ = false;
};

}  // namespace

void write_files(const std::vector<OutputFile>& files) {
  // what is under way is finished or undone before a signal takes effect
  const hw_backend::InterruptGuard whole;
  std::vector<std::unique_ptr<StagedFile>> staged;
  std::vector<std::pair<Goal, const OutputFile*>> streams;
  for (const OutputFile& file : files) {
    Goal goal = goal_of(file.path);
    if (goal.is_stream())
      streams.emplace_back(std::move(goal), &file);
    else
      staged.push_back(std::make_unique<StagedFile>(std::move(goal), file));
  }
  try {
    for (const auto& each : staged) each->move_in(files.size() == 1);
    for (const auto& [goal, file] : streams) put_into_stream(goal, file->path, file->text);
  } catch (...) {
    for (const auto& each : staged) each->move_out();
    throw;
  }
  for (const auto& each : staged) each->flush_folder();
}

void write_file(const std::string& path, const std::string& text) { write_files({{path, text}}); }

void require_writable(const std::string& option, const std::string& path) {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    description::refuse(option, "\"" + path + "\" " + why, remedy);
  };
  try {
    const Goal goal = goal_of(path);
    const int folder = goal.at.folder.get();
    const std::string& name = goal.at.name;
    const bool may = goal.there ? faccessat(folder, name.c_str(), W_OK, AT_EACCESS) == 0
                                : faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (!may) refuse(std::string("cannot be written: ") + std::strerror(errno), elsewhere);
  } catch (const description::ScenarioError& error) {
    const description::Complaint& why = error.complaints().front();
    if (why.path == option) throw;
    refuse(why.message, why.hint);
  }
}

void add_shared_folders(CLI::App& verb) {
  verb.add_flag_function(
      "--shared-folders", [](std::int64_t) { hw_backend::accept_shared_folders(); },
      "write also in folders that other users may change");
}

}  // namespace spillway::cli
