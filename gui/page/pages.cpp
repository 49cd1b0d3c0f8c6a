#include "gui/page/compare.hpp"
#include "gui/page/explore.hpp"
#include "gui/page/machines.hpp"
#include "gui/page/memory.hpp"
#include "gui/page/page.hpp"
#include "gui/page/timeline.hpp"
#include "gui/page/validate.hpp"
#include "gui/page/what_if.hpp"

namespace spillway::gui {

namespace {

template <class P>
Page* make(Session& session, QWidget* parent) {
  return new P(session, parent);
}

constexpr PageEntry all[] = {
    {"what-if", "What-if", "will a model train on a box, how fast, at what cost", make<WhatIfPage>},
    {"timeline", "Timeline", "what happens when, and what waits for what", make<TimelinePage>},
    {"memory", "Memory", "every buffer at the fullest instant of each tier", make<MemoryPage>},
    {"compare", "Compare", "two or more runs side by side", make<ComparePage>},
    {"explore", "Explore", "the points of a search and its front", make<ExplorePage>},
    {"validate", "Validate", "predicted beside measured", make<ValidatePage>},
    {"machines", "Machines", "every number of a machine with its source", make<MachinesPage>},
};

}  // namespace

std::span<const PageEntry> pages() { return all; }

}  // namespace spillway::gui
