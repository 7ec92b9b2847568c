#include "tessera/compile/memory_check.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/cluster/processes.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/format.h"
#include "tessera/ir/op_def.h"

namespace tessera::compile {
namespace {

constexpr size_t kNamed = 3;  // the number of values that the error names

std::string size_text(int64_t bytes) {
  constexpr double kMebi = 1 << 20, kGibi = 1 << 30;
  const auto size = static_cast<double>(bytes);
  return size < kGibi ? fmt::format("{:.1f} MiB", size / kMebi)
                      : fmt::format("{:.1f} GiB", size / kGibi);
}

// What one device stores of a value, in bytes, and the text that names it in the error.
struct Value {
  int64_t bytes;
  std::string text;
};

std::string text_of(const Type& type) {
  return describe({.dtype = type.dtype, .shape = type.shape});
}
std::string text_of(const Type& type, const Op& op) {
  const bool has_source = !op.source.empty() && op.source != op.def->name;
  return fmt::format("{} of {}{}", text_of(type), op.def->name,
                     has_source ? " (" + op.source + ")" : "");
}

void add_values(const Function& f, std::vector<Value>& out) {
  for (const Op& op : f.ops) {
    for (ValueId v : op.results) {
      const Type& type = f.type(v);
      out.push_back({type.elements() * itemsize(type.dtype), text_of(type, op)});
    }
    for (const FunctionRef& region : control_regions(op)) add_values(*region, out);
    if (const FunctionRef callee = callee_of(op)) add_values(*callee, out);
  }
}

std::string largest_values(const Function& f, int64_t devices) {
  std::vector<Value> values;
  for (ValueId v : f.inputs)
    values.push_back(
        {f.type(v).elements() * itemsize(f.type(v).dtype), text_of(f.type(v)) + " of an argument"});
  add_values(f, values);
  const size_t named = std::min(kNamed, values.size());
  std::partial_sort(values.begin(), values.begin() + static_cast<ptrdiff_t>(named), values.end(),
                    [](const Value& a, const Value& b) { return a.bytes > b.bytes; });
  std::string out;
  for (size_t i = 0; i < named; ++i)
    out += fmt::format("{}{} {}{}", i > 0 ? ", " : "", size_text(devices * values[i].bytes),
                       values[i].text, devices > 1 ? fmt::format(" on {} devices", devices) : "");
  return out;
}

int64_t slot_bytes(const Schedule& schedule, std::vector<int> slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  int64_t out = 0;
  for (int i : slots) {
    const fusion::Slot& slot = schedule.slots[static_cast<size_t>(i)];
    out += slot.bytes() * slot.instances;
  }
  return out;
}

}  // namespace

void check_memory(const Stages& stages, int64_t arena_bytes, int64_t memory_bytes) {
  const Schedule& s = stages.schedule;
  const bool alone = cluster::Processes::current() == nullptr;
  const int64_t arguments = alone ? slot_bytes(s, s.inputs) : 0,
                results = alone ? slot_bytes(s, s.outputs) : 0,
                needed = arena_bytes + std::max(arguments, results);
  if (needed <= memory_bytes) return;
  const int64_t devices = stages.mesh.rank() > 0 && alone ? stages.mesh.size() : 1;
  value_error("jit",
              "expected a program that fits the machine's memory of {}, got one that needs {}: {} "
              "for temporaries, {} for arguments, {} for results; the largest values are {}; use "
              "smaller arrays, or compute in parts",
              size_text(memory_bytes), size_text(needed), size_text(arena_bytes),
              size_text(arguments), size_text(results),
              largest_values(stages.partitioned.function, devices));
}

}  // namespace tessera::compile
