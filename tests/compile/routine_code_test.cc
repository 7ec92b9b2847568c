// What the machine code of a loop does not do again in every iteration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/codegen/compiler.h"
#include "tessera/codegen/routine.h"
#include "tessera/fusion/expected_branches.h"
#include "tessera/fusion/fuse.h"
#include "tessera/fusion/simplify.h"
#include "tessera/fusion/unroll_windows.h"
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

}  // namespace
}  // namespace tessera::routine_code_test
