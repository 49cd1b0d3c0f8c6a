#include "hw_backend/cuda/gds.hpp"

#include <dlfcn.h>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

using description::DeviceError;

// As in cufile.h of CUDA 11.4 to 13.
struct CufileError {
  int code;    // 0: success; from 5000 on cuFile's own
  int driver;  // a CUresult, when code says so
};
struct CufileDescription {
  int type;
  union {
    int descriptor;
    void* handle;
  } file;
  const void* operations;
};
constexpr int opaque_descriptor = 1;

struct Library {
  CufileError (*open_driver)() = nullptr;
  CufileError (*add_file)(void**, CufileDescription*) = nullptr;
  void (*remove_file)(void*) = nullptr;
  CufileError (*add_buffer)(const void*, std::size_t, int) = nullptr;
  CufileError (*remove_buffer)(const void*) = nullptr;
  ssize_t (*read)(void*, void*, std::size_t, off_t, off_t) = nullptr;
  ssize_t (*write)(void*, const void*, std::size_t, off_t, off_t) = nullptr;
  std::string missing;
};

/// "5010" is all that can be said without cufile.h; CUDA's documentation lists the numbers.
std::string number(const CufileError& error) {
  return "cuFile error " + std::to_string(error.code) +
         (error.driver != 0 ? ", CUDA driver error " + std::to_string(error.driver) : "");
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Library load() {
  Library found;
  void* const library = dlopen("libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    found.missing =
        "dlopen: " + std::string(why ? why : "libcufile.so.0") +
        "; install GPUDirect Storage (nvidia-gds, or libcufile of the CUDA toolkit), or "
        "choose the I/O engine `direct`";
    return found;
  }
  const bool whole = find(library, "cuFileDriverOpen", found.open_driver) &&
                     find(library, "cuFileHandleRegister", found.add_file) &&
                     find(library, "cuFileHandleDeregister", found.remove_file) &&
                     find(library, "cuFileBufRegister", found.add_buffer) &&
                     find(library, "cuFileBufDeregister", found.remove_buffer) &&
                     find(library, "cuFileRead", found.read) &&
                     find(library, "cuFileWrite", found.write);
  if (!whole) {
    found.missing = "dlsym: libcufile.so.0 lacks functions of cuFile; install CUDA 11.4 or later";
    return found;
  }
  const CufileError opened = found.open_driver();
  if (opened.code != 0)
    found.missing = "cuFileDriverOpen: " + number(opened) +
                    (std::filesystem::exists("/proc/driver/nvidia-fs")
                         ? "; `gdscheck -p` says what the system lacks"
                         : "; the kernel module nvidia-fs is not loaded: install nvidia-gds and "
                           "`modprobe nvidia-fs`, or choose the I/O engine `direct`");
  return found;
}

/// Opened by the first who asks and never closed.
const Library& library() {
  static const Library loaded = load();
  return loaded;
}

const Library& usable_library() {
  if (!library().missing.empty()) throw DeviceError(library().missing);
  return library();
}

/// Transfers all of it: cuFile may do less at once, as read(2) may.
///   transfer(done)  does what is behind the first `done` bytes; bytes done, or an error
template <class Transfer>
void whole(const char* call, const std::string& path, std::uint64_t offset, std::uint64_t bytes,
           const Transfer& transfer) {
  for (std::uint64_t done = 0; done < bytes;) {
    errno = 0;
    const ssize_t result = transfer(done);
    if (result > 0) {
      done += static_cast<std::uint64_t>(result);
      continue;
    }
    std::string why = "the file ends";
    if (result == -1) why = std::strerror(errno);
    if (result < -1) why = "cuFile error " + std::to_string(-result);
    throw DeviceError(std::string(call) + ": " + why + ", " + path + ", " + std::to_string(bytes) +
                      " bytes at " + std::to_string(offset));
  }
}

}  // namespace

std::string gds_missing() { return library().missing; }

std::string gds_detour() {
  if (std::filesystem::exists("/proc/driver/nvidia-fs")) return {};
  return "the kernel module nvidia-fs is not loaded: unless drives and driver do without it, "
         "cuFile "
         "itself moves data by way of host memory; `gdscheck -p` tells, and NVIDIA's package "
         "nvidia-gds has the module";
}

DirectFile::DirectFile(int descriptor, std::string path) : path_(std::move(path)) {
  CufileDescription description = {};
  description.type = opaque_descriptor;
  description.file.descriptor = descriptor;
  const CufileError result = usable_library().add_file(&handle_, &description);
  if (result.code != 0)
    throw DeviceError("cuFileHandleRegister: " + number(result) + ", " + path_ +
                      "; GPUDirect Storage wants ext4 or XFS on NVMe, and O_DIRECT");
}

DirectFile::~DirectFile() { library().remove_file(handle_); }

void DirectFile::read(std::byte* memory, std::uint64_t memory_offset, std::uint64_t file_offset,
                      std::uint64_t bytes) {
  whole("cuFileRead", path_, file_offset, bytes, [&](std::uint64_t done) {
    return library().read(handle_, memory, bytes - done, static_cast<off_t>(file_offset + done),
                          static_cast<off_t>(memory_offset + done));
  });
}

void DirectFile::write(const std::byte* memory, std::uint64_t memory_offset,
                       std::uint64_t file_offset, std::uint64_t bytes) {
  whole("cuFileWrite", path_, file_offset, bytes, [&](std::uint64_t done) {
    return library().write(handle_, memory, bytes - done, static_cast<off_t>(file_offset + done),
                           static_cast<off_t>(memory_offset + done));
  });
}

DirectBuffer::DirectBuffer(const std::byte* memory, std::uint64_t bytes) : memory_(memory) {
  const CufileError result = usable_library().add_buffer(memory, bytes, 0);
  if (result.code != 0)
    throw DeviceError("cuFileBufRegister: " + number(result) + ", " + std::to_string(bytes) +
                      " bytes of device memory");
}

DirectBuffer::~DirectBuffer() { library().remove_buffer(memory_); }

}  // namespace spillway::hw_backend
