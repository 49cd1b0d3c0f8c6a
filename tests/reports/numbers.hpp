#pragma once

#include "reports/view/document.hpp"

#include <variant>
#include <vector>

namespace spillway::reports {

/// The numbers of a text or a document, in the order in which they are read.
inline std::vector<view::Number> numbers_of(const view::Text& text) {
  std::vector<view::Number> numbers;
  for (const view::Text::Piece& piece : text.pieces())
    if (piece.is_number) numbers.push_back(piece.number);
  return numbers;
}

inline std::vector<view::Number> numbers_of(const view::Document& document) {
  std::vector<view::Number> all;
  const auto take = [&](const view::Text& text) {
    for (const view::Number& number : numbers_of(text)) all.push_back(number);
  };
  for (const view::Block& block : document.blocks) {
    if (const auto* one = std::get_if<view::Paragraph>(&block.content)) take(one->text);
    if (const auto* table = std::get_if<view::Table>(&block.content))
      for (const auto& row : table->rows)
        for (const view::Cell& cell : row) take(cell.text);
  }
  return all;
}

/// Whether a number of the document is `value` to the last bit, of that quantity.
inline bool holds(const view::Document& document, double value, view::Quantity quantity) {
  for (const view::Number& number : numbers_of(document))
    if (number.value == value && number.quantity == quantity) return true;
  return false;
}

}  // namespace spillway::reports
