#pragma once

#include <cstddef>
#include <cstdio>

namespace spillway::view {

/// What text is written for.
struct Screen {
  std::size_t width = 100;  ///< columns; lines are kept below it where words allow
  bool colour = false;      ///< a terminal that shows bold and colour
  bool searched = false;    ///< a file or pipe without a width: tables of keys are a line a key

  /// The same for a table of keys.
  Screen for_keys() const;
};

/// The terminal behind `stream`: its width, or $COLUMNS where that is set; colour unless
/// $NO_COLOR is set or $TERM is dumb.  A file or pipe is the default Screen, whatever terminal runs
/// it, but as wide as $COLUMNS says where that is exported.
Screen screen_of(std::FILE* stream);

}  // namespace spillway::view
