#include "family.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "allocations.h"
#include "comparisons.h"
#include "counts.h"
#include "instructions.h"
#include "outside.h"
#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/namespaces.h"
#include "tessera/runtime/storage_plan.h"
#include "work.h"

namespace tessera::costs {

using namespace ir;
using namespace runtime;

namespace {

// The excess above which growth is not explained by a plan that changes once.
constexpr double kSure = 0.5;
// The number of sizes, up to 32n, for costs that grow in lumps.
constexpr size_t kSizesOfLumps = 6;

// A program of one size, measured.
struct Measured {
  double work = 0;
  double text = 0, depth = 1;
  Counts counts;
};

Measured measure(const Family& family, int64_t size) {
  Measured out{.text = family.text_grows ? family.text(size) : std::log2(size),
               .depth = family.depth(size),
               .counts = counts_of([&] { return family.program(size); })};
  out.work = naive_operations(family.asks ? family.asks(size) : out.counts.traced);
  // A gradient is as large as the differentiated arrays, even if the program reads little of them.
  if (family.asks)
    for (ValueId v : out.counts.traced.outputs)
      out.work += static_cast<double>(out.counts.traced.type(v).elements());
  return out;
}

// A measured number of a program, and the number in proportion to which it may grow.
struct Metric {
  std::string name;
  std::function<double(const Measured&)> value, base;
  // For a cost of a run, returns the part of a step; may be null.
  double (*of_step)(const StepCost&) = nullptr;
  bool lumps = false;  // whether it grows in lumps
};

// Returns the instructions of a pass; those of the program without its memory plan, which is made
// again in it.
double instructions(const Measured& m, size_t p) {
  const std::vector<PassCount>& passes = m.counts.passes;
  return passes[p].instructions - (passes[p].name == "program" ? passes[p - 1].instructions : 0);
}
// Returns what they may grow with: n log n, because of maps and sorts. A memory plan also compares
// its largest blocks in pairs, up to a number of them (storage_plan.cc).
double instructions_base(double n, const Measured& m, size_t p) {
  constexpr double kMostPairs = runtime::kBlocksPlacedBySize;
  const PassCount& pass = m.counts.passes[p];
  const double pairs = pass.name == "plan_memory" ? std::min(pass.ops, kMostPairs) : 0;
  return n * std::log2(n + 2) + pairs * pairs;
}

std::vector<Metric> metrics_of(const Family& family, const Counts& counts) {
  const auto work = [](const Measured& m) { return m.work; };
  std::vector<Metric> out = {
      {"bytes", [](const Measured& m) { return m.counts.run.bytes(); }, work,
       [](const StepCost& s) { return s.bytes(); }},
      {"evaluations", [](const Measured& m) { return m.counts.run.evaluations(); }, work,
       [](const StepCost& s) { return s.evaluations; }},
      {"steps run", [](const Measured& m) { return m.counts.run.runs(); }, work,
       [](const StepCost& s) { return s.runs; }, true},  // a kernel has few operands
      {"interpreted steps", [](const Measured& m) { return m.counts.run.interpreted(); }, work,
       [](const StepCost& s) { return s.interpreted; }},
      // A plan of another size may store values that this one computes again.
      {"arena", [](const Measured& m) { return static_cast<double>(m.counts.run.arena_bytes); },
       work, nullptr, true},
      {"allocations of a run",
       [](const Measured& m) { return static_cast<double>(m.counts.run.allocations); }, work},
  };
  // A pass may cost and leave as much as it was given, so that the finding names the pass that adds
  // more.
  const auto before = [](const Measured& m, size_t p) {
    return p == 0 ? m.text : m.counts.passes[p - 1].ops;
  };
  for (size_t p = 0; p < counts.passes.size(); ++p) {
    const std::string& pass = counts.passes[p].name;
    out.push_back({"ops after " + pass, [p](const Measured& m) { return m.counts.passes[p].ops; },
                   [=](const Measured& m) { return before(m, p); }});
    const auto both = [=](const Measured& m) {
      return m.depth * (m.text + (p == 0 ? 0 : before(m, p) + m.counts.passes[p].ops));
    };
    // Tables of tiles and windows grow with the arrays, so the work is added.
    const auto with_tables = [=, &family](const Measured& m) {
      return both(m) + (family.text_grows ? 0 : m.work);
    };
    if (counts_instructions())
      out.push_back({"instructions of " + pass,
                     [p](const Measured& m) { return instructions(m, p); },
                     [=](const Measured& m) { return instructions_base(with_tables(m), m, p); },
                     nullptr, true});
    if (!counts_allocations()) continue;
    // The tables of a program have memory for each tile.
    const auto table = [=](const Measured& m) {
      return pass == "program" ? with_tables(m) : both(m);
    };
    out.push_back({"allocations of " + pass,
                   [p](const Measured& m) { return m.counts.passes[p].allocations; }, table,
                   nullptr, true});
    out.push_back({"bytes allocated by " + pass,
                   [p](const Measured& m) { return m.counts.passes[p].allocated_bytes; },
                   with_tables, nullptr, true});
  }
  return out;
}

// If instructions are counted, only they are checked: the other costs are known without Callgrind.
std::vector<Metric> checked_metrics(const Family& family, const Counts& counts) {
  std::vector<Metric> metrics = metrics_of(family, counts);
  if (counts_instructions())
    std::erase_if(metrics, [](const Metric& m) { return !m.name.starts_with("instructions"); });
  return metrics;
}

Series series(const std::vector<Measured>& all, size_t first,
              const std::function<double(const Measured&)>& value) {
  return {value(all[first]), value(all[first + 1]), value(all[first + 2])};
}

// Returns the step of the largest program whose cost is farthest above the cost that the work
// allows.
std::string worst_step(const Metric& metric, const std::vector<Measured>& all) {
  if (!metric.of_step) return "";
  const Measured &small = all[all.size() - 2], &large = all.back();
  const std::vector<StepCost>&a = small.counts.run.steps, &b = large.counts.run.steps;
  const double allowed = large.work / std::max(small.work, 1.0);
  std::string name;
  double most = -1;
  for (size_t k = 0; k < b.size(); ++k) {
    // If the plans have different steps, the most expensive one is returned.
    const double before = a.size() == b.size() ? metric.of_step(a[k]) * allowed : 0;
    const double beyond = metric.of_step(b[k]) - before;
    if (beyond > most) most = beyond, name = b[k].name;
  }
  return name;
}

// Adds the findings that are errors at any size.
void add_found_at_once(const Family& family, const Counts& counts, std::vector<Finding>& out) {
  const Outside outside = farthest_outside(counts.schedule);
  const auto add = [&](const char* metric, double cost, const std::string& step) {
    if (cost > 0)
      out.push_back({.family = family.name,
                     .metric = metric,
                     .step = step,
                     .cost = {cost},
                     .size = family.size});
  };
  add("bytes outside of operands", static_cast<double>(outside.bytes), outside.kernel);
  add("interpreted comparisons", static_cast<double>(interpreted_comparisons_of(counts.traced)),
      "sort");
}

}  // namespace

std::string to_string(const Finding& f) {
  if (f.excess == 0)
    return fmt::format("{}: {} {} at size {}; step {}", f.family, f.cost[0], f.metric, f.size,
                       f.step);
  return fmt::format(
      "{}: {} {} at sizes {}, {}, {}, where the work is {}: exponent {:.2f} too high{}", f.family,
      f.metric, fmt::join(f.cost, ", "), f.size, 2 * f.size, 4 * f.size, fmt::join(f.work, ", "),
      f.excess, f.step.empty() ? "" : "; step " + f.step);
}

std::optional<std::vector<Finding>> findings(const Family& family) {
  std::vector<Measured> all;
  std::vector<Finding> out;
  const auto more = [&](int sizes) {
    for (; sizes > 0; --sizes) all.push_back(measure(family, family.size << all.size()));
  };
  try {
    more(3);
    // These make machine code, which takes minutes if instructions are counted.
    if (!counts_instructions()) add_found_at_once(family, all[0].counts, out);
    const std::vector<Metric> metrics = checked_metrics(family, all[0].counts);
    const auto excess_of = [&](const Metric& metric, size_t first, Finding* finding) {
      const Series cost = series(all, first, metric.value), work = series(all, first, metric.base);
      const double excess =
          metric.lumps ? excess_of_lumps(cost, work) : excess_exponent(cost, work);
      if (finding) finding->excess = excess, finding->cost = cost, finding->work = work;
      return excess;
    };
    std::vector<const Metric*> suspects;
    for (const Metric& metric : metrics) suspects.push_back(&metric);
    const auto drop = [&](double least) {
      const size_t last = all.size() - 3;
      auto kept = suspects;
      std::erase_if(kept, [&](const Metric* m) { return excess_of(*m, last, nullptr) <= least; });
      return kept;
    };
    suspects = drop(kMostExcess);
    for (bool sure = false; !suspects.empty() && !sure && all.size() < family.most_sizes;) {
      more(1);
      suspects = drop(kMostExcess);
      const bool lumps = std::any_of(suspects.begin(), suspects.end(),
                                     [](const Metric* metric) { return metric->lumps; });
      sure = drop(kSure).size() == suspects.size() && !(lumps && all.size() < kSizesOfLumps);
    }
    for (const Metric* metric : suspects) {
      const size_t first = all.size() - 3;
      Finding finding{.family = family.name, .metric = metric->name, .size = family.size << first};
      excess_of(*metric, first, &finding);
      finding.step = worst_step(*metric, all);
      out.push_back(std::move(finding));
    }
  } catch (const UserError&) {
    return std::nullopt;
  }
  return out;
}

}  // namespace tessera::costs
