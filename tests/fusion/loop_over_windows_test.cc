#include "tessera/fusion/rewrites/loop_over_windows.h"

#include "fusion_testing.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::fusion_testing::loop_over_windows_test {

using namespace fusion;

namespace {

using ops::ScatterParams;

// Returns a body of scalars.
FunctionRef body_of(const std::vector<DType>& dtypes,
                    const std::function<Arrays(const Arrays&)>& body) {
  std::vector<Type> types;
  for (int side = 0; side < 2; ++side)
    for (DType dtype : dtypes) types.push_back(array_type(dtype, {}));
  return std::make_shared<const Function>(trace(types, body));
}

// 2 old + update, which depends on the order of updates.
FunctionRef doubling_body(DType dtype) {
  return body_of({dtype}, [&](const Arrays& x) {
    return Arrays{
        lax::add(lax::mul(x[0], Array(convert_literal(Literal::scalar(2), dtype))), x[1])};
  });
}

// The larger of two complex numbers by real, then by imaginary parts, as JAX writes it.
FunctionRef larger_body(DType dtype) {
  return body_of({dtype}, [](const Arrays& x) {
    const Array a = lax::real(x[0]), b = lax::real(x[1]);
    const Array first =
        lax::select(lax::eq(a, b), lax::gt(lax::imag(x[0]), lax::imag(x[1])), lax::gt(a, b));
    return Arrays{lax::select(first, x[0], x[1])};
  });
}

Function scatter_function(const std::vector<Type>& types, const ScatterParams& p) {
  return trace(types, [&](const Arrays& x) { return bind_op(ops::scatter_op, p, std::span(x)); });
}

bool has(const Function& f, const OpDef& def) {
  return std::any_of(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}

// Writes indices from -2 to 12, or the dtype's least and greatest numbers.
void fill_indices(Literal& indices) {
  std::mt19937 engine(7);
  visit_dtype(indices.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>)
      for (int64_t i = 0; i < indices.elements(); ++i) {
        const auto number = static_cast<int>(engine() % 17) - 2;
        indices.mutable_data<T>()[i] = number == 13   ? std::numeric_limits<T>::min()
                                       : number == 14 ? std::numeric_limits<T>::max()
                                                      : static_cast<T>(number);
      }
  });
}

// Expects that the scatter becomes a loop with the same results, bit for bit.
void expect_loop(const std::vector<Type>& types, const ScatterParams& p) {
  const Function f = scatter_function(types, p), looped = loop_over_windows(f);
  EXPECT_FALSE(has(looped, ops::scatter_op));
  ASSERT_TRUE(has(looped, ops::scan_op));
  std::vector<Literal> inputs = random_inputs(f);
  fill_indices(inputs[types.size() / 2]);
  EXPECT_EQ(evaluate(looped, inputs), evaluate(f, inputs));
  check(f, inputs);
}

struct Geometry {
  Shape x, indices, updates;
  ScatterParams p;
};

std::vector<Geometry> geometries() {
  return {
      // elements, an array of many bytes, rows, windows that overlap, columns
      {{10}, {40, 1}, {40}, {{}, {0}, {}, {}, {0}, 1}},
      {{100}, {300}, {300}, {{}, {0}, {}, {}, {0}, 1}},
      {{10, 5}, {30, 1}, {30, 5}, {{1}, {0}, {}, {}, {0}, 1}},
      {{12, 5}, {30, 1}, {30, 3, 2}, {{1, 2}, {}, {}, {}, {0}, 1}},
      {{5, 10}, {30, 1}, {5, 30}, {{0}, {1}, {}, {}, {1}, 1}},
      // two starts in the other order, index vectors first, several batch dimensions
      {{9, 8}, {30, 2}, {30, 2}, {{1}, {0}, {}, {}, {1, 0}, 1}},
      {{9, 8}, {2, 30}, {30}, {{}, {0, 1}, {}, {}, {0, 1}, 0}},
      {{9, 8}, {3, 2, 7}, {3, 2, 7, 8}, {{3}, {0}, {}, {}, {0}, 3}},
      // paired batch dimensions, in either order
      {{3, 10}, {3, 9, 1}, {3, 9}, {{}, {1}, {0}, {0}, {1}, 2}},
      {{10, 3, 4}, {9, 4, 3, 1}, {9, 4, 3}, {{}, {0}, {1, 2}, {2, 1}, {0}, 3}},
      // all of the array, and one of a single element
      {{6}, {4, 0}, {4, 6}, {{1}, {}, {}, {}, {}, 1}},
      {{}, {4, 0}, {4}, {{}, {}, {}, {}, {}, 1}},
  };
}

