#include "reports/view/table.hpp"

#include "scenarios/description/text.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <numeric>

namespace spillway::view {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest_column = 14;
constexpr std::size_t remark_indent = 4;
constexpr std::string_view no_break = no_break_space;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// Bytes of the longest beginning of `text` that is whole characters and at most `width` wide;
/// one character at least.
std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t at = 1; at <= text.size(); ++at) {
    if (at < text.size() && !starts_character(text[at])) continue;
    if (end > 0 && display_width(text.substr(0, at)) > width) break;
    end = at;
  }
  return end;
}

/// What a terminal shows, without spaces at the end.
std::string printable(std::string_view text) {
  std::string out = description::printable(text);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

/// No-break spaces have done their work when lines are cut; as spaces they can be searched for.
std::string with_spaces(std::string_view line) {
  std::string out(line);
  for (std::size_t at = 0; (at = out.find(no_break_space, at)) != std::string::npos; ++at)
    out.replace(at, no_break.size(), " ");
  return out;
}

/// Units after a number, which stay on its line.
constexpr std::string_view units[] = {
    "B",        "KiB",  "MiB",   "GiB",  "TiB",   "PiB",   "kB",   "MB",    "GB",
    "TB",       "PB",   "B/s",   "kB/s", "MB/s",  "GB/s",  "TB/s", "ns",    "us",
    "ms",       "s",    "min",   "h",    "day",   "days",  "%",    "month", "months",
    "tokens/s", "year", "years", "step", "steps", "TFLOPS"};

bool is_number(std::string_view word) {
  if (const std::size_t glued = word.rfind(no_break_space); glued != std::string_view::npos)
    word.remove_prefix(glued + no_break.size());
  while (!word.empty() && std::string_view("($+-").find(word.front()) != std::string_view::npos)
    word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789.,") == std::string_view::npos &&
         word.back() != ',' && word.back() != '.';
}

bool is_unit(std::string_view word) {
  word = word.substr(0, word.find(no_break));
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  return std::find(std::begin(units), std::end(units), word) != std::end(units);
}

/// Two words that are read as one: "1.5 GiB", "micro-batch 8 x 4".
bool belongs_together(std::string_view word, std::string_view next) {
  return (is_number(word) && (is_unit(next) || next == "x")) || (word == "x" && is_number(next));
}

/// `text` with no-break spaces between numbers and their units.
std::string with_units_kept(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    out += word;
    if (end == text.size()) break;
    const std::size_t next = std::min(text.find(' ', end + 1), text.size());
    const bool joined = belongs_together(word, text.substr(end + 1, next - end - 1));
    out += joined ? no_break_space : " ";
    at = end + 1;
  }
  return out;
}

