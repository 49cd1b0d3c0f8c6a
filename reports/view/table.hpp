#pragma once

#include "reports/view/screen.hpp"
#include "reports/view/text.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::view {

enum class Align : unsigned char { left, right };

struct Column {
  std::string title;
  Align align = Align::right;
  std::size_t widest = 0;  ///< longer cells continue on the next line of text; 0: no limit
  std::string name = {};   ///< in CSV and JSON; "": the title
};

struct Cell {
  Cell() = default;
  Cell(std::string words, bool is_best = false) : text(std::move(words)), best(is_best) {}
  Cell(const char* words, bool is_best = false) : text(words), best(is_best) {}
  Cell(Number number, bool is_best = false) : text(std::move(number)), best(is_best) {}
  Cell(Text words, bool is_best = false) : text(std::move(words)), best(is_best) {}
  Text text;
  bool best = false;      ///< of its row: followed by "*", bold and green in colour
  std::string note = {};  ///< where it comes from or what it means; a page shows it on demand
};

/// Rows may be shorter than `columns`: the cells that are missing are empty.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  /// Sentences of which each is printed below the row of its number, over the whole width.
  std::map<std::size_t, Text> remarks = {};
  std::string folded = {};  ///< a page shows this title until it is asked for the rows; "": it does
};

/// Titles, a rule, the rows; two spaces between columns and none at the end of a line.
/// What does not fit the screen: left-aligned columns are narrowed and their words wrapped, no
/// further than their longest word; if that is not enough, the table is cut into blocks of columns
/// that each repeat the first column. A name is broken only where it is longer than what such a
/// block leaves it. Nothing is ever left out, so a screen narrower than two columns gets lines that
/// are too long.
std::string to_text(const Table& table, const Screen& screen);

/// `text` in lines of at most `width` columns, broken at spaces but not between a number and its
/// unit, inside a word only if it is longer than a line.  Line ends in `text` count as spaces;
/// no-break spaces do not break and come out as spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Takes out the columns in which every cell is empty or "-".
void drop_silent_columns(Table& table);

/// `text` in lines of at most the screen's width, each after `indent` spaces.
std::string paragraph(std::string_view text, const Screen& screen, std::size_t indent = 0);

/// Columns of a terminal that UTF-8 `text` takes.
std::size_t display_width(std::string_view text);

/// "bold" on a terminal that shows it.
std::string bold(std::string_view text, const Screen& screen);

}  // namespace spillway::view
