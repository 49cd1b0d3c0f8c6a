#include "gui/model/memory_tree.hpp"

#include "gui/model/text.hpp"
#include "reports/result/control.hpp"
#include "reports/result/needs.hpp"
#include "reports/words/human.hpp"
#include "reports/words/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>
#include <utility>

namespace spillway::gui {

namespace {

constexpr std::string_view memory_ending = " memory";

/// What our tables call the tier of a counter: "gpu", "host" or, of any storage, "ssd".
std::string tier_of(const Counter& counter) {
  if (counter.name.starts_with("gpu ")) return "gpu";
  return counter.name.starts_with("host") ? "host" : "ssd";
}

bool is_memory(const Counter& counter) {
  return counter.unit == "bytes" && counter.name.ends_with(memory_ending);
}

std::string phase_at(const Trace& trace, Instant at) {
  for (const Track& track : trace.tracks) {
    if (track.name != "phases" || track.lanes.empty()) continue;
    const Lane& lane = track.lanes[0];
    const std::size_t i = lane.first_after(at);
    if (i < lane.slices.size() && lane.slices[i].start <= at)
      return trace.names[lane.slices[i].name];
  }
  return "";
}

}  // namespace

struct MemoryTree::Node {
  std::string key, tier, phase, setting, smaller, hint;
  QString text;
  std::uint64_t bytes = 0, capacity = 0, needed = 0;
  Node* above = nullptr;
  int row = 0;
  std::vector<std::unique_ptr<Node>> below;

