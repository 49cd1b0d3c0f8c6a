#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace spillway::description {

/// One setting of a part as its list of knobs declares it: the same row reads it, writes it, makes
/// its schema and says what it means.
struct Knob {
  const char* name;            ///< its key in the part's object
  const char* words;           ///< what it means
  const char* deepspeed = "";  ///< the key of DeepSpeed's configuration; "" where it has none
  const char* systems = "";    ///< who reads it; "": every system that has use for it
};

/// What a number may be, both ends included.
struct Range {
  double least, most;
  constexpr bool bounds() const { return least <= most; }
};
inline constexpr Range any_number{0, -1};

/// A text that is known when the program is compiled, as a parameter of a template.
template <std::size_t Size>
struct Word {
  char letters[Size];
  constexpr Word(const char (&text)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) letters[i] = text[i];
  }
  constexpr std::string_view view() const { return {letters, Size - 1}; }
};

/// A value, or the word that people write in its place: `Or<Bytes, "auto">`.
template <class T, Word word>
struct Or {
  static constexpr std::string_view name = word.view();

  Or() = default;
  Or(T written) : value(written) {}

  std::optional<T> value;  ///< empty: the word
  bool operator==(const Or&) const = default;
};

}  // namespace spillway::description
