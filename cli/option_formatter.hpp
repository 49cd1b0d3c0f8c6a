#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace spillway::cli {

/// CLI11 writes "..." behind an option that may be given several times: only where more values may
/// follow at once is that true.
class OptionFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string words = CLI::Formatter::make_option_opts(option);
    const std::string more = " ...";
    if (const auto at = words.find(more);
        !option->get_allow_extra_args() && at != std::string::npos)
      words.erase(at, more.size());
    return words;
  }
};

}  // namespace spillway::cli
