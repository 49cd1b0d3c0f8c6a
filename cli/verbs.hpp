#pragma once

#include <CLI/CLI.hpp>

namespace spillway::cli {

/// Each verb adds its subcommand to `app`; its callback throws what goes wrong, and answers on
/// standard output.
void add_describe(CLI::App& app);
void add_new(CLI::App& app);
void add_fit(CLI::App& app);
void add_systems(CLI::App& app);
void add_simulate(CLI::App& app);
void add_compare(CLI::App& app);
void add_report(CLI::App& app);
void add_model(CLI::App& app);
void add_machine(CLI::App& app);
void add_import(CLI::App& app);
void add_export(CLI::App& app);
void add_lifetimes(CLI::App& app);
void add_worker(CLI::App& app);
void add_fidelity(CLI::App& app);
void add_probe(CLI::App& app);
void add_validate(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_explore(CLI::App& app);
void add_plan(CLI::App& app);
/// Hidden: manual pages and completions, from the options of all verbs.
void add_generate(CLI::App& app);

}  // namespace spillway::cli
