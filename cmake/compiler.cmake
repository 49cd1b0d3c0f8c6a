# One language, one set of warnings, one place for sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Line numbers are all that a sanitizer's report needs. g++ takes three times as long over
# instrumented code at -O1 as at -O0, and only ThreadSanitizer's tests are slow enough to mind.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
if(SPILLWAY_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_CXX_FLAGS_SANITIZE "-O0 -g1")
endif()

# Includes are written from the root of the tree, everywhere.
include_directories(${PROJECT_SOURCE_DIR})

# Messages name a source by its path in the project, wherever it was compiled (ccache's base_dir
# makes paths relative to the build folder).
file(RELATIVE_PATH spillway_from_build ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
set(spillway_names_as_in_project -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
    -fmacro-prefix-map=${spillway_from_build}=)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${spillway_names_as_in_project}>")

# Same input, same bytes out, on machines with and without fused multiply-add.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

set(spillway_warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 at -O2 sees overlaps and overflows in std::string's moves and sums that are not there
    # (GCC bugs 105329 and 105651); the preset asan looks for real ones.
    list(APPEND spillway_warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
         -Wno-stringop-overread)
  endif()
  if(SPILLWAY_SANITIZE)
    # The instrumentation hides initialisations from this analysis.
    list(APPEND spillway_warnings -Wno-maybe-uninitialized)
  endif()
endif()
if(CMAKE_UNITY_BUILD)
  # A local name may be that of another source's constant; presets that compile each source by
  # itself see the rest.
  list(REMOVE_ITEM spillway_warnings -Wshadow)
endif()
if(SPILLWAY_FUZZ)
  # clang has its own opinions; the project answers to g++.
  list(REMOVE_ITEM spillway_warnings -Werror)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${spillway_warnings}>")

if(SPILLWAY_SANITIZE MATCHES "undefined")
  # A quarter of the compile time: what these find ends the program under AddressSanitizer anyway
  # (null), is fine on x86 (alignment; vector loads trap), or needs a wrong cast (vptr).
  set(spillway_unchecked -fno-sanitize=alignment,null,vptr)
endif()
if(SPILLWAY_SANITIZE)
  add_compile_options(-fsanitize=${SPILLWAY_SANITIZE} -fno-sanitize-recover=all
                      ${spillway_unchecked})
  add_link_options(-fsanitize=${SPILLWAY_SANITIZE})
endif()

# Several sources at a time where CMAKE_UNITY_BUILD is on: most of a source's time is its headers.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 50)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects its garbage from 128 MiB on, up to a seventh of a large source's time (`scenarios`,
  # first unit: 42.9 s with it, 36.7 s from 1 GiB on; `answers`, second: 12.6 and 12.4 s).
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>")
endif()

# Part of binutils; links a test in 0.8 processor seconds instead of 1.9 (`test_explore`).
find_program(SPILLWAY_GOLD ld.gold)
if(SPILLWAY_GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=gold)
endif()

find_program(SPILLWAY_CCACHE ccache)
if(SPILLWAY_CCACHE)
  # Without these ccache never takes a source that uses a precompiled header from its store.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SPILLWAY_CCACHE})
  if(SPILLWAY_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
