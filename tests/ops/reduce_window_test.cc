// Errors for every constraint of reduce_window and of the functions made of it.
#include "tessera/ops/reductions/reduce_window.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tessera/base/thread_pool.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/select_and_scatter.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::reduce_window_test {

using namespace ops;

namespace {

class ReduceWindow : public HostTest {
 protected:
  static Array zeros(DType dtype, const Shape& shape) { return Array(Literal(dtype, shape)); }
  static std::vector<Array> fold(const std::vector<Array>& x, const std::vector<Array>& inits,
                                 ReduceKind kind = ReduceKind::kSum,
                                 const Windows& windows = Windows::of_size({2})) {
    return lax::reduce_window(x, inits, kind, windows);
  }
  const Array f3 = zeros(float32, {3}), i3 = zeros(int32, {3}), c3 = zeros(complex64, {3}),
              b3 = zeros(bool_, {3}), f = zeros(float32, {}), i = zeros(int32, {}),
              c = zeros(complex64, {});
};

TEST_F(ReduceWindow, RefusesOperandsThatDoNotFit) {
  EXPECT_USER_ERROR(fold({f3}, {}),
                    "[reduce_window] expected arrays and as many initial scalars (C1), got 1");
  EXPECT_USER_ERROR(fold({}, {}), "as many initial scalars (C1), got 0 operands");
  EXPECT_USER_ERROR(fold({f3, zeros(float32, {4})}, {f, f}), "expected operands of one shape");
  EXPECT_USER_ERROR(fold({f3}, {i}), "expected an initial scalar of dtype float32, got int32[]");
  EXPECT_USER_ERROR(fold({f3}, {zeros(float32, {1})}),
                    "expected an initial scalar of dtype float32, got float32[1]");
  EXPECT_USER_ERROR(fold({f3, f3}, {f, f}), "expected 1 operand(s) for this fold, got 2");
  EXPECT_USER_ERROR(fold({f3}, {f}, ReduceKind::kArgMax),
                    "expected 2 operand(s) for this fold, got 1");
}

TEST_F(ReduceWindow, RefusesDtypesThatTheFoldDoesNotTake) {
  EXPECT_USER_ERROR(fold({c3, i3}, {c, i}, ReduceKind::kArgMax),
                    "expected an array with an order, got complex64[3]");
  EXPECT_USER_ERROR(fold({f3, f3}, {f, f}, ReduceKind::kArgMin),
                    "expected places of int32 or int64, got float32[3]");
  EXPECT_USER_ERROR(fold({f3}, {f}, ReduceKind::kAnd),
                    "expected a bool or integer array, got float32[3]");
  EXPECT_USER_ERROR(
      lax::reduce_window(std::vector<Array>{f3}, std::vector<Array>{f},
                         select_body(SelectKind::kGe, float32), Windows::of_size({2})),
      "expected a body of two scalars an operand (C13), got another");
}

TEST_F(ReduceWindow, RefusesWindowsThatDoNotFit) {
  EXPECT_USER_ERROR(fold({f3}, {f}, ReduceKind::kSum, Windows::of_size({2, 2})),
                    "expected 1 window sizes, one a dimension of shape (3,), got (2, 2)");
  const auto with = [&](Dims Windows::*field, const Dims& value) {
    Windows w = Windows::of_size({2});
    w.*field = value;
    fold({f3}, {f}, ReduceKind::kSum, w);
  };
  EXPECT_USER_ERROR(with(&Windows::size, {0}), "expected window sizes > 0, got (0,)");
  EXPECT_USER_ERROR(with(&Windows::strides, {0}), "expected strides > 0, got (0,)");
  EXPECT_USER_ERROR(with(&Windows::base_dilation, {-1}), "expected base dilations > 0, got (-1,)");
  EXPECT_USER_ERROR(with(&Windows::window_dilation, {0}), "expected window dilations > 0");
  EXPECT_USER_ERROR(with(&Windows::low, {1, 1}),
                    "expected 1 paddings, one a dimension of shape (3,), got (1, 1) and (0,)");
}

TEST_F(ReduceWindow, RefusesDerivativesItDoesNotHave) {
  const auto jvp = [&](ReduceKind kind, const Array& t, const Array& t_init) {
    const Windows w = Windows::of_size({2});
    const std::vector<Array> x{f3, f}, tangents{t, t_init};
    return jvp_reduce_window(
        x, tangents, {w.size, w.strides, w.base_dilation, w.window_dilation, w.low, w.high, kind});
  };
  EXPECT_USER_ERROR(jvp(ReduceKind::kSum, f3, f),
                    "expected an initial value without a tangent to differentiate; apply it after");
  EXPECT_USER_ERROR(jvp(ReduceKind::kProduct, f3, {}),
                    "expected a sum, min, max or cumulative product to differentiate");
}

TEST_F(ReduceWindow, RefusesInitialValuesOfTheirOwnUnderVmap) {
  const Windows w = Windows::of_size({2});
  const std::vector<Array> x{zeros(float32, {4, 3}), zeros(float32, {4})};
  const std::vector<int> dims{0, 0};
  const ReduceWindowParams p{w.size, w.strides, w.base_dilation, w.window_dilation, w.low, w.high};
  EXPECT_USER_ERROR(reduce_window_op.batch(x, dims, p),
                    "expected initial values that are the same for every example of vmap");
}

// The results of a cumulative fold along `dim` by the library call and by the evaluator.
struct Folds {
  Literal called, evaluated;
};
Folds cumulate(ReduceKind kind, const Literal& x, int64_t dim, bool reverse,
               FunctionRef body = nullptr) {
  Dims size(x.shape().size(), 1);
  size[dim] = x.shape()[dim];
  Windows w = Windows::of_size(size);
  (reverse ? w.high : w.low)[dim] = x.shape()[dim] - 1;
  const ReduceKind known = kind == ReduceKind::kCustom ? ReduceKind::kSum : kind;
  const std::vector<Literal> operands{x, reduce_identity(known, x.dtype())};
  const ReduceWindowParams params{w.size, w.strides, w.base_dilation, w.window_dilation, w.low,
                                  w.high, kind,      std::move(body)};
  const std::vector<Type> types{{x.dtype(), x.shape()}, {x.dtype(), {}}};
  Literal out(x.dtype(), x.shape());
  const void* in[] = {operands[0].raw(), operands[1].raw()};
  void* to[] = {out.mutable_raw()};
  reduce_window_call(OpParams(params), types, {})(in, to);
  return {out, evaluate_reduce_window(operands, params)[0]};
}

// Shapes and dimensions for every way in which the work is cut: lines next to each other, strips of
// columns, blocks of a few long lines, with remainders of lines and of blocks.
const std::vector<std::pair<Shape, int64_t>>& cuts() {
  static const auto& all = *new std::vector<std::pair<Shape, int64_t>>{
      {{5}, 0},           {{16640}, 0},    {{70001}, 0},    {{33282}, 0},  {{3, 40000}, 1},
      {{70, 601}, 1},     {{70, 601}, 0},  {{40000, 3}, 0}, {{9, 700}, 0}, {{2, 300, 5}, 1},
      {{2, 3000, 40}, 1}, {{300, 257}, 0}, {{1, 1}, 0},     {{0, 3}, 1}};
  return all;
}

TEST_F(ReduceWindow, CumulativeFoldsOfWholeNumbersAreExact) {
  std::mt19937 rng(1);
  for (const auto& [shape, dim] : cuts())
    for (DType dtype : {int32, float32})
      for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin})
        for (bool reverse : {false, true}) {
          const Literal x = convert_literal(random_literal({int32, shape}, rng), dtype);
          const Folds folds = cumulate(kind, x, dim, reverse);
          ASSERT_TRUE(folds.called == folds.evaluated) << shape << " " << dim << " " << reverse;
        }
}