TEST(LoopOverWindows, EveryGeometryHasTheSameResults) {
  for (Geometry g : geometries())
    for (DType dtype : {float32, int32, complex64}) {
      SCOPED_TRACE(fmt::format("{} of {}, {}", dtype, g.x, g.updates));
      g.p.kind = ScatterKind::kCustom;
      g.p.body = doubling_body(dtype);
      expect_loop(
          {array_type(dtype, g.x), array_type(int32, g.indices), array_type(dtype, g.updates)},
          g.p);
    }
}

TEST(LoopOverWindows, EveryDtypeOfElementsAndIndices) {
  for (DType index : {int8, uint8, int16, uint32, int64, uint64})
    for (DType dtype : {int8, uint16, int64, float16, bfloat16, float64, complex128}) {
      SCOPED_TRACE(fmt::format("{} at {}", dtype, index));
      expect_loop({array_type(dtype, {10}), array_type(index, {40, 1}), array_type(dtype, {40})},
                  {{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, doubling_body(dtype)});
    }
}

TEST(LoopOverWindows, ComplexNumbersAreCompared) {
  for (DType dtype : {complex64, complex128})
    expect_loop({array_type(dtype, {10}), array_type(int32, {60, 1}), array_type(dtype, {60})},
                {{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, larger_body(dtype)});
}

// The first result depends on both arrays; the second one is a constant.
TEST(LoopOverWindows, SeveralArraysOfDifferentDtypes) {
  const FunctionRef body = body_of({float32, int32}, [](const Arrays& x) {
    const Array counted = lax::convert_element_type(lax::add(x[1], x[3]), float32);
    return Arrays{lax::add(lax::mul(x[0], counted), x[2]), Array(Literal::scalar<int32_t>(7))};
  });
  expect_loop({f32({10}), array_type(int32, {10}), array_type(int32, {40, 1}), f32({40}),
               array_type(int32, {40})},
              {{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, body});
}

// An array of few bytes gets rows that no window reaches, so that a trip updates it in memory.
TEST(LoopOverWindows, SmallArraysAreUpdatedInMemory) {
  const ScatterParams p{{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, doubling_body(float32)};
  const Schedule s = fuse(
      loop_over_windows(scatter_function({f32({10}), array_type(int32, {40, 1}), f32({40})}, p)),
      Mesh());
  for (const Step& step : s.steps) {
    const auto* loop = std::get_if<LoopStep>(&step);
    if (!loop) continue;
    EXPECT_TRUE(
        std::any_of(loop->body->steps.begin(), loop->body->steps.end(),
                    [](const Step& inner) { return std::holds_alternative<UpdateStep>(inner); }));
  }
}

// Known kinds have faster code of their own. The loop of a sharded array would be interpreted.
TEST(LoopOverWindows, OtherScattersStay) {
  const ScatterParams known{{}, {0}, {}, {}, {0}, 1, ScatterKind::kAdd};
  EXPECT_TRUE(has(loop_over_windows(
                      scatter_function({f32({10}), array_type(int32, {40, 1}), f32({40})}, known)),
                  ops::scatter_op));
  const ScatterParams own{{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, doubling_body(float32)};
  const std::vector<Type> sharded{f32({10}).with_varying({"x"}),
                                  array_type(int32, {40, 1}).with_varying({"x"}),
                                  f32({40}).with_varying({"x"})};
  EXPECT_TRUE(has(loop_over_windows(scatter_function(sharded, own)), ops::scatter_op));
}

// A scatter in the body of a loop becomes a loop in it.
TEST(LoopOverWindows, InsideOfRegions) {
  const ScatterParams p{{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, doubling_body(float32)};
  ops::ScanParams scan{.length = 3, .num_consts = 2, .num_carry = 1};
  const std::vector<Type> types{array_type(int32, {5, 1}), f32({5}), f32({10})};
  scan.body = std::make_shared<const Function>(trace(types, [&](const Arrays& x) {
    return bind_op(ops::scatter_op, p, std::vector<Array>{x[2], x[0], x[1]});
  }));
  const Function f =
      trace(types, [&](const Arrays& x) { return bind_op(ops::scan_op, scan, std::span(x)); });
  const Function looped = loop_over_windows(f);
  EXPECT_TRUE(has(*looped.ops[0].params.as<ops::ScanParams>().body, ops::scan_op));
  const std::vector<Literal> inputs = random_inputs(f);
  EXPECT_EQ(evaluate(looped, inputs), evaluate(f, inputs));
}

}  // namespace
}  // namespace tessera::fusion_testing::loop_over_windows_test
