#include "tessera/ops/reductions/unroll_selection.h"

#include "tessera/ops/reductions/select_and_scatter.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_selection_test {
namespace {

struct Selection {
  DType dtype;
  Shape shape;
  Dims size, strides, low, high;
  SelectKind kind = SelectKind::kGe;
};

std::vector<Type> types_of(const Selection& s) {
  Windows w = Windows::of_size(s.size);
  w.strides = s.strides;
  w.low = s.low;
  w.high = s.high;
  return {array_type(s.dtype, s.shape), array_type(s.dtype, window_shape("test", s.shape, w))};
}
auto body_of(const Selection& s) {
  return [=](const Arrays& x) {
    return Arrays{
        lax::select_and_scatter_add(x[1], x[0], s.kind, s.size, s.strides, s.low, s.high)};
  };
}
void expect_selection(const Selection& s) {
  SCOPED_TRACE(::testing::Message() << s.shape << " by " << s.size << " every " << s.strides);
  expect_unrolled("select_and_scatter", types_of(s), body_of(s));
}

TEST(UnrollSelection, WindowsSideBySide) {
  expect_selection({float32, {2, 8, 6, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  expect_selection({float64, {9}, {3}, {3}, {0}, {0}, SelectKind::kLe});
  expect_selection({int32, {11}, {2}, {3}, {0}, {0}});  // there are elements between the windows
}

TEST(UnrollSelection, WindowsThatOverlap) {
  expect_selection({float32, {7, 6}, {3, 3}, {1, 1}, {0, 0}, {0, 0}});
  expect_selection({float32, {9, 8}, {3, 3}, {2, 2}, {0, 0}, {0, 0}});
  expect_selection({float32, {9, 8}, {3, 2}, {2, 1}, {0, 0}, {0, 0}, SelectKind::kLe});
  expect_selection({bfloat16, {8}, {2}, {1}, {0}, {0}});
}

// Most windows of small integers have equal elements: the first one must be selected.
TEST(UnrollSelection, PaddingIsNeverSelected) {
  for (int64_t low : {0, 1, 2})
    for (int64_t high : {0, 1, 3})
      for (DType dtype : {DType(float32), DType(int32)}) {
        expect_selection({dtype, {8, 5}, {3, 2}, {1, 2}, {low, 0}, {high, low}});
        expect_selection({dtype, {7}, {3}, {2}, {low}, {high}, SelectKind::kLe});
        expect_selection({dtype, {7}, {2}, {2}, {low + 2}, {high}});  // windows of only padding
      }
}

TEST(UnrollSelection, SumsBeginWithTheInitialValue) {
  expect_unrolled("select_and_scatter", {f32({8}), f32({4}), f32({})}, [](const Arrays& x) {
    return bind_op(select_and_scatter_op, SelectAndScatterParams{{2}, {2}, {0}, {0}}, x);
  });
}

TEST(UnrollSelection, LeftToTheLibrary) {
  const auto kept = [](const Selection& s) {
    expect_kept("select_and_scatter", types_of(s), body_of(s));
  };
  kept({float32, {9}, {2}, {1}, {-1}, {0}});
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_selection_test
