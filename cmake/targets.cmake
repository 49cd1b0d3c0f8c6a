# How a folder becomes a target. cmake/README.md shows each function in use.

# The folders of strategies/, those that use others first.
set(SPILLWAY_STRATEGIES
    strategies_bounds strategies_run strategies_schedules strategies_counting
    strategies_decide strategies_parts strategies_parts_update strategies_parts_activations
    strategies_parts_weights strategies_rules strategies_layout strategies_systems
    strategies_planner_saved strategies_planner_migration strategies_planner
    strategies_machine strategies_memory)
# What a plugin finds in the process that opens it: these libraries exist once, in the executable.
set(SPILLWAY_EXPORTED description text result models_program models_architecture
                      ${SPILLWAY_STRATEGIES})

# spillway_folders(<folder>...): adds each folder.
function(spillway_folders)
  foreach(folder IN LISTS ARGN)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# Of vendors and the standard library, which half of the sources include.
set(_spillway_slow_headers
    <nlohmann/json.hpp> <fmt/format.h> <fmt/ranges.h> <algorithm> <filesystem> <functional> <map>
    <optional> <set> <span> <vector>)

# Headers too slow to parse in every source. One target compiles them, the others reuse the result.
# A target with heavy headers of its own compiles both, unless its sources are compiled together.
function(_spillway_pch target kind)
  if(NOT TARGET pch_${kind})
    return()
  elseif(ARGN AND NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} PRIVATE ${_spillway_slow_headers} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM pch_${kind})
  endif()
endfunction()

function(_spillway_pch_target kind)
  cmake_parse_arguments(arg "" "" "HEADERS;LINKS" ${ARGN})
  if(SPILLWAY_PCH)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch_${kind}.cpp CONTENT "")
    add_library(pch_${kind} OBJECT ${PROJECT_BINARY_DIR}/pch_${kind}.cpp)
    target_link_libraries(pch_${kind} PRIVATE ${arg_LINKS})
    target_precompile_headers(pch_${kind} PRIVATE ${arg_HEADERS})
  endif()
endfunction()

_spillway_pch_target(json HEADERS ${_spillway_slow_headers}
                     LINKS nlohmann_json::nlohmann_json fmt::fmt)
if(NOT SPILLWAY_FUZZ)
  _spillway_pch_target(
    test HEADERS ${_spillway_slow_headers} <gtest/gtest.h> <gmock/gmock.h>
    LINKS nlohmann_json::nlohmann_json fmt::fmt GTest::gtest GTest::gmock)
endif()

# Half of a build from nothing is tests, and what has to be fast lies in the libraries.
set(_spillway_test_options $<$<CONFIG:Release>:-O0>)
if(TARGET pch_test)
  target_compile_options(pch_test PRIVATE ${_spillway_test_options})
endif()

# spillway_library(<name> SOURCES <file>... [LINKS <target>...] [PRIVATE_LINKS <target>...]
#                  [HEADERS <header>...] [RARELY])
# A folder's static library; HEADERS are precompiled for it, beside the usual ones.
#   RARELY  runs a few times for each question of a person: time to compile counts for more
function(spillway_library name)
  cmake_parse_arguments(arg "RARELY" "" "SOURCES;LINKS;PRIVATE_LINKS;HEADERS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(
    ${name}
    PUBLIC nlohmann_json::nlohmann_json fmt::fmt ${arg_LINKS}
    PRIVATE ${arg_PRIVATE_LINKS})
  if(arg_RARELY)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  _spillway_pch(${name} json ${arg_HEADERS})
endfunction()