  Node& add(std::unique_ptr<Node> child) {
    child->above = this;
    child->row = static_cast<int>(below.size());
    below.push_back(std::move(child));
    return *below.back();
  }
};

MemoryTree::MemoryTree(QObject* parent)
    : QAbstractItemModel(parent), root_(std::make_unique<Node>()) {}

MemoryTree::~MemoryTree() = default;

void MemoryTree::set(const result::Result* result) {
  beginResetModel();
  root_ = std::make_unique<Node>();
  if (result) {
    const auto needs = result::needs_of(*result);
    const auto needed = [&](const char* tier) -> std::uint64_t {
      if (result->feasible()) return 0;
      for (const result::TierNeed& need : needs)
        if (need.tier == tier) return need.needed;
      return 0;
    };
    add_tier("gpu", result->gpu, needed("gpu"), result->scenario);
    add_tier("host", result->host, needed("host"), result->scenario);
    add_tier("ssd", result->ssd, needed("ssd"), result->scenario);
    add_tier("remote", result->remote, needed("remote"), result->scenario);
  }
  endResetModel();
}

void MemoryTree::set(const Trace& trace, Instant from, Instant to) {
  beginResetModel();
  root_ = std::make_unique<Node>();
  const Counter* fullest = nullptr;
  for (const Counter& counter : trace.counters)
    if (is_memory(counter) && tier_of(counter) == "gpu" &&
        (!fullest || counter.total.most(from, to).value > fullest->total.most(from, to).value))
      fullest = &counter;
  for (const Counter& counter : trace.counters) {
    if (!is_memory(counter) || (tier_of(counter) == "gpu" && &counter != fullest)) continue;
    const Sample most = counter.total.most(from, to);
    add_tier(counter, most, phase_at(trace, most.at));
  }
  endResetModel();
}

void MemoryTree::add_tier(const Counter& counter, const Sample& most, const std::string& phase) {
  auto made = std::make_unique<Node>();
  made->key = made->tier = tier_of(counter);
  const std::string name = counter.name.substr(0, counter.name.size() - memory_ending.size());
  made->text = qt(made->tier == "gpu" ? "GPU" + name.substr(3) : name);
  if (made->tier == "host") made->text[0] = made->text[0].toUpper();
  made->bytes = most.value;
  made->capacity = counter.capacity;
  made->phase = phase;
  Node& top = root_->add(std::move(made));
  std::vector<std::pair<std::string, std::uint64_t>> purposes;
  for (const Series& series : counter.series)
    if (const std::uint64_t bytes = series.at(most.at); bytes > 0)
      purposes.emplace_back(series.name, bytes);
  std::stable_sort(purposes.begin(), purposes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [purpose, bytes] : purposes) top.add(purpose_node(top.tier, purpose, bytes));
}

std::unique_ptr<MemoryTree::Node> MemoryTree::purpose_node(const std::string& tier,
                                                           const std::string& purpose,
                                                           std::uint64_t bytes) {
  auto one = std::make_unique<Node>();
  one->key = purpose;
  one->tier = tier;
  one->text = qt(purpose);
  one->bytes = bytes;
  one->hint = std::string(result::meaning_of(tier, purpose));
  if (const result::PurposeRow* row = result::row_of(tier, purpose))
    one->smaller = std::string(row->smaller);
  return one;
}

void MemoryTree::add_tier(const char* tier, const result::PeakBytes& peak, std::uint64_t needed,
                          const nlohmann::json& scenario) {
  if (peak.total == 0 && needed == 0 && (peak.capacity == 0 || std::string(tier) == "remote"))
    return;
  auto made = std::make_unique<Node>();
  made->key = made->tier = tier;
  made->text = qt(reports::tier_name(tier));
  if (!made->text.isEmpty()) made->text[0] = made->text[0].toUpper();
  if (made->tier == "ssd") made->text = "Drives";
  made->bytes = peak.total;
  made->capacity = peak.capacity;
  made->needed = needed;
  made->phase = peak.phase;
  made->hint = peak.reserve > 0
                   ? reports::tier_bytes(tier, peak.reserve) + " of it stay free for the system"
                   : "";
  Node& top = root_->add(std::move(made));
  std::vector<std::pair<std::string, std::uint64_t>> purposes(peak.by_purpose.begin(),
                                                              peak.by_purpose.end());
  std::stable_sort(purposes.begin(), purposes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [purpose, bytes] : purposes) {
    if (bytes == 0) continue;
    auto one = purpose_node(tier, purpose, bytes);
    std::uint64_t count = 0;
    for (const result::PeakEntry& entry : peak.entries)
      if (entry.purpose == purpose && entry.rank == 0) count = std::max(count, entry.count);
    one->setting = result::setting_of(tier, purpose, scenario, count);
    one->smaller = result::shrinks_with(tier, purpose, scenario);
    Node& node = top.add(std::move(one));
    for (const result::PeakEntry& entry : peak.entries) {
      if (entry.purpose != purpose) continue;
      auto leaf = std::make_unique<Node>();
      leaf->key = purpose;
      leaf->tier = tier;
      leaf->text = qt(fmt::format("{} x {} of rank {}{}", entry.count,
                                  reports::tier_bytes(tier, entry.asked_bytes), entry.rank,
                                  entry.pinned ? ", pinned" : ""));
      leaf->bytes = entry.count * entry.asked_bytes;
      leaf->phase = entry.phase;
      leaf->setting = entry.setting;
      node.add(std::move(leaf));
    }
  }
}

const MemoryTree::Node* MemoryTree::node(const QModelIndex& index) const {
  return index.isValid() ? static_cast<const Node*>(index.constInternalPointer()) : root_.get();
}

QModelIndex MemoryTree::index(int row, int column, const QModelIndex& parent) const {
  const Node* above = node(parent);
  if (parent.isValid() && parent.column() != 0) return {};
  if (row < 0 || row >= static_cast<int>(above->below.size()) || column < 0 || column >= columns)
    return {};
  return createIndex(row, column, above->below[static_cast<std::size_t>(row)].get());
}

QModelIndex MemoryTree::parent(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  Node* above = node(index)->above;
  return !above || above == root_.get() ? QModelIndex() : createIndex(above->row, 0, above);
}

int MemoryTree::rowCount(const QModelIndex& parent) const {
  return parent.isValid() && parent.column() != 0 ? 0
                                                  : static_cast<int>(node(parent)->below.size());
}

int MemoryTree::columnCount(const QModelIndex&) const { return columns; }

QVariant MemoryTree::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Node& one = *node(index);
  switch (role) {
    case bytes_role:
      return QVariant::fromValue<qulonglong>(one.bytes);
    case key_role:
      return qt(one.key);
    case capacity_role:
      return QVariant::fromValue<qulonglong>(one.capacity);
    case needed_role:
      return QVariant::fromValue<qulonglong>(one.needed);
    case Qt::ToolTipRole:
      return one.hint.empty() ? QVariant() : QVariant(qt(one.hint));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(
          (index.column() == bytes || index.column() == share ? Qt::AlignRight : Qt::AlignLeft) |
          Qt::AlignVCenter));
    case Qt::DisplayRole:
      break;
    default:
      return {};
  }
  const std::uint64_t whole = one.above == root_.get() ? one.capacity : one.above->bytes;
  switch (index.column()) {
    case name:
      return one.text;
    case bytes:
      return qt(reports::tier_bytes(one.tier, one.bytes));
    case share:
      return whole > 0 ? qt(reports::human_share(static_cast<double>(one.bytes) /
                                                 static_cast<double>(whole)))
                       : QString();
    case phase:
      return qt(one.phase);
    case setting:
      return qt(one.setting);
    case smaller:
      return qt(one.smaller);
    default:
      return {};
  }
}

QVariant MemoryTree::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* names[columns] = {"Buffer", "Bytes",      "Share",
                                                 "Phase",  "Decided by", "Gets smaller by"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= columns)
    return {};
  return QString(names[section]);
}

}  // namespace spillway::gui
