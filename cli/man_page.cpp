#include "cli/man_page.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <sstream>

namespace spillway::cli {

namespace {

/// As text of a page: a hyphen that can be pasted, no escape sequence, no request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char one : text) {
    if (out.empty() || out.back() == '\n')
      if (one == '.' || one == '\'') out += "\\&";
    if (one == '-') out += '\\';
    out += one == '\\' ? "\\e" : std::string(1, one);
  }
  return out;
}

/// Each of a description's lines on its own.
std::string prose(const std::string& text) {
  std::string out;
  for (const char one : text) out += one == '\n' ? "\n.br\n" : std::string(1, one);
  std::istringstream lines(out);
  std::string escaped;
  for (std::string line; std::getline(lines, line);)
    escaped += (line == ".br" ? line : roff(line)) + "\n";
  return escaped;
}

std::string entry(const CommandOption& option, bool positional) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") +
             (positional ? "\\fI" + roff(name) + "\\fR" : "\\fB" + roff(name) + "\\fR");
  const std::string value = option.value.empty() ? "" : " " + roff(option.value);
  return ".TP\n" + names + value + "\n" + prose(option.description);
}

std::string entries(const std::string& title, const std::vector<CommandOption>& options,
                    bool positional) {
  if (options.empty()) return "";
  std::string out = ".SH " + title + "\n";
  for (const CommandOption& option : options) out += entry(option, positional);
  return out;
}

std::string verbs(const Command& command) {
  if (command.verbs.empty()) return "";
  std::string out = ".SH VERBS\n";
  for (const Command& verb : command.verbs)
    out += ".TP\n\\fB" + roff(man_name(verb)) + "\\fR(1)\n" + prose(verb.description);
  return out;
}

/// What stands below the options of `--help`: remarks, and examples as they are typed.
std::string closing_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string remarks, examples;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Example:" || line == "Examples:") continue;
    (line.starts_with("  ") ? examples : remarks) += roff(line) + "\n";
  }
  if (!remarks.empty()) remarks = ".SH NOTES\n" + remarks;
  return remarks + (examples.empty() ? "" : ".SH EXAMPLES\n.nf\n" + examples + ".fi\n");
}

constexpr const char* exit_status = R"(.SH EXIT STATUS
.TP
0
an answer; that nothing fits is one
.TP
1
what should hold does not: a figure of \fBfidelity\fR, the weights of \fBvalidate\fR
.TP
2
something in the command or in a file of the user's is wrong
.TP
3
a device is at fault: a full disk, a missing part of the installation; or there is no answer
.TP
4
a bug of spillway
.TP
129, 130, 131, 143
stopped by SIGHUP, Ctrl\-C, SIGQUIT or SIGTERM
)";

constexpr const char* environment = R"(.SH ENVIRONMENT
.TP
SPILLWAY_DATA
the folder that holds models/ and scenarios/, an absolute path; else ../share/spillway beside
the program
.TP
SPILLWAY_PLUGINS
the folder that holds the plugins, an absolute path; else ../lib/spillway beside the program
.TP
NO_COLOR
no colours, whatever its value
)";

std::string see_also(const Command& command, const Command* parent) {
  if (!parent) return "";
  std::string out = ".SH SEE ALSO\n.BR " + roff(man_name(*parent)) + " (1)";
  for (const Command& beside : parent->verbs)
    if (parent->words.find(' ') != std::string::npos && beside.words != command.words)
      out += ",\n.BR " + roff(man_name(beside)) + " (1)";
  return out + "\n";
}

/// One line, as whatis(1) wants it.
std::string summary(const Command& command) {
  std::string line = command.description;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

std::string man_name(const Command& command) {
  std::string name = command.words;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const Command& command, const Command* parent, const std::string& version) {
  std::string title = man_name(command);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char one) { return static_cast<char>(std::toupper(one)); });
  return fmt::format(".TH \"{}\" 1 \"\" \"{}\" \"User Commands\"\n", roff(title), roff(version)) +
         ".SH NAME\n" + roff(man_name(command)) + " \\- " + roff(summary(command)) + "\n" +
         ".SH SYNOPSIS\n" + roff(command.usage) + "\n.SH DESCRIPTION\n" +
         prose(command.description) + entries("ARGUMENTS", command.positionals, true) +
         entries("OPTIONS", command.options, false) + verbs(command) +
         closing_lines(command.footer) + exit_status + (parent ? "" : environment) +
         see_also(command, parent);
}

}  // namespace spillway::cli
