#pragma once

#include <QString>

namespace spillway::gui {

/// What a number counts; decides units and round numbers.
enum class Quantity : unsigned char {
  seconds,
  memory,
  bytes,
  rate,
  dollars,
  cents,  ///< dollars, three digits of them
  years,
  whole,  ///< cards, drives: nothing is between two of them
  number,
};

/// As the terminal says it: "36.6 s", "12.4 GiB", "393.2 GB", "12.4 GB/s", "$4,258", "1,234".
QString text_of(Quantity quantity, double value);

/// Of an axis or objective of a space, by how its path ends.
Quantity quantity_of(const QString& path);

}  // namespace spillway::gui