// Integers of one width share the code of some folds; it must neither wrap nor compare otherwise.
TEST_F(ReduceWindow, CumulativeFoldsOfExtremeIntegers) {
  for (DType dtype : {int8, int16, int32, int64, uint8, uint16, uint32, uint64})
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
        const std::vector<T> x{3, most, 5, least, 7, static_cast<T>(-1), most, 11};
        const auto n = static_cast<int64_t>(x.size());
        const auto expect = [&](ReduceKind kind, auto&& fold) {
          const Folds folds =
              cumulate(kind, Literal::from(std::span<const T>(x), Shape{n}), 0, false);
          T all = x[0];
          for (int64_t i = 0; i < n; ++i) {
            if (i > 0) all = fold(all, x[static_cast<size_t>(i)]);
            EXPECT_EQ(folds.called.template data<T>()[i], all) << dtype << i;
            EXPECT_EQ(folds.evaluated.template data<T>()[i], all) << dtype << i;
          }
        };
        using U = uint64_t;
        expect(ReduceKind::kSum, [](T a, T b) { return static_cast<T>(U(a) + U(b)); });
        expect(ReduceKind::kProduct, [](T a, T b) { return static_cast<T>(U(a) * U(b)); });
        expect(ReduceKind::kMin, [](T a, T b) { return std::min(a, b); });
        expect(ReduceKind::kMax, [](T a, T b) { return std::max(a, b); });
        expect(ReduceKind::kAnd, [](T a, T b) { return static_cast<T>(a & b); });
        expect(ReduceKind::kOr, [](T a, T b) { return static_cast<T>(a | b); });
      }
    });
}

