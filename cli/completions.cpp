#include "cli/completions.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::cli {

namespace {

/// In single quotes: the same in bash and zsh, and, with backslashes escaped too, in fish.
std::string quoted(const std::string& text, bool fish = false) {
  std::string out = "'";
  for (const char one : text) {
    if (one == '\'')
      out += fish ? "\\'" : "'\\''";
    else if (one == '\\' && fish)
      out += "\\\\";
    else
      out += one == '\n' ? ' ' : one;
  }
  return out + "'";
}

/// The words of all commands below the program: alternatives of a `case`.
std::string known_commands(const Command& root) {
  std::string out;
  for (const Command* command : all_commands(root))
    if (command != &root) out += (out.empty() ? "" : " | ") + quoted(command->words);
  return out;
}

template <class Wanted>
std::string option_names(const Command& command, Wanted wanted) {
  std::string out;
  for (const CommandOption& option : command.options)
    for (const std::string& name : option.names)
      if (wanted(option)) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string verb_names(const Command& command) {
  std::string out;
  for (const Command& verb : command.verbs) out += (out.empty() ? "" : " ") + verb.name();
  return out;
}

std::string bash_case(const Command& command) {
  std::string out = fmt::format(
      "    {})\n      verbs={}\n      options={}\n      valued={}\n", quoted(command.words),
      quoted(verb_names(command)), quoted(option_names(command, [](const auto&) { return true; })),
      quoted(
          option_names(command, [](const CommandOption& option) { return option.takes_value; })));
  for (const CommandOption& option : command.options)
    for (const std::string& name : option.names)
      if (!option.choices.empty())
        out += fmt::format("      if [[ $previous == {} ]]; then values={}; fi\n", name,
                           quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  return out + "      ;;\n";
}

/// "name:description" as _describe wants it.
std::string described(const std::string& name, const std::string& description) {
  std::string escaped;
  for (const char one : name) escaped += one == ':' ? "\\:" : std::string(1, one);
  return quoted(escaped + ":" + description);
}

std::string zsh_case(const Command& command) {
  std::string out = fmt::format("    {})\n      verbs=(", quoted(command.words));
  for (const Command& verb : command.verbs)
    out += "\n        " + described(verb.name(), verb.description);
  out += ")\n      options=(";
  for (const CommandOption& option : command.options)
    for (const std::string& name : option.names)
      out += "\n        " + described(name, option.description);
  out += fmt::format(")\n      valued=({})\n",
                     option_names(command, [](const CommandOption& o) { return o.takes_value; }));
  for (const CommandOption& option : command.options)
    for (const std::string& name : option.names)
      if (!option.choices.empty())
        out += fmt::format("      [[ $previous == {} ]] && values=({})\n", name,
                           fmt::join(option.choices, " "));
  return out + "      ;;\n";
}

std::string fish_option(const Command& command, const CommandOption& option) {
  std::string out = fmt::format("complete -c spillway -n {}",
                                quoted("__spillway_at " + quoted(command.words, true), true));
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value) out += " -r";
  if (!option.choices.empty())
    out +=
        fmt::format(" -f -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " ")), true));
  return out + " -d " + quoted(option.description, true) + "\n";
}

std::string fish_commands(const Command& command) {
  const std::string here = quoted("__spillway_at " + quoted(command.words, true), true);
  std::string out;
  for (const Command& verb : command.verbs)
    out += fmt::format("complete -c spillway -n {} -f -a {} -d {}\n", here, verb.name(),
                       quoted(verb.description, true));
  for (const CommandOption& option : command.options) out += fish_option(command, option);
  return out;
}

}  // namespace

std::string bash_completion(const Command& root) {
  std::string out = R"(# bash completion for spillway, made by the program from its options.
_spillway() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=spillway
  local i verbs= options= valued= values=
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${COMP_WORDS[i]}" in
      )" + known_commands(root) +
                    R"()
        command+=" ${COMP_WORDS[i]}"
        ;;
    esac
  done
  case $command in
)";
  for (const Command* command : all_commands(root)) out += bash_case(*command);
  return out + R"(  esac
  COMPREPLY=()
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ " $valued " != *" $previous "* && -n $verbs ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word")
  else
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _spillway spillway
)";
}

std::string zsh_completion(const Command& root) {
  std::string out = R"(#compdef spillway
# zsh completion for spillway, made by the program from its options.
_spillway() {
  local word=${words[CURRENT]} previous=${words[CURRENT - 1]} command=spillway
  local -a verbs options valued values
  integer i
  for ((i = 2; i < CURRENT; ++i)); do
    case "$command ${words[i]}" in
      ()" + known_commands(root) +
                    R"()
        command+=" ${words[i]}"
        ;;
    esac
  done
  case $command in
)";
  for (const Command* command : all_commands(root)) out += zsh_case(*command);
  return out + R"(  esac
  if (($#values)); then
    compadd -a values
  elif [[ $word == -* ]]; then
    _describe -o option options
  elif ((!${valued[(Ie)$previous]} && $#verbs)); then
    _describe verb verbs
  else
    _files
  fi
}
_spillway "$@"
)";
}

std::string fish_completion(const Command& root) {
  std::string cases;
  for (const Command* command : all_commands(root))
    if (command != &root) cases += " " + quoted(command->words, true);
  std::string out = R"(# fish completion for spillway, made by the program from its options.
function __spillway_at --description 'whether the verbs typed so far are these'
  set -l found spillway
  set -l typed (commandline -opc)
  for word in $typed[2..]
    switch "$found $word"
      case)" + cases +
                    R"(
        set found "$found $word"
    end
  end
  test "$found" = "$argv[1]"
end
)";
  for (const Command* command : all_commands(root)) out += fish_commands(*command);
  return out;
}

}  // namespace spillway::cli
