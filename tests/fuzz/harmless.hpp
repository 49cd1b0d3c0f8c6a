#pragma once

#include "reports/view/html_page.hpp"
#include "reports/view/json_page.hpp"
#include "reports/view/text_page.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/strict_json.hpp"
#include "scenarios/description/text.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace spillway::fuzz {

/// Fails unless `text` is UTF-8 without characters that move a terminal's cursor, change its
/// colours or the order in which others are read; line ends may stand in it.
inline void ensure_printable(std::string text) {
  std::erase(text, '\n');
  ENSURE(description::printable(text) == text, "a character that a terminal obeys");
}

inline bool is_one_of(std::string_view word, std::initializer_list<std::string_view> known) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

/// Takes what stands before `end` from the front of `text`, and `end` with it.
inline std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  ENSURE(at != std::string_view::npos, "a tag that does not end");
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

/// Of `name="value" name="value"`: no value has a quotation mark in it, so a name that pages do not
/// use came out of one.
inline void ensure_known_attributes(std::string_view text) {
  while (!text.empty()) {
    ENSURE(text.starts_with(' '), "an attribute right behind another");
    text.remove_prefix(1);
    ENSURE(is_one_of(take_until(text, "=\""), {"class", "id", "style", "title", "scope", "colspan",
                                               "data-value", "type", "data-chart"}),
           "an attribute that pages do not have");
    take_until(text, "\"");
  }
}

/// Fails unless the page has the tags and attributes of our renderer, and nothing else: words in it
/// make none, and end no script.
inline void ensure_known_tags(const std::string& page) {
  std::string_view rest(page);
  take_until(rest, "<title>");
  ENSURE(take_until(rest, "</title>\n<style>").find('<') == std::string_view::npos,
         "a tag in the title");
  take_until(rest, "<main>\n");
  rest = rest.substr(0, rest.rfind("</main>"));
  while (rest.find('<') != std::string_view::npos) {
    ensure_printable(std::string(take_until(rest, "<")));
    const std::string_view tag = take_until(rest, ">");
    ensure_printable(std::string(tag));
    const std::size_t end = std::min(tag.find(' '), tag.size());
    const std::string_view name = tag.substr(tag.starts_with('/') ? 1 : 0, end);
    ENSURE(is_one_of(name, {"h1",      "h2",         "h3",      "h4",    "p",     "div", "span",
                            "sup",     "strong",     "table",   "thead", "tbody", "tr",  "th",
                            "td",      "ul",         "li",      "b",     "em",    "pre", "figure",
                            "summary", "figcaption", "details", "script"}),
           "a tag that pages do not have");
    ensure_known_attributes(tag.substr(end));
    if (tag.starts_with("script"))
      ENSURE(take_until(rest, "</script>").find('<') == std::string_view::npos,
             "a tag in the data of a script");
  }
}

/// The colours of a terminal, which only our renderer may write.
inline std::string without_colours(std::string text) {
  for (std::size_t at = 0; (at = text.find("\033[", at)) != std::string::npos;) {
    const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
    ENSURE(end != std::string::npos && text[end] == 'm', "a terminal is told more than colours");
    text.erase(at, end + 1 - at);
  }
  return text;
}

/// Renders the document in every way there is. Fails unless a terminal gets plain text, a page only
/// our own tags, and other programs JSON.
inline void ensure_harmless(const view::Document& document) {
  ensure_printable(view::to_text(document, {}));
  ensure_printable(without_colours(view::to_text(document, {60, true})));
  const std::string page = view::to_html(document);
  ensure_known_tags(page);
  const std::string json = description::json_text(view::to_json(document));
  ENSURE(description::parse_strictly(json).problem.empty(), "JSON that cannot be read");
}

}  // namespace spillway::fuzz