// Windows that are one longer are not cumulative, so they are folded one by one.
TEST_F(ReduceWindow, CumulativeFoldsAreThoseOfTheirWindows) {
  std::mt19937 rng(2);
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProduct, ReduceKind::kMax}) {
    const Literal x = random_literal({float64, {3, 50, 2}}, rng, 0.5, 1.5);
    for (bool reverse : {false, true}) {
      Windows w = Windows::of_size({1, 51, 1});
      w.low[1] = reverse ? 0 : 50;
      w.high[1] = reverse ? 50 : 0;
      const ReduceWindowParams params{w.size, w.strides, w.base_dilation, w.window_dilation, w.low,
                                      w.high, kind};
      const std::vector<Literal> operands{x, reduce_identity(kind, float64)};
      const Literal expected = evaluate_reduce_window(operands, params)[0];
      const Folds folds = cumulate(kind, x, 1, reverse);
      for (const Literal& got : {folds.called, folds.evaluated})
        for (int64_t i = 0; i < x.elements(); ++i)
          ASSERT_NEAR(got.data<double>()[i], expected.data<double>()[i],
                      1e-13 * std::abs(expected.data<double>()[i]));
    }
  }
}

TEST_F(ReduceWindow, CumulativeFoldsDoNotDependOnTheThreads) {
  std::mt19937 rng(3);
  const int before = num_threads();
  for (const Shape& shape : {Shape{200000}, Shape{30000, 3}}) {
    const Literal x = random_literal({float64, shape}, rng);
    set_num_threads(1);
    const Literal alone = cumulate(ReduceKind::kSum, x, 0, false).called;
    set_num_threads(5);
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(cumulate(ReduceKind::kSum, x, 0, false).called == alone);
  }
  set_num_threads(before);
}

// A running product is 0 from its first 0 on, whatever follows.
TEST_F(ReduceWindow, CumulativeProductsDoNotOverflowInBetween) {
  Literal x(float32, {100000});
  for (int64_t i = 0; i < x.elements(); ++i) x.mutable_data<float>()[i] = i == 0 ? 0.f : 10.f;
  const Folds folds = cumulate(ReduceKind::kProduct, x, 0, false);
  for (int64_t i = 0; i < x.elements(); ++i) ASSERT_EQ(folds.called.data<float>()[i], 0.f);
}

TEST_F(ReduceWindow, CumulativeFoldsByABody) {
  std::mt19937 rng(4);
  const FunctionRef body = reduce_body(ReduceKind::kSum, int32);
  for (const auto& [shape, dim] : {std::pair{Shape{1000}, 0}, std::pair{Shape{3, 70, 2}, 1}})
    for (bool reverse : {false, true}) {
      const Literal x = random_literal({int32, shape}, rng);
      const Folds custom = cumulate(ReduceKind::kCustom, x, dim, reverse, body);
      ASSERT_TRUE(custom.called == cumulate(ReduceKind::kSum, x, dim, reverse).evaluated);
      ASSERT_TRUE(custom.called == custom.evaluated);
    }
}

