#include "reports/run/csv.hpp"
#include "reports/trace/chrome_trace.hpp"
#include "reports/trace/gzip.hpp"
#include "reports/trace/memory_snapshot.hpp"
#include "tests/fuzz/harmless.hpp"
#include "tests/fuzz/read_text.hpp"

#include <sstream>

namespace {

using namespace spillway;

/// Hands out the lines of an input, again and again.
class Words {
 public:
  explicit Words(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) lines_.push_back(line);
    if (lines_.empty()) lines_.emplace_back();
  }
  const std::string& next() { return lines_[next_++ % lines_.size()]; }
  std::size_t size() const { return lines_.size(); }

 private:
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

view::Number amount(Words& words) {
  return view::number(static_cast<double>(words.next().size()), words.next());
}

view::Table table_of(Words& words) {
  view::Table table{{{words.next(), view::Align::left, 30}, {words.next()}}, {}};
  for (std::size_t row = 0; row < words.size(); ++row) {
    table.rows.push_back({words.next(), view::Cell(amount(words), true)});
    table.rows.back().back().note = words.next();
  }
  table.remarks[0] = words.next();
  return table;
}

/// Every kind of block, with these words in every place that has some.
view::Document document_of(Words& words) {
  view::Document document{words.next(), {}};
  document.add(view::Heading{words.next(), 2, words.next()});
  document.add(view::Paragraph{view::filled("{} of {}", {amount(words), words.next()})});
  document.add(view::Paragraph{words.next(), view::Tone::warning, 2, false});
  document.add(view::Verbatim{words.next(), words.next() + "\n" + words.next(), true});
  document.add(view::Verbatim{"", words.next()});
  document.add(table_of(words));
  view::Table folded = table_of(words);
  folded.folded = words.next();
  document.add(folded);
  document.add(view::Tree{words.next(),
                          {{words.next(),
                            amount(words),
                            words.next(),
                            {{words.next(), amount(words), words.next()}}}}});
  view::Bar bar{words.next(), {{words.next(), amount(words), words.next()}}, amount(words)};
  bar.limit_label = words.next(), bar.beside = words.next();
  document.add(view::Bars{words.next(), {bar}});
  view::Series series{words.next()};
  series.curves = {{words.next(), {{0, 1}, {1, 2}}}};
  series.limit = amount(words), series.limit_label = words.next(), series.axis = words.next();
  document.add(series);
  view::Lanes lanes{words.next(), {{words.next(), words.next()}}, {words.next()}, {{0, 1}}};
  document.add(lanes);
  document.add(view::Data{words.next(), description::json_text({{words.next(), words.next()}})});
  document.add(view::Columns{{view::Document{words.next(), {}}.say(words.next())}});
  return document;
}

/// The fields of CSV, in its lines.
///   Source  RFC 4180
std::vector<std::vector<std::string>> fields_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t at = 0; at < csv.size(); ++at) {
    std::string& field = rows.back().back();
    if (csv[at] == '"') {
      const bool doubled = quoted && at + 1 < csv.size() && csv[at + 1] == '"';
      if (doubled)
        field += csv[at++];
      else
        quoted = !quoted;
    } else if (!quoted && csv[at] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && csv[at] == '\n') {
      rows.push_back({""});
    } else {
      field += csv[at];
    }
  }
  ENSURE(!quoted && rows.back() == std::vector<std::string>{""}, "CSV that ends within a line");
  rows.pop_back();
  return rows;
}

/// What is written as CSV reads as it was, but that no field is a formula.
void check_csv(Words& words) {
  const std::vector<std::string> header{words.next(), words.next()};
  const std::vector<std::vector<std::string>> rows{{words.next(), words.next()}};
  std::ostringstream csv;
  reports::write_csv(csv, header, rows);
  const auto read = fields_of(csv.str());
  ENSURE(read.size() == 2 && read[1].size() == 2, "CSV of another shape");
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& field = read[1][i];
    ENSURE(field == rows[0][i] || field == "'" + rows[0][i], "a field that reads as another");
    ENSURE(field.size() < 2 || (field[0] != '=' && field[0] != '@'), "a formula");
  }
  const view::Table table = table_of(words);
  for (const auto& row : fields_of(view::to_csv(table)))
    ENSURE(row.size() == table.columns.size(), "a line of CSV of another length");
}

/// A trace with these words is JSON for those who draw it, and a snapshot for those who list it.
void check_trace(Words& words) {
  result::Trace trace;
  trace.spans = {{"rank 0 " + words.next(), words.next(), words.next(), 0, 1, 5, words.next(), 1},
                 {words.next(), words.next(), words.next(), 0.5, 2, 7, words.next(), 2}};
  trace.samples = {{words.next(), 0, 5}, {words.next(), 1, 7}};
  trace.buffers = {{"gpu 0", 0, words.next(), words.next(), 5, 6, false, 0, 1, words.next()},
                   {words.next(), 1, words.next(), words.next(), 7, 8, true, 0.5}};
  std::ostringstream written;
  reports::write_chrome_trace(written, trace);
  const auto read = description::parse_strictly(written.str());
  ENSURE(read.problem.empty(), "a trace that is no JSON");
  reports::gzipped(written.str());
  const std::string snapshot = reports::memory_snapshot(trace);
  ENSURE(snapshot.starts_with("\x80\x02") && snapshot.ends_with('.'), "no pickle");
}

}  // namespace

/// Whatever words a report has, terminals and pages show them and obey none, and programs read
/// them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Words words(fuzz::text_of(data, size));
  fuzz::ensure_harmless(document_of(words));
  check_csv(words);
  check_trace(words);
  return 0;
}
