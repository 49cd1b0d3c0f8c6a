#include "reports/trace/gzip.hpp"

#include "scenarios/description/errors.hpp"

#include <zlib.h>
#include <algorithm>
#include <limits>

namespace spillway::reports {

namespace {
/// Window of 32 KiB, and 16 more: a header of gzip's instead of zlib's.
constexpr int gzip_window = 15 + 16, memory_level = 8;
}  // namespace

std::string gzipped(std::string_view text) {
  z_stream stream{};
  ENSURE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, memory_level,
                      Z_DEFAULT_STRATEGY) == Z_OK,
         "zlib cannot begin");
  std::string out;
  char buffer[1 << 16];
  int state = Z_OK;
  while (state == Z_OK) {
    if (stream.avail_in == 0) {
      const std::size_t part = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
      stream.avail_in = static_cast<uInt>(part);
      text.remove_prefix(part);
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    state = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  }
  deflateEnd(&stream);
  ENSURE(state == Z_STREAM_END, "zlib ended early");
  return out;
}

}  // namespace spillway::reports
