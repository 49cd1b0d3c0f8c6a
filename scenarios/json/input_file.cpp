#include "scenarios/json/input_file.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/quantity.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace spillway::scenarios {

using description::ScenarioError;

namespace {

constexpr int patience_s = 10;
constexpr const char* limit_name = "SPILLWAY_LARGEST_FILE";
constexpr std::size_t piece_bytes = 1u << 16;

[[noreturn]] void refuse(const std::string& file, const std::string& message,
                         const std::string& hint) {
  throw ScenarioError({{file, 0, 0, "", message, hint}});
}

[[noreturn]] void refuse_errno(const std::string& file) {
  const int reason = errno;
  refuse(file, std::string("the file cannot be read: ") + std::strerror(reason),
         reason == EACCES ? "check its permissions and those of its folders" : "");
}

/// What the environment says, else `otherwise`.
std::size_t limit_or(std::size_t otherwise) {
  const char* said = std::getenv(limit_name);
  if (!said || *said == '\0') return otherwise;
  const auto parsed = description::parse_quantity(description::Dimension::bytes, said);
  if (!parsed.problem.empty()) refuse(limit_name, parsed.problem, parsed.hint);
  return static_cast<std::size_t>(parsed.value);
}

[[noreturn]] void refuse_size(const std::string& file, std::size_t most, const char* how) {
  refuse(file,
         "has more than " + description::to_text(description::Bytes(most)) + how +
             ", which is the limit",
         std::string(limit_name) + "=\"4 GiB\" in the environment sets another");
}

/// Owns a descriptor of the file.
class InputFile {
 public:
  explicit InputFile(const std::string& path, const std::string& shown) : shown_(shown) {
    if (path.find('\0') != std::string::npos)
      refuse(shown_, "the name of a file has no character of code 0", "");
    // without waiting for somebody who opens the other end of a pipe
    file_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file_ < 0) refuse_errno(shown_);
    if (::fstat(file_, &status_) != 0) refuse_errno(shown_);
    if (S_ISDIR(status_.st_mode))
      refuse(shown_, "is a folder, not a file", "name a file inside it");
    if (!S_ISREG(status_.st_mode) && !S_ISFIFO(status_.st_mode) && !S_ISSOCK(status_.st_mode))
      refuse(shown_, "is a device, not a file", "name a file or a pipe");
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (file_ >= 0) ::close(file_);
  }

  std::string text(std::size_t most) {
    // files of /proc say that they are empty, and others may grow: size is a first look only
    if (status_.st_size > 0 && static_cast<std::size_t>(status_.st_size) > most)
      refuse_size(shown_, most, "");
    if (!S_ISREG(status_.st_mode)) wait();  // nobody may have opened its other end yet
    std::string text;
    while (read_piece(text))
      if (text.size() > most) refuse_size(shown_, most, "");
    return text;
  }

 private:
  /// What the size announces of a file, and of others what a pipe holds.
  std::size_t next_bytes(const std::string& text) const {
    const auto announced = static_cast<std::size_t>(std::max<off_t>(0, status_.st_size));
    return announced > text.size() ? announced - text.size() : piece_bytes;
  }

  /// False at the end.
  bool read_piece(std::string& text) {
    const std::size_t before = text.size();
    const std::size_t wanted = next_bytes(text);
    text.resize(before + wanted);
    const ssize_t count = ::read(file_, text.data() + before, wanted);
    const int reason = errno;
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    if (count >= 0) return count > 0 && !is_regular_end(text);
    errno = reason;
    if (reason != EINTR && reason != EAGAIN) refuse_errno(shown_);
    wait();
    return true;
  }

  /// Whether all is there that the size announced; a look for more would cost a piece of memory.
  bool is_regular_end(const std::string& text) const {
    return S_ISREG(status_.st_mode) && status_.st_size > 0 &&
           text.size() == static_cast<std::size_t>(status_.st_size);
  }

  void wait() const {
    pollfd watched{file_, POLLIN, 0};
    if (::poll(&watched, 1, patience_s * 1000) == 0)
      refuse(shown_, "is a pipe into which nobody has written for 10 seconds", "name a file");
  }

  std::string shown_;
  int file_ = -1;
  struct stat status_ = {};
};

/// Owns what zlib knows of a text that it unpacks.
class Unpacking {
 public:
  Unpacking(const std::string& packed, const std::string& file) : file_(file) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    left_ = packed.size();
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (::inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { ::inflateEnd(&stream_); }

  std::string text(std::size_t most) {
    std::string text;
    while (unpack_piece(text))
      if (text.size() > most) refuse_size(file_, most, " unpacked");
    if (text.size() > most) refuse_size(file_, most, " unpacked");
    return text;
  }

 private:
  /// False at the end of the last member; what follows it and is no gzip counts as padding.
  bool unpack_piece(std::string& text) {
    feed();
    const std::size_t before = text.size();
    text.resize(before + piece_bytes);
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream_.avail_out = static_cast<uInt>(piece_bytes);
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    text.resize(text.size() - stream_.avail_out);
    if (code == Z_OK) return true;
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_STREAM_END) refuse(file_, "a damaged gzip file", "copy it again, in binary");
    feed();
    const bool more =
        stream_.avail_in > 1 && stream_.next_in[0] == 0x1f && stream_.next_in[1] == 0x8b;
    return more && ::inflateReset(&stream_) == Z_OK;
  }

  void feed() {
    const std::size_t piece = std::min<std::size_t>(left_, piece_bytes);
    if (stream_.avail_in > 1 || piece == 0) return;
    stream_.avail_in += static_cast<uInt>(piece);
    left_ -= piece;
  }

  const std::string& file_;
  std::size_t left_ = 0;
  z_stream stream_ = {};
};

}  // namespace

std::string text_of_file(const std::string& path, const std::string& shown, std::size_t most) {
  return InputFile(path, shown.empty() ? path : shown).text(limit_or(most));
}

std::string read_packed(const std::string& path) {
  const std::size_t most = limit_or(largest_trace);
  std::string text = InputFile(path, path).text(most);
  return text.starts_with("\x1f\x8b") ? Unpacking(text, path).text(most) : text;
}

}  // namespace spillway::scenarios
