#include "gui/model/dimension.hpp"

#include "gui/model/text.hpp"
#include "reports/exploration/objectives.hpp"
#include "reports/view/text.hpp"
#include "scenarios/description/quantity.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// Texts of a space that are quantities, and what they count.
constexpr std::pair<description::Dimension, Quantity> kinds[] = {
    {description::Dimension::bytes, Quantity::bytes},
    {description::Dimension::bytes_per_second, Quantity::rate},
    {description::Dimension::seconds, Quantity::seconds},
    {description::Dimension::flops_per_second, Quantity::number},
    {description::Dimension::params, Quantity::number},
    {description::Dimension::params_per_second, Quantity::number},
};

std::optional<double> parsed(description::Dimension kind, const json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto read = description::parse_quantity(kind, value.get<std::string>());
  return read.problem.empty() ? std::optional<double>(static_cast<double>(read.value))
                              : std::nullopt;
}

QString word_of(const json& value) { return qt(view::words(reports::axis_text(value))); }

}  // namespace

QString title_of(const std::string& path) {
  static const std::map<std::string, const char*> known = {
      {"machine.gpu.count", "cards"},           {"machine.gpu.memory", "GPU memory"},
      {"machine.host.memory", "host memory"},   {"parallel.data", "data parallel"},
      {"parallel.pipeline", "pipeline stages"}, {"parallel.tensor", "tensor parallel"},
      {"parallel.zero_stage", "ZeRO stage"},    {"strategy.io_engine", "I/O engine"},
      {"training.micro_batch", "micro-batch"},  {"training.sequence", "context"},
  };
  if (const auto found = known.find(path); found != known.end()) return found->second;
  const QString text = qt(path);
  const auto inside = [&text](const QString& before, const QString& after) {
    return text.startsWith(before) && text.endsWith(after)
               ? text.mid(before.size(), text.size() - before.size() - after.size())
               : QString();
  };
  if (const QString name = inside("machine.storage.", ".count"); !name.isEmpty())
    return "drives of " + name;
  if (const QString part = inside("machine.prices_usd.", ""); !part.isEmpty())
    return "price of " + QString(part).replace('_', ' ');
  for (const char* folder : {"strategy.", "training.", "machine.", "run."})
    if (const QString rest = inside(folder, ""); !rest.isEmpty())
      return QString(rest).replace('.', ' ').replace('_', ' ');
  return qt(reports::objective_title(path));
}

Dimension axis_of(const std::string& path, const std::vector<json>& values) {
  Dimension axis{path, title_of(path), quantity_of(qt(path))};
  if (qt(path).startsWith("machine.prices_usd.")) axis.quantity = Quantity::dollars;
  const auto all = [&values](const auto& of) {
    return !values.empty() && std::all_of(values.begin(), values.end(), of);
  };
  if (axis.quantity == Quantity::number &&
      all([](const json& value) { return value.is_number_integer(); }))
    axis.quantity = Quantity::whole;
  if (all([](const json& value) { return value.is_number(); })) return axis;
  for (const auto& [kind, quantity] : kinds)
    if (all([kind = kind](const json& value) { return parsed(kind, value).has_value(); })) {
      axis.quantity = quantity;
      const bool of_memory = path.ends_with(".memory");
      if (quantity == Quantity::bytes && of_memory) axis.quantity = Quantity::memory;
      return axis;
    }
  for (const json& value : values) axis.words.push_back(word_of(value));
  return axis;
}

std::optional<double> number_of(const Dimension& dimension, const json& value) {
  if (dimension.of_words()) {
    if (value.is_null()) return std::nullopt;
    const auto& words = dimension.words;
    const auto found = std::find(words.begin(), words.end(), word_of(value));
    return found == words.end() ? std::nullopt
                                : std::optional<double>(static_cast<double>(found - words.begin()));
  }
  if (value.is_number()) return value.get<double>();
  for (const auto& [kind, quantity] : kinds)
    if (const auto number = parsed(kind, value)) return number;
  return std::nullopt;
}

QString text_of(const Dimension& dimension, double number) {
  if (!dimension.of_words()) return text_of(dimension.quantity, number);
  const auto at = static_cast<std::ptrdiff_t>(std::lround(number));
  const auto size = static_cast<std::ptrdiff_t>(dimension.words.size());
  return at >= 0 && at < size ? dimension.words[static_cast<std::size_t>(at)] : QString();
}

QString words_of(const Dimension& dimension, const Range& range) {
  if (!dimension.of_words())
    return QString("%1 from %2 to %3")
        .arg(dimension.title, text_of(dimension, range.from), text_of(dimension, range.to));
  QStringList words;
  for (std::size_t i = 0; i < dimension.words.size(); ++i)
    if (range.holds(static_cast<double>(i))) words << dimension.words[i];
  return dimension.title + " " + (words.isEmpty() ? "none" : words.join(", "));
}

}  // namespace spillway::gui
