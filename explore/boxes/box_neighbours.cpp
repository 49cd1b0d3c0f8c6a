#include "explore/boxes/box_neighbours.hpp"

#include <algorithm>

namespace spillway::explore {

using scenarios::Box;

namespace {

/// The next part of a list by price from `now`, cheaper or dearer; `now` where there is none.
template <class List>
std::size_t next_by_price(const List& list, std::size_t now, bool cheaper) {
  std::size_t next = now;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double price = list[i].price_usd, own = list[now].price_usd;
    if (cheaper ? price >= own : price <= own) continue;
    if (next == now || (cheaper ? price > list[next].price_usd : price < list[next].price_usd))
      next = i;
  }
  return next;
}

/// Collects the neighbours of one box.
class Neighbours {
 public:
  explicit Neighbours(const scenarios::PriceList& list) : list_(list) {}

  std::vector<Neighbour> of(const Box& answer) {
    add_host("the next cheaper host", answer, true);
    Box box = answer;
    if (--box.drives == 0) box.drive = 0;
    if (answer.drives > 0) add("one drive fewer", box);
    box = answer;
    if (box.memory-- > 0) add("the next smaller memory", box);
    const std::vector<std::uint64_t>& counts = list_.hosts[answer.host].gpus;
    const auto count = std::find(counts.begin(), counts.end(), answer.gpus);
    box = answer;
    if (count != counts.begin()) box.gpus = *(count - 1), add("fewer cards", box);
    box = answer;
    box.gpu = next_by_price(list_.gpus, answer.gpu, true);
    if (box != answer) add("the next cheaper card", box);
    box = answer;
    for (box.drive = 0; answer.drives > 0 && box.drive < list_.drives.size(); ++box.drive)
      if (box.drive != answer.drive) add("other drives", box);
    box = answer;
    ++box.drives;
    add("one drive more", box);
    box = answer;
    ++box.memory;
    add("the next larger memory", box);
    box = answer;
    if (count + 1 != counts.end()) box.gpus = *(count + 1), add("more cards", box);
    box = answer;
    box.gpu = next_by_price(list_.gpus, answer.gpu, false);
    if (box != answer) add("the next dearer card", box);
    add_host("the next dearer host", answer, false);
    return std::move(found_);
  }

 private:
  void add(const std::string& change, const Box& box) {
    if (allowed(list_, box)) found_.emplace_back(change, box);
  }

  /// The same box around another host, with at least as much memory where that is sold.
  void add_host(const std::string& change, const Box& answer, bool cheaper) {
    Box box = answer;
    box.host = next_by_price(list_.hosts, answer.host, cheaper);
    if (box.host == answer.host) return;
    const description::Bytes now = list_.hosts[answer.host].memory[answer.memory];
    const auto& sizes = list_.hosts[box.host].memory;
    const auto enough = std::find_if(sizes.begin(), sizes.end(),
                                     [&](description::Bytes size) { return size >= now; });
    box.memory =
        std::min<std::size_t>(static_cast<std::size_t>(enough - sizes.begin()), sizes.size() - 1);
    add(change, box);
  }

  const scenarios::PriceList& list_;
  std::vector<Neighbour> found_;
};

}  // namespace

std::vector<Neighbour> neighbours_of(const scenarios::PriceList& list, const Box& box) {
  return Neighbours(list).of(box);
}

}  // namespace spillway::explore
