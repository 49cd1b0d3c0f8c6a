#include "reports/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace spillway::reports {

namespace {
constexpr std::size_t narrowest = 40;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
}  // namespace

Screen screen_of(std::FILE* stream) {
  const int file = fileno(stream);
  Screen screen;
  if (!isatty(file)) return screen;
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) screen.width = size.ws_col;
  const std::string_view columns = environment("COLUMNS");
  std::from_chars(columns.data(), columns.data() + columns.size(), screen.width);
  screen.width = std::max(screen.width, narrowest);
  screen.colour = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return screen;
}

}  // namespace spillway::reports