# spillway_hosts_plugins(<executable>): the executable carries the exported libraries whole and
# shows their symbols, so that a plugin uses these and brings no second copy.
function(spillway_hosts_plugins target)
  set(archives "")
  foreach(library IN LISTS SPILLWAY_EXPORTED)
    list(APPEND archives -Wl,$<TARGET_FILE:${library}>)
  endforeach()
  # The archives come first and whole, so the linker takes nothing from them a second time where
  # they are named as ordinary libraries. LINK_LIBRARY:WHOLE_ARCHIVE would repeat them (CMake 3.25).
  target_link_options(${target} PRIVATE -Wl,--whole-archive ${archives} -Wl,--no-whole-archive)
  target_link_libraries(${target} PRIVATE ${SPILLWAY_EXPORTED} ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
endfunction()

# spillway_simulates(<executable>): jemalloc, as simulations are many small allocations and take a
# seventh less time with it. Sanitizers bring their own.
function(spillway_simulates target)
  if(NOT SPILLWAY_SANITIZE)
    target_link_libraries(${target} PRIVATE -Wl,--no-as-needed PkgConfig::jemalloc -Wl,--as-needed)
  endif()
endfunction()

# spillway_executable(<name> SOURCES <file>... [LINKS <target>...])
# A program in bin/ that can open plugins.
function(spillway_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  spillway_hosts_plugins(${name})
  _spillway_pch(${name} json)
endfunction()

# spillway_plugin(<name> SOURCES <file>... [LINKS <vendor target>...] [HEADERS <header>...])
# lib/spillway/spillway_<name>.so, opened with dlopen. It links its vendor's libraries and nothing
# of ours: what it uses of SPILLWAY_EXPORTED stays undefined until the executable is there.
# <name>_objects are the same object files, for tests that link them directly.
function(spillway_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;HEADERS" ${ARGN})
  add_library(${name}_objects OBJECT ${arg_SOURCES})
  set_target_properties(${name}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name}_objects PUBLIC nlohmann_json::nlohmann_json fmt::fmt ${arg_LINKS})
  if(SPILLWAY_PCH AND arg_HEADERS AND NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(${name}_objects PRIVATE ${arg_HEADERS})
  endif()
  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects>)
  target_link_libraries(${name} PRIVATE fmt::fmt ${arg_LINKS})
  set_target_properties(
    ${name} PROPERTIES PREFIX "" OUTPUT_NAME spillway_${name} LINKER_LANGUAGE CXX
                       LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/spillway)
endfunction()

# spillway_helper(<name> SOURCES <file>... [LINKS <vendor target>...])
# lib/spillway/spillway_<name>, a program that ours starts as a process of its own: for a library
# whose licence, or whose failures, must not be in ours.
function(spillway_helper name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json ${arg_LINKS})
  set_target_properties(
    ${name} PROPERTIES OUTPUT_NAME spillway_${name} UNITY_BUILD OFF
                       RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/spillway)
endfunction()

# Each part takes every <count>th test.
function(_spillway_test_in_parts folder target count)
  foreach(part RANGE 1 ${count})
    math(EXPR index "${part} - 1")
    add_test(NAME ${folder}/part_${part} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(
      ${folder}/part_${part}
      PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${index}" ${ARGN})
  endforeach()
endfunction()

# spillway_test(<folder> SOURCES <file>... [LINKS <target>...] [TIMEOUT <seconds>]
#               [HOSTS_PLUGINS] [RUNS_PROGRAM] [OPTIMIZED]
#               [ONE_TEST] [PARTS <count>] [PCH <kind>])
# One GoogleTest program, bin/test_<folder>; every test in it is a ctest test <folder>/Suite.Name.
#   HOSTS_PLUGINS  opens plugins in its own process
#   RUNS_PROGRAM   starts the program, whose path is the macro SPILLWAY_PROGRAM
#   OPTIMIZED      calculates so much itself that it is compiled as the libraries are
#   ONE_TEST       thousands of small tests: one ctest test <folder>/all, not a process for each
#   PARTS          a process costs more than most of its tests: so many ctest tests
#                  <folder>/part_<i>, each a process
function(spillway_test folder)
  cmake_parse_arguments(arg "HOSTS_PLUGINS;ONE_TEST;OPTIMIZED;RUNS_PROGRAM" "PARTS;PCH;TIMEOUT"
                        "SOURCES;LINKS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINKS} nlohmann_json::nlohmann_json fmt::fmt
                                          GTest::gtest GTest::gmock GTest::gmock_main)
  target_compile_definitions(${target} PRIVATE SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(arg_OPTIMIZED)
    _spillway_pch(${target} json)
  else()
    target_compile_options(${target} PRIVATE ${_spillway_test_options})
    if(NOT arg_PCH)
      set(arg_PCH test)
    endif()
    _spillway_pch(${target} ${arg_PCH})
  endif()
  if(arg_HOSTS_PLUGINS)
    spillway_hosts_plugins(${target})
    spillway_simulates(${target})
    add_dependencies(${target} sim milp)
  endif()
  if(arg_RUNS_PROGRAM)
    add_dependencies(${target} spillway)
    target_compile_definitions(${target} PRIVATE
                               SPILLWAY_PROGRAM="${PROJECT_BINARY_DIR}/bin/spillway")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(SPILLWAY_SANITIZE)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  if(arg_ONE_TEST)
    add_test(NAME ${folder}/all COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${folder}/all PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${name})
    return()
  endif()
  if(arg_PARTS)
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
    _spillway_test_in_parts(${folder} ${target} ${arg_PARTS} TIMEOUT ${arg_TIMEOUT} LABELS ${name})
    return()
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       TEST_PREFIX ${folder}/ PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${name})
endfunction()
include(GoogleTest)
