# Debian packages, one for each component of installation.cmake:
#   cpack --config build/release/CPackConfig.cmake
set(maintainer "The spillway authors <spillway@localhost>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL}) # as Debian's own tools ask
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(SPILLWAY_MAINTAINER
    "${maintainer}"
    CACHE STRING "Who builds the packages and answers for them: Name <address>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME spillway)
set(CPACK_PACKAGE_CONTACT "${SPILLWAY_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL "")

# spillway_package(<component> <summary> <description> [<package it depends on>])
macro(spillway_package component summary description)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${component})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARGN}")
endmacro()

spillway_package(
  spillway "what training a model larger than the GPU needs"
  "Predicts peak memory by tier, traffic, SSD wear and time per step of training
that spills weights, activations, gradients and optimizer states to DRAM and
SSD, before anything is bought or run; compares systems, searches settings and
boxes, and runs small cases for real beside the prediction.")
if(TARGET cuda)
  spillway_package(
    spillway-cuda "spillway on CUDA devices"
    "The plugin with which spillway validates its predictions on GPUs. It opens
the libraries of CUDA that come with the driver and the toolkit."
    "spillway (= ${PROJECT_VERSION})")
endif()
if(TARGET spillway-gui)
  spillway_package(
    spillway-gui "what training a model larger than the GPU needs, in a window"
    "The desktop application: what if, timelines of a step, memory by buffer,
comparisons, searches, and predictions beside measurements."
    "spillway (= ${PROJECT_VERSION})")
endif()

# What is packed is built before, not everything that there is.
set(CPACK_CMAKE_GENERATOR Ninja)
include(CPack)