/// ColumnBlock that the longest piece takes that may not be broken.
std::size_t longest_word(std::string_view text) {
  const std::string kept = with_units_kept(printable(text));
  std::size_t longest = 0;
  for (std::size_t at = 0; at <= kept.size();) {
    const std::size_t end = std::min(kept.find(' ', at), kept.size());
    longest = std::max(longest, display_width(std::string_view(kept).substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

/// The columns of one block and how wide each is, marks included.
struct ColumnBlock {
  std::vector<std::size_t> columns;
  std::vector<std::size_t> widths;
};

/// A cell with its numbers in words.
struct Shown {
  std::string text;
  bool best = false;
};

class Layout {
 public:
  Layout(const Table& table, const Screen& screen) : table_(table), screen_(screen) {
    for (const std::vector<Cell>& row : table.rows) {
      rows_.emplace_back();
      for (const Cell& cell : row) rows_.back().push_back({words(cell.text), cell.best});
    }
    for (std::size_t c = 0; c < table.columns.size(); ++c) measure(c);
    narrow();
  }

  std::string text() const {
    std::string out;
    for (const ColumnBlock& block : blocks()) out += (out.empty() ? "" : "\n") + text_of(block);
    return out;
  }

 private:
  void measure(std::size_t c) {
    const Column& column = table_.columns[c];
    std::size_t width = display_width(column.title), word = longest_word(column.title);
    bool marked = false;
    for (const auto& row : rows_) {
      if (c >= row.size()) continue;
      width = std::max(width, display_width(row[c].text));
      word = std::max(word, longest_word(row[c].text));
      marked = marked || row[c].best;
    }
    if (column.widest > 0) width = std::min(width, std::max(word, column.widest));
    widths_.push_back(width);
    words_.push_back(word);
    marks_.push_back(marked ? 1 : 0);
  }

  std::size_t total() const {
    return std::accumulate(widths_.begin(), widths_.end(), std::size_t{0}) +
           std::accumulate(marks_.begin(), marks_.end(), std::size_t{0}) +
           gap * (widths_.size() - std::min<std::size_t>(widths_.size(), 1));
  }

  /// Takes what is too much from the left-aligned columns, always from the widest, down to its
  /// longest word. When that is not enough the table is cut anyway, and words keep their room, up
  /// to half of the screen.
  void narrow() {
    const std::vector<std::size_t> natural = widths_;
    while (total() > screen_.width)
      if (!narrow_widest()) break;
    if (total() <= screen_.width) return;
    widths_ = natural;
    for (std::size_t c = 0; c < widths_.size(); ++c) {
      const bool left = table_.columns[c].align == Align::left;
      const std::size_t most = left ? std::max(narrowest_column, screen_.width / 2) : widths_[c];
      widths_[c] = std::min({widths_[c], std::max(most, words_[c]), room_for(c)});
    }
  }

  /// What a block has for the column beside the first one, which comes before it.
  std::size_t room_for(std::size_t c) const {
    const std::size_t taken = (c == 0 ? 0 : widths_[0] + marks_[0] + gap) + marks_[c];
    return std::max(narrowest_column, screen_.width - std::min(screen_.width, taken));
  }

  bool narrow_widest() {
    std::size_t widest = widths_.size();
    for (std::size_t c = 0; c < widths_.size(); ++c)
      if (table_.columns[c].align == Align::left &&
          widths_[c] > std::max(narrowest_column, words_[c]) &&
          (widest == widths_.size() || widths_[c] > widths_[widest]))
        widest = c;
    if (widest == widths_.size()) return false;
    --widths_[widest];
    return true;
  }

  std::vector<ColumnBlock> blocks() const {
    std::vector<ColumnBlock> result;
    std::size_t used = 0;
    for (std::size_t c = 0; c < widths_.size(); ++c) {
      const std::size_t width = widths_[c] + marks_[c];
      const bool fits = used + gap + width <= screen_.width;
      if (result.empty() || (!fits && result.back().columns.size() > 1)) {
        result.emplace_back();
        used = 0;
        if (c > 0) used = add(result.back(), 0, used);
      }
      used = add(result.back(), c, used);
    }
    return result;
  }

  std::size_t add(ColumnBlock& block, std::size_t c, std::size_t used) const {
    block.columns.push_back(c);
    block.widths.push_back(widths_[c] + marks_[c]);
    return used + (used > 0 ? gap : 0) + block.widths.back();
  }

  std::string text_of(const ColumnBlock& block) const {
    std::vector<Shown> titles;
    for (const Column& column : table_.columns) titles.push_back({column.title});
    std::string out = row_text(block, titles, true);
    const std::size_t gaps = gap * (block.widths.size() - 1);
    out += std::string(std::accumulate(block.widths.begin(), block.widths.end(), gaps), '-') + "\n";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!first_block(block) && !says_something(block, rows_[i])) continue;
      out += row_text(block, rows_[i], false);
      const auto remark = table_.remarks.find(i);
      if (remark != table_.remarks.end() && first_block(block))
        out += paragraph(words(remark->second), screen_, remark_indent);
    }
    return out;
  }

  /// A table that is cut says its remarks once, and names there all of its rows.
  static bool first_block(const ColumnBlock& block) {
    return block.columns.size() == 1 || block.columns[1] == 1;
  }

  /// In columns that others stand before, a row of nothing but its name is left out.
  static bool says_something(const ColumnBlock& block, const std::vector<Shown>& row) {
    return std::any_of(block.columns.begin() + 1, block.columns.end(), [&](std::size_t c) {
      return c < row.size() && !row[c].text.empty() && row[c].text != "-";
    });
  }

  std::string row_text(const ColumnBlock& block, const std::vector<Shown>& row, bool title) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t c : block.columns) {
      cells.push_back(wrapped(c < row.size() ? row[c].text : "", widths_[c]));
      height = std::max(height, cells.back().size());
    }
    std::string out;
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      std::size_t owed = 0;  // spaces that stand only before something
      for (std::size_t i = 0; i < cells.size(); ++i)
        add_cell(text, owed, block, i, cells[i], line, row, title);
      out += text + "\n";
    }
    return out;
  }

  void add_cell(std::string& text, std::size_t& owed, const ColumnBlock& block, std::size_t i,
                const std::vector<std::string>& lines, std::size_t line,
                const std::vector<Shown>& row, bool title) const {
    const std::size_t c = block.columns[i];
    const std::string& words = line < lines.size() ? lines[line] : "";
    const bool best = c < row.size() && row[c].best && !title;
    const std::size_t free = widths_[c] - std::min(widths_[c], display_width(words));
    const bool right = table_.columns[c].align == Align::right;
    const std::string mark = best && line + 1 == lines.size() ? "*" : "";
    if (!words.empty()) {
      text += std::string(owed + (right ? free : 0), ' ');
      text += styled(words + mark, best, title);
      owed = (right ? 0 : free) + marks_[c] - mark.size();
    } else {
      owed += widths_[c] + marks_[c];
    }
    owed += gap;
  }

  std::string styled(const std::string& words, bool best, bool title) const {
    if (!screen_.colour) return words;
    if (title) return "\033[1m" + words + "\033[0m";
    return best ? "\033[1;32m" + words + "\033[0m" : words;
  }

  const Table& table_;
  const Screen& screen_;
  std::vector<std::vector<Shown>> rows_;
  std::vector<std::size_t> widths_;
  std::vector<std::size_t> words_;  ///< the longest of each column, which is not broken
  std::vector<std::size_t> marks_;  ///< 1 where a cell of the column carries a mark
};

}  // namespace

