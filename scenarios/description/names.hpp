#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace spillway::description {

/// The words that people write for the values of an enum, in the order of its declaration. Each
/// enum that people write has them below its declaration.
template <class E>
inline constexpr std::array<std::string_view, 0> names_of{};

/// A list of words for names_of.
template <class... Text>
constexpr std::array<std::string_view, sizeof...(Text)> in_order(const Text&... words) {
  return {words...};
}

template <class E>
constexpr std::string_view name_of(E value) {
  return names_of<E>.at(static_cast<std::size_t>(value));
}

/// The value whose word is `name`; none when it is no word of the enum.
template <class E>
constexpr std::optional<E> value_named(std::string_view name) {
  for (std::size_t i = 0; i < names_of<E>.size(); ++i)
    if (names_of<E>[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace spillway::description
