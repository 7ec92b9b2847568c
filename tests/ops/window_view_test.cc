#include "tessera/ops/structural/window_view.h"

#include <numeric>

#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::window_view_test {

using namespace ops;

namespace {

class WindowView : public HostTest {};

TEST_F(WindowView, WindowsMayOverlap) {
  Literal x(int32, {6});
  std::iota(x.mutable_data<int32_t>(), x.mutable_data<int32_t>() + 6, 0);
  // Windows of elements 0 and 2, then of 1 and 3, ...
  EXPECT_EQ(lax::window_view(Array(x), {2}, {1}, {2}).to_host(),
            Literal::from<int32_t>(std::vector<int32_t>{0, 1, 2, 3, 2, 3, 4, 5}, {2, 4}));
  EXPECT_EQ(lax::window_view(Array(x), {3}, {2}, {1}).to_host(),
            Literal::from<int32_t>(std::vector<int32_t>{0, 2, 1, 3, 2, 4}, {3, 2}));
}

TEST_F(WindowView, RefusesWhatDoesNotFit) {
  const std::vector<Type> x{{.dtype = float32, .shape = {4, 5}}};
  const auto infer = [&](const WindowViewParams& p) { return window_view_op.infer(x, p); };
  const char* const error =
      "[window_view] expected positive sizes, strides and dilations for each dimension of "
      "float32[4,5]";
  EXPECT_USER_ERROR(infer({{2}, {1, 1}, {1, 1}}), error);
  EXPECT_USER_ERROR(infer({{2, 2}, {1, 0}, {1, 1}}), error);
  EXPECT_USER_ERROR(infer({{2, 2}, {1, 1}, {-1, 1}}), error);
  EXPECT_EQ(infer({{5, 1}, {1, 1}, {1, 1}})[0].shape, Shape({5, 1, 0, 5}));
}

}  // namespace
}  // namespace tessera::testing_ops::window_view_test
