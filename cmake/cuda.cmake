# The CUDA compiler, for hw_backend/cuda alone.
find_program(SPILLWAY_NVCC nvcc HINTS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin REQUIRED)
set(CMAKE_CUDA_COMPILER ${SPILLWAY_NVCC})
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  # Code for 8.0 runs on 8.6 and 8.9 too; for what comes after 9.0, the driver compiles.
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
endif()
enable_language(CUDA)
if(SPILLWAY_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${SPILLWAY_CCACHE})
endif()
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # nvcc has had C++20 since version 12; CMake 3.25 does not know that it does.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
