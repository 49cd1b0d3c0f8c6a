# Checks that CUDA compiles and links here; no folder has CUDA sources yet.
find_program(SPILLWAY_NVCC nvcc HINTS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin REQUIRED)
set(CMAKE_CUDA_COMPILER ${SPILLWAY_NVCC})
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # nvcc has had C++20 since version 12; CMake 3.25 does not know that it does.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)

# Doubles some numbers on the first device and compares; says SKIP where there is none.
add_executable(cuda_smoke ${PROJECT_SOURCE_DIR}/cmake/cuda_smoke.cu)
target_compile_options(cuda_smoke PRIVATE --Werror all-warnings -Xcompiler=-Wall,-Wextra)
add_test(NAME cuda/Smoke COMMAND cuda_smoke)
set_tests_properties(cuda/Smoke PROPERTIES TIMEOUT 60 SKIP_REGULAR_EXPRESSION "^SKIP")
