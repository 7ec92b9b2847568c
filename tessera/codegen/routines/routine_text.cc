// The text of a routine, by which its code is found in the caches.
#include "tessera/base/error.h"
#include "tessera/base/overloaded.h"
#include "tessera/codegen/canonical.h"
#include "tessera/codegen/routines/routine.h"

namespace tessera::codegen {
namespace {

void append_numbers(std::string& out, const char* name, const std::vector<int>& numbers) {
  out += name;
  for (int n : numbers) fmt::format_to(std::back_inserter(out), " {}", n);
  out += '\n';
}

void append_bytes(std::string& out, const Literal& literal) {
  for (int64_t i = 0; i < literal.bytes(); ++i)
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned>(literal.raw()[i]));
}

void append(std::string& out, const Schedule& s);

void append(std::string& out, const LoopStep& loop) {
  fmt::format_to(std::back_inserter(out), "loop {} {}\n", loop.cond ? -1 : loop.trip_count,
                 loop.reverse ? "down" : "up");
  append_numbers(out, "consts", loop.consts);
  append_numbers(out, "in", loop.in);
  append_numbers(out, "xs", loop.xs);
  append_numbers(out, "out", loop.out);
  append_numbers(out, "ys", loop.ys);
  if (loop.cond) append(out, *loop.cond);
  append(out, *loop.body);
}

void append(std::string& out, const Step& step, const Schedule& around) {
  std::visit(Overloaded{
                 [&](const KernelStep& k) {
                   fmt::format_to(std::back_inserter(out), "kernel {}\n",
                                  k.kernel.parallel_elements());
                   append_numbers(out, "slots", k.slots);
                   for (const KernelBuffer& buffer : k.kernel.buffers)
                     fmt::format_to(std::back_inserter(out), "{} ", buffer.elements);
                   out += to_string(canonical(k.kernel));
                 },
                 [&](const ViewStep& v) {
                   append_numbers(out, "view", {v.in, v.out});
                 },
                 [&](const InstanceTableStep& t) {
                   append_numbers(out, "table", {t.out});
                   append_bytes(out, t.values.at(0));
                 },
                 [&](const UpdateStep& u) {
                   append_numbers(out, "update", {u.in, u.update, u.out});
                   append_numbers(out, "starts", u.starts);
                   fmt::format_to(std::back_inserter(out), "{} {}\n",
                                  around.slots[static_cast<size_t>(u.out)].shape,
                                  around.slots[static_cast<size_t>(u.update)].shape);
                 },
                 [&](const LoopStep& l) { append(out, l); },
                 [&](const BranchStep& b) {
                   append_numbers(out, "branch", {b.index});
                   append_numbers(out, "in", b.in);
                   append_numbers(out, "out", b.out);
                   for (const auto& way : b.branches) append(out, *way);
                 },
                 [&](const auto&) { TESSERA_CHECK(false, "a step that is no code"); },
             },
             step);
  out += '\n';
}

void append(std::string& out, const Schedule& s) {
  out += "schedule\n";
  for (const Slot& slot : s.slots) {
    fmt::format_to(std::back_inserter(out), "{} {} {} ", slot.dtype, slot.bytes(),
                   static_cast<int>(slot.kind));
    if (slot.kind == Slot::Kind::kConstant) append_bytes(out, slot.literal);
    out += '\n';
  }
  append_numbers(out, "inputs", s.inputs);
  append_numbers(out, "outputs", s.outputs);
  for (const Step& step : s.steps) append(out, step, s);
}

}  // namespace

std::string to_string(const Routine& routine) {
  std::string out = "routine\n";
  for (int slot : routine_slots(*routine.loop)) {
    const Slot& s = routine.around->slots[static_cast<size_t>(slot)];
    fmt::format_to(std::back_inserter(out), "%{} {} {} ", slot, s.dtype, s.bytes());
    if (const auto start = constant_start(routine, slot)) append_bytes(out, *start);
    out += '\n';
  }
  append(out, *routine.loop);
  return out;
}

}  // namespace tessera::codegen
