#include "tessera/compile/comm_budget.h"

#include "tests/compile/devices.h"

namespace tessera::comm_budget_test {
namespace {

using testing::HasSubstr;

class Budget : public DevicesTest {};

TEST_F(Budget, RefusesWhatItForbids) {
  const auto f = [](const Array& x, const Array& w) { return matmul(x, w); };
  const Array x = device_put(ones({16, 32}), on8(P(None, "x"))),
              w = device_put(ones({32, 8}), on8(P("x")));
  EXPECT_EQ(values(jit(f, {.comm_budget = CommBudget{.bytes_per_device = 4096,
                                                     .forbid = {"all_gather"}}})(x, w))[0],
            32);
  const std::string reduced =
      error_of([&] { jit(f, {.comm_budget = CommBudget{.forbid = {"all_reduce"}}})(x, w); });
  EXPECT_THAT(reduced,
              HasSubstr("[comm_budget] expected a program without all_reduce, got all_reduce of"));
  EXPECT_THAT(reduced, HasSubstr("dot_general"));
  EXPECT_THAT(error_of([&] { jit(f, {.comm_budget = CommBudget{.bytes_per_device = 100}})(x, w); }),
              HasSubstr("[comm_budget] expected at most 100 bytes sent by a device, got "));
  EXPECT_THAT(error_of([&] { jit(f, {.comm_budget = CommBudget{.forbid = {"gather"}}})(x, w); }),
              HasSubstr("expected names of collectives"));
  EXPECT_THAT(error_of([&] {
                expect_within(CommBudget{.bytes_per_device = 0}, jit(f).lower(x, w).collectives());
              }),
              HasSubstr("the largest all_reduce"));
}

}  // namespace
}  // namespace tessera::comm_budget_test
