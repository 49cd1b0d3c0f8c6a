#include "reports/view/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace spillway::view {

namespace {
constexpr std::size_t narrowest = 40;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
}  // namespace

Screen Screen::for_keys() const {
  constexpr std::size_t no_limit = 1 << 20;
  return searched ? Screen{no_limit, colour, searched} : *this;
}

Screen screen_of(std::FILE* stream) {
  const int file = fileno(stream);
  Screen screen;
  const bool terminal = isatty(file);
  winsize size{};
  if (terminal && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    screen.width = size.ws_col;
  const std::string_view columns = environment("COLUMNS");
  const auto read = std::from_chars(columns.data(), columns.data() + columns.size(), screen.width);
  const bool said = read.ec == std::errc() && read.ptr != columns.data();
  screen.width = std::max(screen.width, narrowest);
  screen.searched = !terminal && !said;
  screen.colour = terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return screen;
}

}  // namespace spillway::view
