#include "reports/inputs/lifetimes_report.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/table.hpp"

namespace spillway::reports {

using view::filled;
using view::Text;

namespace {

Text shortage_words(const answer::KernelWithoutRoom& one) {
  return filled("It does not fit: kernel {} asks for {} of {} memory, of which {} are free.",
                {one.kernel, view::memory(one.asked_bytes),
                 one.memory == "gpu" ? "GPU" : one.memory, view::memory(one.free_bytes)});
}

Text moves_words(const answer::MigrationPlan& plan) {
  if (plan.moved == 0) return "All of them stay in GPU memory: nothing has to move.";
  return filled(
      "In {} of these times a tensor is elsewhere: a step writes {} to SSD and {} to host memory.",
      {view::count(plan.moved), view::bytes(static_cast<double>(plan.bytes_to_ssd)),
       view::bytes(static_cast<double>(plan.bytes_to_host))});
}

Text step_words(const answer::MigrationPlan& plan) {
  Text text = filled("The step takes {} by this plan", {view::seconds(plan.step_s)});
  if (plan.ideal_s <= 0 || plan.step_s <= plan.ideal_s)
    return text + ", as long as if no kernel waited.";
  text += filled(", {} if no kernel waited ({}).",
                 {view::seconds(plan.ideal_s), view::change(plan.step_s / plan.ideal_s - 1)});
  if (plan.urgent_moves > 0)
    text += filled(" Kernels wait for {} of the moves.", {view::count(plan.urgent_moves)});
  return text;
}

Table roofline_table(const std::vector<answer::RooflinePoint>& points) {
  Table table;
  table.columns = {{"migration each way", Align::right, 0, "migration"},
                   {"step", Align::right},
                   {"share of ideal", Align::right}};
  for (const answer::RooflinePoint& point : points) {
    const view::Number rate = view::rate(point.migration_bytes_per_s);
    if (point.feasible)
      table.rows.push_back({rate, view::seconds(point.step_s), view::share(point.over_ideal)});
    else
      table.rows.push_back({rate, "does not fit"});
  }
  return table;
}

}  // namespace

view::Document lifetimes_document(const answer::MigrationPlan& plan) {
  view::Document document;
  document.title = "Lifetimes";
  document.say(
      filled("The step has {} kernels and {} tensors, which lie idle between them {} times.",
             {view::count(plan.kernels), view::count(plan.tensors), view::count(plan.intervals)}));
  if (!plan.note.empty()) document.say(filled("It is {}.", {plan.note}));
  if (plan.infeasible)
    document.say(shortage_words(*plan.infeasible));
  else
    document.say(moves_words(plan)).say(step_words(plan));
  if (plan.roofline) {
    document.add(view::Paragraph{
        .text = "The step with a link of that rate each way, to memory without end:"});
    document.add(roofline_table(*plan.roofline), true);
  }
  return document;
}

std::string lifetimes_report(const answer::MigrationPlan& plan, const Screen& screen) {
  return to_text(lifetimes_document(plan), screen);
}

}  // namespace spillway::reports
