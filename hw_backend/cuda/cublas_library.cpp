#include "hw_backend/cuda/cublas_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

std::vector<std::string> places() {
  const std::string file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  std::vector<std::string> all = {file};
  if (const char* home = secure_getenv("CUDA_HOME"); home && *home == '/')
    all.push_back(std::string(home) + "/lib64/" + file);
  all.push_back("/usr/local/cuda/lib64/" + file);
  return all;
}

void* open() {
  std::string refusals;
  for (const std::string& place : places()) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* why = dlerror();
    refusals += "; " + std::string(why ? why : place);
  }
  throw description::DeviceError("dlopen: cuBLAS cannot be opened" + refusals +
                                 "; install the CUDA toolkit's libcublas, or name its folder in "
                                 "LD_LIBRARY_PATH");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw description::DeviceError("dlsym: cuBLAS has no " + std::string(name));
}

}  // namespace

/// Never closed: handles may outlive who opened it.
const CublasLibrary& cublas_library() {
  static const CublasLibrary opened = [] {
    void* const library = open();
    CublasLibrary found;
    find(library, "cublasCreate_v2", found.create);
    find(library, "cublasDestroy_v2", found.destroy);
    find(library, "cublasSetStream_v2", found.set_stream);
    find(library, "cublasSetWorkspace_v2", found.set_workspace);
    find(library, "cublasSetMathMode", found.set_math_mode);
    find(library, "cublasGemmStridedBatchedEx_64", found.multiply);
    find(library, "cublasGetStatusName", found.name_of);
    return found;
  }();
  return opened;
}

void check(cublasStatus_t result, const std::string& call) {
  if (result != CUBLAS_STATUS_SUCCESS)
    throw description::DeviceError(call + ": " + cublas_library().name_of(result));
}

}  // namespace spillway::hw_backend
