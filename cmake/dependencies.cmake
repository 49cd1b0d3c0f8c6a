# What the project takes from the distribution; setup/packages names the packages.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(valijson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)

if(SPILLWAY_FUZZ)
  return()
endif()
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(Eigen3 3.4 REQUIRED)
find_package(Boost REQUIRED)
find_package(pagmo REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libnvme REQUIRED IMPORTED_TARGET libnvme)
pkg_check_modules(blkid REQUIRED IMPORTED_TARGET blkid)
pkg_check_modules(cbc REQUIRED IMPORTED_TARGET cbc)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)

# The application is built where Qt 6 is; without it everything else is.
find_package(Qt6 6.4 QUIET COMPONENTS Widgets Svg Test)
if(NOT Qt6_FOUND)
  message(STATUS "No Qt 6: spillway-gui is not built")
endif()

# SimGrid ships no CMake package.
find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp REQUIRED)
find_library(SIMGRID_LIBRARY simgrid REQUIRED)
# sim/engine.cpp names symbols of this release's kernel, which no later one promises to keep.
file(STRINGS ${SIMGRID_INCLUDE_DIR}/simgrid/version.h SIMGRID_NUMBERS REGEX "VERSION_(MAJOR|MINOR)")
string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" SIMGRID_VERSION
                     "${SIMGRID_NUMBERS}")
if(NOT SIMGRID_VERSION VERSION_EQUAL 3.32)
  message(FATAL_ERROR "SimGrid ${SIMGRID_VERSION} is installed; sim/engine.cpp is for 3.32")
endif()
add_library(SimGrid::SimGrid SHARED IMPORTED)
set_target_properties(
  SimGrid::SimGrid PROPERTIES IMPORTED_LOCATION ${SIMGRID_LIBRARY}
                              INTERFACE_INCLUDE_DIRECTORIES ${SIMGRID_INCLUDE_DIR})
