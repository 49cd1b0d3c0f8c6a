#include "hw_backend/cuda/cublas_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

std::vector<std::string> places() {
  const std::string file = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
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
  throw description::DeviceError(
      "dlopen: cuBLASLt cannot be opened" + refusals +
      "; install the CUDA toolkit's libcublas, which has it, or name its folder in "
      "LD_LIBRARY_PATH");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw description::DeviceError("dlsym: cuBLASLt has no " + std::string(name));
}

}  // namespace

/// Never closed: handles may outlive who opened it.
const CublasLibrary& cublas_library() {
  static const CublasLibrary opened = [] {
    void* const library = open();
    CublasLibrary found;
    find(library, "cublasLtCreate", found.create);
    find(library, "cublasLtDestroy", found.destroy);
    find(library, "cublasLtMatmulDescCreate", found.make_description);
    find(library, "cublasLtMatmulDescDestroy", found.end_description);
    find(library, "cublasLtMatmulDescSetAttribute", found.set_description);
    find(library, "cublasLtMatrixLayoutCreate", found.make_layout);
    find(library, "cublasLtMatrixLayoutDestroy", found.end_layout);
    find(library, "cublasLtMatrixLayoutSetAttribute", found.set_layout);
    find(library, "cublasLtMatmulPreferenceCreate", found.make_preference);
    find(library, "cublasLtMatmulPreferenceDestroy", found.end_preference);
    find(library, "cublasLtMatmulPreferenceSetAttribute", found.set_preference);
    find(library, "cublasLtMatmulAlgoGetHeuristic", found.choose);
    find(library, "cublasLtMatmul", found.multiply);
    find(library, "cublasLtGetStatusName", found.name_of);
    return found;
  }();
  return opened;
}

void check(cublasStatus_t result, const std::string& call) {
  if (result != CUBLAS_STATUS_SUCCESS)
    throw description::DeviceError(call + ": " + cublas_library().name_of(result));
}

}  // namespace spillway::hw_backend
