#include "tessera/ops/reductions/fold_windows.h"

#include <cmath>

#include "tessera/control/control.h"
#include "tessera/control/make_control_flow.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::fold_windows_test {

using namespace array_math;

namespace {

template <class F>
FunctionRef body_of(const std::vector<DType>& dtypes, F body) {
  std::vector<Type> types;
  for (int side = 0; side < 2; ++side)
    for (DType dtype : dtypes) types.push_back(array_type(dtype, {}));
  return std::make_shared<const Function>(trace(types, body));
}

// 2 acc - x: results depend on the order of the elements, and on where the initial value is.
FunctionRef doubling(DType dtype) {
  return body_of({dtype},
                 [](const Arrays& x) { return Arrays{lax::sub(lax::add(x[0], x[0]), x[1])}; });
}

Windows windows_of(const Dims& size, const Dims& strides) {
  Windows w = Windows::of_size(size);
  w.strides = strides;
  return w;
}

// Expects that the pass replaces the fold by one of the same bits, and that its kernels compute it.
void expect_folded(const std::vector<DType>& dtypes, const Shape& shape, const FunctionRef& body,
                   const Windows& windows) {
  SCOPED_TRACE(::testing::Message() << shape << " by " << windows.size << " every "
                                    << windows.strides << " of " << dtypes[0]);
  std::vector<Type> types;
  for (DType dtype : dtypes) types.push_back(array_type(dtype, shape));
  for (DType dtype : dtypes) types.push_back(array_type(dtype, {}));
  const auto fold = [&](const Arrays& x) {
    const size_t n = dtypes.size();
    return lax::reduce_window(std::span(x).first(n), std::span(x).subspan(n), body, windows);
  };
  expect_unrolled("reduce_window", types, fold);
  check(trace(types, fold));
}

TEST(FoldWindows, ElementsAreFoldedInTheirOrder) {
  for (DType dtype : {float32, int32, float64, uint8, complex64}) {
    expect_folded({dtype}, {20}, doubling(dtype), windows_of({3}, {1}));
    expect_folded({dtype}, {20}, doubling(dtype), windows_of({4}, {3}));
    expect_folded({dtype}, {9, 8}, doubling(dtype), windows_of({2, 3}, {2, 1}));
  }
  expect_folded({int32}, {300}, doubling(int32), windows_of({40}, {1}));
  expect_folded({int32}, {40, 300}, doubling(int32), windows_of({7, 50}, {2, 3}));
  expect_folded({int32}, {2, 9, 9, 3}, doubling(int32), windows_of({1, 3, 3, 1}, {1, 2, 2, 1}));
}

// With lanes along the window, elements would be folded in another order.
TEST(FoldWindows, OneWindowOfTheWholeArray) {
  expect_folded({int32}, {100}, doubling(int32), windows_of({100}, {1}));
  expect_folded({int32}, {7, 100}, doubling(int32), windows_of({7, 100}, {1, 1}));
  expect_folded({int32}, {2, 5000}, doubling(int32), windows_of({1, 5000}, {1, 1}));
}

TEST(FoldWindows, PaddingIsLeftOut) {
  for (int64_t low : {-1, 0, 2, 9})
    for (int64_t high : {-2, 0, 1}) {
      Windows w = windows_of({3, 2}, {1, 2});
      w.low = {low, 0};
      w.high = {high, 1};
      expect_folded({int32}, {8, 5}, doubling(int32), w);
    }
  Windows dilated = windows_of({3, 3}, {1, 2});
  dilated.base_dilation = {2, 1};
  dilated.window_dilation = {1, 3};
  expect_folded({int32}, {8, 11}, doubling(int32), dilated);
}

TEST(FoldWindows, SeveralArrays) {
  const FunctionRef larger = body_of({float32, int32}, [](const Arrays& x) {
    const Array first = lax::ge(lax::abs(x[0]), lax::abs(x[2]));
    return Arrays{lax::select(first, x[0], x[2]), lax::select(first, x[1], x[3])};
  });
  expect_folded({float32, int32}, {30}, larger, windows_of({5}, {2}));
  Windows padded = windows_of({3, 3}, {1, 1});
  padded.low = padded.high = {1, 1};
  expect_folded({float32, int32}, {6, 7}, larger, padded);
}

TEST(FoldWindows, CallsAreInlinedAndLoopsAreKept) {
  const auto callee = std::make_shared<const Function>(
      trace({f32({})}, [](const Arrays& x) { return Arrays{lax::abs(x[0])}; }));
  const auto fold_by = [](const FunctionRef& body) {
    return trace({f32({9}), f32({})}, [&](const Arrays& x) {
      return lax::reduce_window(std::span(x).first(1), std::span(x).subspan(1), body,
                                windows_of({3}, {1}));
    });
  };
  const FunctionRef calling = body_of({float32}, [&](const Arrays& x) {
    return Arrays{lax::sub(x[0], bind_op1(call_op, CallParams{callee}, {x[1]}))};
  });
  const FunctionRef plain =
      body_of({float32}, [](const Arrays& x) { return Arrays{lax::sub(x[0], lax::abs(x[1]))}; });
  const Function unrolled = unroll_windows(fold_by(calling)), want = fold_by(plain);
  EXPECT_FALSE(has_op(unrolled, "reduce_window"));
  const std::vector<Literal> inputs = random_inputs(want);
  EXPECT_EQ(evaluate(unrolled, inputs), evaluate(want, inputs));
  const FunctionRef looping = body_of({float32}, [&](const Arrays& x) {
    return Arrays{lax::add(
        x[0],
        control::make_while(
            {lax::abs(x[1])},
            [](const Arrays& c) { return Arrays{lax::gt(c[0], lax::full_like(c[0], 1))}; },
            [](const Arrays& c) { return Arrays{lax::sub(c[0], lax::full_like(c[0], 1))}; })[0])};
  });
  expect_kept("reduce_window", {f32({9}), f32({})}, [&](const Arrays& x) {
    return lax::reduce_window(std::span(x).first(1), std::span(x).subspan(1), looping,
                              windows_of({3}, {1}));
  });
}

// --- select_and_scatter ---

void expect_selected(DType dtype, const Shape& shape, const SelectAndScatterParams& p) {
  SCOPED_TRACE(::testing::Message() << shape << " by " << p.size << " every " << p.strides
                                    << " padded " << p.low << ", " << p.high);
  const std::vector<Type> types{array_type(dtype, shape),
                                array_type(dtype, window_shape("test", shape, p.windows())),
                                array_type(dtype, {})};
  const auto body = [&](const Arrays& x) { return bind_op(select_and_scatter_op, p, x); };
  expect_unrolled("select_and_scatter", types, body);
  check(trace(types, body));
}

// Keeps the element of the larger absolute value; of equal ones the last, as it is no order.
FunctionRef larger_absolute(DType dtype) {
  return body_of({dtype},
                 [](const Arrays& x) { return Arrays{lax::gt(lax::abs(x[0]), lax::abs(x[1]))}; });
}

SelectAndScatterParams selection(const Dims& size, const Dims& strides, DType dtype) {
  const Dims zeros(size.size(), 0);
  return {size,           strides, zeros, zeros, SelectKind::kCustom, larger_absolute(dtype),
          doubling(dtype)};
}

TEST(FoldWindows, SelectionsByBodies) {
  for (DType dtype : {float32, int32, float64, int8}) {
    expect_selected(dtype, {20}, selection({2}, {2}, dtype));
    expect_selected(dtype, {20}, selection({5}, {2}, dtype));
    expect_selected(dtype, {9, 8}, selection({3, 3}, {1, 1}, dtype));
    expect_selected(dtype, {9, 8}, selection({3, 2}, {2, 3}, dtype));
  }
  expect_selected(int32, {2, 9, 8, 3}, selection({1, 3, 3, 1}, {1, 2, 2, 1}, int32));
  expect_selected(int32, {60, 50}, selection({12, 9}, {4, 5}, int32));
}

TEST(FoldWindows, SelectionsLeavePaddingOut) {
  for (int64_t low : {0, 1, 2, 5})
    for (int64_t high : {-1, 0, 1, 6}) {
      SelectAndScatterParams p = selection({3, 2}, {1, 2}, int32);
      p.low = {low, 0};
      p.high = {high, low};
      expect_selected(int32, {8, 5}, p);
      p.kind = SelectKind::kLe;
      p.select = nullptr;
      expect_selected(int32, {8, 5}, p);
    }
}

// Such windows have too many elements, or strides, for one slice each.
TEST(FoldWindows, LargeWindowsOfKnownKinds) {
  for (SelectKind kind : {SelectKind::kGe, SelectKind::kLe}) {
    expect_selected(int32, {90}, {{33}, {1}, {0}, {0}, kind});
    expect_selected(int32, {90}, {{2}, {17}, {0}, {0}, kind});
    expect_selected(int32, {30, 31}, {{8, 8}, {3, 1}, {1, 2}, {0, 3}, kind});
  }
}

TEST(FoldWindows, NansAreSelectedLikeTheBodySays) {
  SelectAndScatterParams p{{3}, {1}, {0}, {0}};
  p.scatter = doubling(float32);
  const std::vector<Type> types{f32({12}), f32({10}), f32({})};
  const Function f =
      trace(types, [&](const Arrays& x) { return bind_op(select_and_scatter_op, p, x); });
  std::vector<Literal> inputs = random_inputs(f);
  for (int64_t i : {0, 4, 5, 11}) inputs[0].mutable_data<float>()[i] = std::nanf("");
  EXPECT_EQ(evaluate(unroll_windows(f), inputs), evaluate(f, inputs));
}

}  // namespace
}  // namespace tessera::fusion_testing::fold_windows_test