TEST_F(ReduceWindow, LongMovingSumsNeedNoTable) {
  Literal x(int32, {1 << 20});
  for (int64_t i = 0; i < x.elements(); ++i) x.mutable_data<int32_t>()[i] = 1;
  Windows w = Windows::of_size({1 << 19});
  w.strides = {1 << 18};
  const ReduceWindowParams params{w.size, w.strides, w.base_dilation, w.window_dilation,
                                  w.low,  w.high,    ReduceKind::kSum};
  const std::vector<Literal> operands{x, reduce_identity(ReduceKind::kSum, int32)};
  const Literal out = evaluate_reduce_window(operands, params)[0];
  ASSERT_EQ(out.shape(), Shape({3}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out.data<int32_t>()[i], 1 << 19);
}

// As in JAX, the tangent at a tie is the mean of both tangents, in the order of its
// associative_scan.
TEST_F(ReduceWindow, TangentsOfRunningExtremaAtTies) {
  const auto tangents = [](bool reverse) {
    const Literal ones = Literal::from<float>(std::vector<float>{1, 1, 1, 1, 1}, {5});
    const Literal t = Literal::from<float>(std::vector<float>{1, 10, 100, 1000, 10000}, {5});
    Windows w = Windows::of_size({5});
    (reverse ? w.high : w.low)[0] = 4;
    const std::vector<Array> x{host_array(ones),
                               host_array(reduce_identity(ReduceKind::kMax, float32))},
        tangent{host_array(t), {}};
    const Literal out = jvp_reduce_window(x, tangent,
                                          {w.size, w.strides, w.base_dilation, w.window_dilation,
                                           w.low, w.high, ReduceKind::kMax})
                            .tangents[0]
                            .to_host();
    return std::vector<float>(out.data<float>(), out.data<float>() + 5);
  };
  EXPECT_THAT(tangents(false), testing::ElementsAre(1, 5.5f, 52.75f, 277.75f, 5138.875f));
  EXPECT_THAT(tangents(true), testing::ElementsAre(1389.25f, 2777.5f, 2800, 5500, 10000));
}

// Returns a function of two scalars; `result` adds its ops.
FunctionRef body_of(DType dtype, const std::function<ValueId(Function&)>& result) {
  auto body = std::make_shared<Function>();
  body->name = "body";
  for (int k = 0; k < 2; ++k) body->add_input({.dtype = dtype, .shape = {}});
  body->outputs = {result(*body)};
  return body;
}
ValueId append(Function& f, const OpDef& def, OpParams params, ValueIds operands) {
  const std::vector<Type> types = infer_types(def, f.types_of(operands), params);
  return f.add_op(def, std::move(params), std::move(operands), types)[0];
}

// The body of a fold is differentiated element by element. These bodies have a constant, a choice,
// and a part without a tangent.
TEST_F(ReduceWindow, TangentsOfRunningFoldsByABody) {
  Windows w = Windows::of_size({1, 4});
  w.low = {0, 3};
  const auto tangent = [&](ReduceKind kind, const FunctionRef& body) {
    const std::vector<float> values{0.5f, -2, 3, 1.5f, 2, -1, 0.25f, 4},
        tangents{1, 10, 100, 1000, 1, 2, 3, 4};
    const std::vector<Array> x{host_array(Literal::from<float>(values, {2, 4})),
                               host_array(Literal::scalar(1.0f))},
        t{host_array(Literal::from<float>(tangents, {2, 4})), {}};
    const Literal out = jvp_reduce_window(x, t,
                                          {w.size, w.strides, w.base_dilation, w.window_dilation,
                                           w.low, w.high, kind, body})
                            .tangents[0]
                            .to_host();
    return std::vector<float>(out.data<float>(), out.data<float>() + 8);
  };
  // a * b, doubled and halved, if b is not NaN, else a.
  const FunctionRef product = body_of(float32, [](Function& f) {
    const ValueId a = f.inputs[0], b = f.inputs[1];
    const ValueId two = append(f, constant_op, ConstantParams{Literal::scalar(2.0f), {}}, {});
    const ValueId twice =
        append(f, mul_op, NoParams{}, {append(f, mul_op, NoParams{}, {a, b}), two});
    const ValueId is_number = append(
        f, compare_op, CompareParams{Comparison::kEq, default_compare_type(float32)}, {b, b});
    return append(f, select_op, NoParams{},
                  {is_number, append(f, div_op, NoParams{}, {twice, two}), a});
  });
  EXPECT_EQ(tangent(ReduceKind::kCustom, product), tangent(ReduceKind::kProduct, nullptr));
  const FunctionRef reshaped = body_of(
      float32, [](Function& f) { return append(f, reshape_op, ReshapeParams{}, {f.inputs[1]}); });
  const auto traced = [&] {
    const ReduceWindowParams params{w.size, w.strides, w.base_dilation,     w.window_dilation,
                                    w.low,  w.high,    ReduceKind::kCustom, reshaped};
    const Type type{float32, {2, 4}};
    tracing::trace_function(
        [&](const std::vector<Array>& x) {
          const std::vector<Array> operands{x[0], host_array(Literal::scalar(1.0f))},
              tangents{x[1], {}};
          return std::vector<Array>{jvp_reduce_window(operands, tangents, params).tangents[0]};
        },
        std::vector{type, type});
  };
  EXPECT_USER_ERROR(traced(),
                    "[reduce_window] expected a fold of pointwise operations with derivatives to "
                    "differentiate, got one with reshape; write it as a loop");
}

TEST_F(ReduceWindow, CumulativeFoldsRefuseWhatHasNoSum) {
  EXPECT_USER_ERROR(lax::cumsum(b3), "[cumsum] expected numbers, got bool[3]; convert them");
  EXPECT_USER_ERROR(lax::cumprod(f3, 1), "[cumprod] ");
  EXPECT_USER_ERROR(
      lax::cumlogsumexp(i3),
      "[cumlogsumexp] expected a floating-point or complex array, got int32[3]; convert it");
}

}  // namespace
}  // namespace tessera::testing_ops::reduce_window_test
