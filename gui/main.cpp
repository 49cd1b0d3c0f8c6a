#include "gui/app/window.hpp"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    return spillway::gui::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spillway-gui: %s\n", error.what());
    return 2;
  }
}