std::size_t display_width(std::string_view text) {
  // fmt pads by display width: what it adds to reach `size` columns is what the text is short of.
  return 2 * text.size() - fmt::formatted_size("{:{}}", text, text.size());
}

namespace {

/// Behind the last seam of a name that is too long for a line, not too far left and in no number;
/// 0: it has none.
std::size_t seam_of(std::string_view name) {
  for (std::size_t at = name.size(); at-- > name.size() / 3;) {
    if (std::string_view("_./,").find(name[at]) == std::string_view::npos) continue;
    const bool digits = at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1])) != 0;
    if (!digits || name[at] == '_' || name[at] == '/') return at + 1;
  }
  return 0;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  const std::string clean = with_units_kept(printable(text));
  std::string_view rest = clean;
  std::vector<std::string> lines;
  while (display_width(rest) > width) {
    std::size_t end = fitting(rest, width);
    std::size_t next = end;
    if (end < rest.size() && rest[end] == ' ') {
      next = end + 1;
    } else if (const std::size_t space = rest.substr(0, end).rfind(' ');
               space != std::string_view::npos && rest.find_first_not_of(' ') < space) {
      end = space;
      next = space + 1;
    } else if (const std::size_t kept = rest.substr(0, end).rfind(no_break_space);
               kept != std::string_view::npos && kept > 0) {
      end = kept;  // what is longer than a line
      next = kept + no_break.size();
    } else if (const std::size_t joint = seam_of(rest.substr(0, end)); joint > 0) {
      end = next = joint;
    }
    if (next == rest.size()) break;
    lines.push_back(with_spaces(rest.substr(0, end)));
    rest.remove_prefix(next);
  }
  lines.push_back(with_spaces(rest));
  return lines;
}

void drop_silent_columns(Table& table) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool silent = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return c >= row.size() || row[c].text.empty() || row[c].text == "-";
    });
    if (!silent) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows)
      if (c < row.size()) row.erase(row.begin() + at);
  }
}

std::string paragraph(std::string_view text, const Screen& screen, std::size_t indent) {
  std::string out;
  const std::size_t width = screen.width - std::min(indent, screen.width - 1);
  for (const std::string& line : wrapped(text, width))
    out += std::string(indent, ' ') + line + "\n";
  return out;
}

std::string bold(std::string_view text, const Screen& screen) {
  return screen.colour ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}

std::string to_text(const Table& table, const Screen& screen) {
  return Layout(table, screen).text();
}

}  // namespace spillway::view
