#pragma once

#include "reports/view/table.hpp"
#include "reports/view/text.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What a report says, before anybody decides how it looks. Reports make documents; renderers
/// (text, CSV, JSON, a page) and the application's models read them and know nothing of what they
/// are about.
namespace spillway::view {

struct Heading {
  Text text;
  int level = 2;        ///< 1: of the document
  std::string id = {};  ///< for links into a page; "": none
};

/// How much a paragraph weighs.
enum class Tone : unsigned char { plain, verdict, warning, note };

struct Paragraph {
  Text text;
  Tone tone = Tone::plain;
  std::size_t indent = 0;  ///< columns of text
  bool wraps = true;       ///< where text is narrower; false: it stays one line
};

/// Text that is kept as it is: a command, a file.
struct Verbatim {
  std::string title;
  std::string text;
  bool folded = false;  ///< a page shows its title until it is asked for more
};

/// What contains what: memory by purpose, then by buffer.
struct Node {
  Text label;
  Number amount;
  std::string note = {};  ///< "set by strategy.weights.pool; shrinks with ..."
  std::vector<Node> parts = {};
};
struct Tree {
  std::string title;
  std::vector<Node> roots;
};

/// A part of a bar.
struct BarPart {
  std::string label;
  Number amount;
  std::string note = {};
  bool spare = false;  ///< kept free, not used
};
struct Bar {
  std::string label;
  std::vector<BarPart> parts;            ///< from the left
  std::optional<Number> limit = {};      ///< what the whole may be
  std::string limit_label = "capacity";  ///< what it is called
  Text beside = {};                      ///< said at its end
};
/// Bars under each other, all of one quantity.
struct Bars {
  std::string title;
  std::vector<Bar> bars;
  bool each_its_own = false;  ///< each bar has a scale of its own: its limit is the full width
};

/// From `at` on the value is `value`, until the next sample.
struct Sample {
  double at = 0;  ///< of the chart's axis: seconds
  double value = 0;
};
struct Curve {
  std::string label;
  std::vector<Sample> samples;  ///< by `at`
};
/// Curves over time, stacked or beside each other.
struct Series {
  std::string title;
  Quantity quantity = Quantity::number;
  bool stacked = false;
  std::vector<Curve> curves = {};        ///< of a stack from the bottom
  std::optional<Number> limit = {};      ///< a line across
  std::string limit_label = "capacity";  ///< what it is called
  std::string axis = "time";             ///< charts of one axis show the same time, together
};

/// One thing that takes from `start_s` to `end_s`.
struct Slice {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  double start_s = 0, end_s = 0;
  double asked_s = 0;       ///< from when on it waited to start
  std::uint32_t lane = 0;   ///< in Lanes::lanes
  std::uint32_t name = 0;   ///< in Lanes::names
  std::uint32_t phase = 0;  ///< in Lanes::names
  std::uint64_t bytes = 0;
  std::uint32_t after = none;  ///< in Lanes::slices: what ended so that this could start
  std::uint32_t from = none;   ///< in Lanes::slices: what stored the data that this loads
};
struct Lane {
  std::string title;
  std::string group;  ///< lanes of one group stand together: "rank 0", "node"
};
/// What ran when. Slices of a lane do not overlap and are in order.
struct Lanes {
  std::string title;
  std::vector<Lane> lanes;
  std::vector<std::string> names;
  std::vector<Slice> slices;
  std::string axis = "time";
  double first_s = 0, last_s = 0;  ///< what is shown before anybody looks elsewhere
};

struct Document;
/// Documents side by side.
struct Columns {
  std::vector<Document> documents;
};

/// Whole data that a page carries along, so that others can read what it says.
struct Data {
  std::string id;
  std::string json;
};

struct Block {
  std::variant<Heading, Paragraph, Verbatim, Table, Tree, Bars, Series, Lanes, Columns, Data>
      content;
  bool joined = false;  ///< text has no empty line between this and the block before it
};

struct Document {
  std::string title;
  std::vector<Block> blocks;

  /// Adds a block of any kind.
  template <class Content>
  Document& add(Content content, bool joined = false) {
    blocks.push_back({std::move(content), joined});
    return *this;
  }
  /// Adds a paragraph, where there is something to say: right below another one, else apart from
  /// what stands above it.
  Document& say(Text text) {
    const bool below = !blocks.empty() && std::holds_alternative<Paragraph>(blocks.back().content);
    return text.empty() ? *this : add(Paragraph{std::move(text)}, below);
  }
  /// Adds the blocks of another document.
  Document& append(Document other) {
    for (Block& block : other.blocks) blocks.push_back(std::move(block));
    return *this;
  }
};

}  // namespace spillway::view
