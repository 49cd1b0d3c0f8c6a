#include "cli/program.hpp"

int main(int argc, char** argv) { return spillway::cli::run_program(argc, argv); }
