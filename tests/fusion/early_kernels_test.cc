// Kernels that run early: steps by hand, because the order in which a program's kernels are made is
// that of its ops.
#include "tessera/fusion/early_kernels.h"

#include <gtest/gtest.h>

#include "fusion_testing.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion_testing::early_kernels_test {

using namespace array_math;
using namespace fusion;

namespace {

// Returns a letter for each step: the letters of dots are capital.
std::string order_of(const Schedule& s, const std::vector<std::string>& names) {
  std::string out;
  for (const Step& step : s.steps) {
    const StepSlots used = step_slots(step);
    out += names.at(static_cast<size_t>(used.writes.at(0)));
  }
  return out;
}

struct Steps {
  Schedule s;
  std::vector<std::string> names;

  int slot(const std::string& name, Slot::Kind kind = Slot::Kind::kTemporary,
           Shape shape = {4, 4}) {
    s.slots.push_back({float32, std::move(shape), {}, 1, kind});
    names.push_back(name);
    return static_cast<int>(s.slots.size()) - 1;
  }
  int input(const std::string& name, Shape shape = {4, 4}) {
    s.inputs.push_back(slot(name, Slot::Kind::kInput, std::move(shape)));
    return s.inputs.back();
  }
  int output(const std::string& name, Shape shape = {4, 4}) {
    s.outputs.push_back(slot(name, Slot::Kind::kOutput, std::move(shape)));
    return s.outputs.back();
  }
  void dot(int lhs, int rhs, int out) {
    s.steps.emplace_back(
        DotStep{.lhs_contract = {1}, .rhs_contract = {0}, .lhs = lhs, .rhs = rhs, .out = out});
  }
  // A kernel that reads all slots but the last, and writes that.
  void kernel(std::vector<int> slots) {
    KernelStep step;
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool last = i + 1 == slots.size();
      step.kernel.buffers.push_back({float32, last ? BufferKind::kOutput : BufferKind::kInput, 16});
    }
    step.slots = std::move(slots);
    s.steps.emplace_back(std::move(step));
  }
  std::string order() {
    run_kernels_early(s);
    return order_of(s, names);
  }
};

// Two products, then the kernels that update two inputs by them.
TEST(EarlyKernels, FollowTheirProducts) {
  Steps t;
  const int x = t.input("x"), v = t.input("v"), w = t.input("w"), a = t.slot("A"), b = t.slot("B"),
            r = t.output("r"), q = t.output("q");
  t.dot(x, x, a);
  t.dot(a, x, b);
  t.kernel({a, v, r});
  t.kernel({b, w, q});
  EXPECT_EQ(t.order(), "ArBq");
}

TEST(EarlyKernels, StayBehindOtherReadersOfTheirInputs) {
  Steps t;
  const int x = t.input("x"), w = t.input("w"), a = t.slot("A"), b = t.slot("B"), c = t.slot("C"),
            r = t.output("r"), q = t.output("q");
  t.dot(x, x, a);
  t.dot(a, w, b);  // reads what the kernel may overwrite
  t.dot(b, x, c);
  t.kernel({c, q});
  t.kernel({a, w, r});
  EXPECT_EQ(t.order(), "ABrCq");
}

TEST(EarlyKernels, StayBehindReadersOfAView) {
  Steps t;
  const int x = t.input("x"), w = t.input("w"), view = t.slot("V"), a = t.slot("A"),
            b = t.slot("B"), c = t.output("C"), r = t.output("r");
  t.s.steps.emplace_back(ViewStep{.in = w, .out = view});
  t.dot(x, x, a);
  t.dot(x, view, b);
  t.dot(b, x, c);
  t.kernel({a, w, r});
  EXPECT_EQ(t.order(), "VABrC");
}

// The result may take the memory of a donated input of its size if no later step reads that.
TEST(EarlyKernels, StayBehindReadersOfInputsOfTheirSize) {
  for (const bool same : {false, true}) {
    Steps t;
    const int x = t.input("x", {8, 8}), w = t.input("w", same ? Shape{4, 4} : Shape{4, 8}),
              a = t.slot("A"), b = t.slot("B"), c = t.output("C", {2, 2}), r = t.output("r");
    t.dot(x, x, a);
    t.dot(x, w, b);
    t.dot(b, x, c);
    t.kernel({a, r});
    EXPECT_EQ(t.order(), same ? "ABrC" : "ArBC");
  }
}

TEST(EarlyKernels, OthersDoNotMove) {
  Steps t;
  const int x = t.input("x"), a = t.slot("A"), b = t.slot("B"), k = t.slot("k"), sum = t.slot("s"),
            c = t.output("C"), r = t.output("r"), q = t.output("q"), p = t.output("p");
  t.dot(x, x, a);
  t.s.steps.emplace_back(CollectiveStep{.kind = CollectiveKind::kAllReduce, .in = a, .out = sum});
  t.dot(x, x, b);
  t.dot(b, x, c);
  t.kernel({b, k});    // its result is no result of the program
  t.kernel({sum, r});  // reads what is being sent
  t.kernel({x, q});    // reads no product
  t.kernel({k, p});
  EXPECT_EQ(t.order(), "AsBCkrqp");
}

// In a program with two layers, each update is behind the last product that reads its weights.
TEST(EarlyKernels, UpdatesOfAProgram) {
  const Schedule s =
      check(trace({f32({160, 160}), f32({160, 160}), f32({160, 160})}, [](const Arrays& x) {
        const auto dot = [](const Array& a, const Array& b) {
          return lax::dot_general(a, b, {{1}, {0}, {}, {}});
        };
        const Array h = dot(x[0], x[1]), g = dot(h, x[2]), back = dot(g, x[1]);
        const Array first = dot(back, x[0]), second = dot(g, h);
        return Arrays{x[1] - first * 0.01f, x[2] - second * 0.01f};
      }));
  std::string kinds;
  for (const Step& step : s.steps) kinds += std::holds_alternative<DotStep>(step) ? "d" : "k";
  EXPECT_EQ(kinds, "ddddkdk");
}

}  // namespace
}  // namespace tessera::fusion_testing::early_kernels_test
