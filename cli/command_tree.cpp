#include "cli/command_tree.hpp"

#include "cli/option_formatter.hpp"
#include "scenarios/description/text.hpp"

#include <fmt/format.h>

namespace spillway::cli {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(separator); at != std::string::npos;
       at = text.find(separator, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

/// "TEXT:{rows,all}" and "auto|cuda|host" name the values that an option takes.
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find(":{");
  if (open != std::string::npos && type.ends_with("}"))
    return split(type.substr(open + 2, type.size() - open - 3), ',');
  const bool listed = type.find('|') != std::string::npos;
  return listed && type.find('[') == std::string::npos ? split(type, '|')
                                                       : std::vector<std::string>();
}

CommandOption option_of(const CLI::Option& option, const CLI::Formatter& formatter) {
  CommandOption found;
  for (const std::string& name : option.get_snames()) found.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) found.names.push_back("--" + name);
  if (option.get_positional()) found.names = {option.get_name(true, false)};
  found.value = description::trimmed(formatter.make_option_opts(&option));
  found.description = option.get_description();
  found.choices = choices_in(option.get_type_name());
  found.takes_value = option.get_type_size() != 0 && option.get_expected_min() > 0;
  return found;
}

Command command_of(const CLI::App& app, const std::string& before) {
  const OptionFormatter formatter;
  Command command;
  command.words = before + (before.empty() ? "" : " ") + app.get_name();
  command.usage =
      description::trimmed(formatter.make_usage(&app, command.words)).substr(sizeof("Usage:"));
  command.description = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    auto& list = option->get_positional() ? command.positionals : command.options;
    list.push_back(option_of(*option, formatter));
  }
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* verb : all)
    if (!verb->get_group().empty()) command.verbs.push_back(command_of(*verb, command.words));
  return command;
}

void add_all(const Command& command, std::vector<const Command*>& all) {
  all.push_back(&command);
  for (const Command& verb : command.verbs) add_all(verb, all);
}

}  // namespace

Command command_tree(const CLI::App& app) { return command_of(app, ""); }

std::vector<const Command*> all_commands(const Command& root) {
  std::vector<const Command*> all;
  add_all(root, all);
  return all;
}

}  // namespace spillway::cli
