// What the machine code of a loop does not do again in every iteration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/codegen/compiler.h"
#include "tessera/codegen/routines/routine.h"
#include "tessera/fusion/fuse.h"
#include "tessera/fusion/rewrites/expected_branches.h"
#include "tessera/fusion/rewrites/simplify.h"
#include "tessera/fusion/rewrites/unroll_windows.h"
#include "tessera/sharding/prune_control.h"
#include "tessera/tessera.h"
#include "tessera/trace/trace.h"

namespace tessera::routine_code_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the LLVM IR of the only loop of f, a function of an array of n float32.
template <class F>
std::string code_of(const F& f, int64_t n) {
  tracing::FunctionTrace trace("main");
  ir::Type type;
  type.dtype = float32;
  type.shape = {n};
  const Array x = trace.add_input(type);
  const ir::Function traced = trace.finish(std::vector<Array>{f(x)});
  const fusion::Schedule schedule = fusion::fuse(
      fusion::simplify(
          fusion::unroll_windows(fusion::take_expected_branches(sharding::prune_control(traced)))),
      Mesh());
  for (const fusion::Step& step : schedule.steps)
    if (const auto* loop = std::get_if<fusion::LoopStep>(&step))
      return codegen::KernelCompiler::process().llvm_ir(codegen::Routine{loop, &schedule});
  return "no loop";
}

int count(const std::string& text, const std::string& part) {
  int out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

auto recurrence(int64_t first, int64_t last) {
  return [=](const Array& x) {
    return fori_loop(
        first, last,
        [](const Array& i, const Array& a) {
          return at(a)[i].set(0.9 * index(a, {i - 1}) + index(a, {i}));
        },
        x);
  };
}

// Indices within their array are not clamped, and the element that an iteration writes is still in
// a register when the next one reads it: one load before the loop and one in it are left.
TEST(RoutineCode, WithinTheArrayNothingIsClampedOrReadAgain) {
  const std::string code = code_of(recurrence(1, 1000), 1000);
  EXPECT_EQ(count(code, "load float"), 2) << code;
  EXPECT_EQ(count(code, "call i32 @llvm"), 0) << code;
  EXPECT_THAT(code, Not(HasSubstr("select")));
}

TEST(RoutineCode, BeyondTheArrayIndicesAreClamped) {
  const std::string code = code_of(recurrence(1, 1010), 1000);
  EXPECT_GT(count(code, "call i32 @llvm"), 0) << code;
}

// What a carry consists of stays in registers from iteration to iteration, also if its vectors are
// not full.
TEST(RoutineCode, CarriesStayInRegisters) {
  for (const int64_t n : {3, 4, 8, 20, 40}) {
    const std::string code = code_of(
        [](const Array& x) {
          return fori_loop(
              0, 1000, [](const Array&, const Array& a) { return a * a - 0.5; }, x);
        },
        n);
    EXPECT_THAT(code, Not(HasSubstr("alloca"))) << n;
    EXPECT_THAT(code, Not(HasSubstr("masked.store"))) << n;
  }
}

// Elements that are computed differently are computed by scalars, each by its own operations alone.
TEST(RoutineCode, ElementsThatDifferAreScalars) {
  const std::string code = code_of(
      [](const Array& start) {
        return fori_loop(
            0, 1000,
            [](const Array&, const Array& v) {
              const Array x = index(v, 0), y = index(v, 1), z = index(v, 2);
              return v + 0.01 * stack({10 * (y - x), x * (28 - z) - y, x * y - 8.0 / 3 * z});
            },
            start);
      },
      3);
  EXPECT_THAT(code, Not(HasSubstr("alloca")));
  EXPECT_THAT(code, Not(HasSubstr("select")));
  EXPECT_THAT(code, Not(HasSubstr(" x float>")));
  EXPECT_EQ(count(code, "call float @llvm.fma"), 5) << code;
}

}  // namespace
}  // namespace tessera::routine_code_test
