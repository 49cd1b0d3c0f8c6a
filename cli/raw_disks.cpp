#include "cli/raw_disks.hpp"

#include "cli/common.hpp"
#include "hw_backend/storage/descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>

namespace spillway::cli {

namespace {

constexpr auto option = "--allow-raw";

std::string read_line(int terminal) {
  std::string line;
  char letter = 0;
  while (::read(terminal, &letter, 1) == 1) {
    if (letter == '\n') return line;
    line += letter;
  }
  refuse(option, "nobody typed the serial number", "nothing was written; run again and type it");
}

}  // namespace

std::string ask_at_terminal(const std::string& text) {
  const bool is_terminal = isatty(STDIN_FILENO) == 1;
  const hw_backend::Descriptor terminal(is_terminal ? dup(STDIN_FILENO)
                                                    : open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal)
    refuse(option, "the serial number has to be typed at a terminal, and there is none",
           "run it in a terminal; nothing was written");
  if (write(terminal.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    refuse(option, "the terminal cannot show what would be overwritten",
           "run it in another terminal");
  return read_line(terminal.get());
}

Gates raw_gates(const hw_backend::BlockLayer& layer, const std::vector<Place>& places,
                const std::vector<std::string>& serials) {
  const auto raw = static_cast<std::size_t>(
      std::count_if(places.begin(), places.end(), [](const Place& place) { return place.raw; }));
  if (raw != serials.size())
    refuse(option,
           fmt::format("{} serial numbers, and --on names {} raw devices", serials.size(), raw),
           "write --allow-raw SERIAL once for each, in their order");
  Gates gates;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].raw) gates.try_emplace(i, layer, places[i].path, serials[gates.size()]);
  return gates;
}

RawDisks open_raw_disks(Gates gates, const std::vector<hw_backend::ProjectedWear>& wear,
                        const Ask& ask) {
  RawDisks disks;
  for (auto& [place, gate] : gates) {
    const std::string typed = ask(gate.statement(wear.at(place)));
    disks.try_emplace(place, std::move(gate).open(typed));
  }
  return disks;
}

}  // namespace spillway::cli
