// Tests which values are known to have no -0. Every such claim is tried on inputs that are -0 and
// 0.
#include "tessera/fusion/rewrites/simplify_zeros.h"

#include <cmath>

#include "fusion_testing.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/indexing/scatter.h"
#include "tests/trace/control_flow.h"

namespace tessera::fusion_testing::simplify_zeros_test {

using namespace fusion;

namespace {

using namespace array_math;
namespace control = testing_control;

bool says_none(const Function& f) { return Scope(f).has_no_negative_zero(f.outputs[0]); }

// Returns whether the first result is claimed to have no -0. If so, evaluates the function to test
// it.
template <class F>
bool none(const std::vector<Type>& types, F body) {
  const Function f = trace(types, body);
  if (!says_none(f)) return false;
  for (const float zero : {-0.0F, 0.0F}) {
    std::vector<Literal> inputs;
    for (const Type& type : f.input_types()) {
      Literal input(type.dtype, type.shape);
      if (type.dtype == float32) std::fill_n(input.mutable_data<float>(), input.elements(), zero);
      inputs.push_back(std::move(input));
    }
    const Literal out = evaluate(f, inputs)[0];
    for (int64_t e = 0; e < out.elements(); ++e) {
      const float value = out.data<float>()[e];
      EXPECT_FALSE(value == 0 && std::signbit(value));
    }
  }
  return true;
}

Array zeros(const Shape& shape, double value = 0) { return lax::full(shape, value, float32); }

TEST(NegativeZero, OfOps) {
  const Type x4 = f32({4});
  EXPECT_FALSE(none({x4}, [](const Arrays& x) { return Arrays{x[0]}; }));
  EXPECT_TRUE(none({x4}, [](const Arrays& x) { return Arrays{x[0] + zeros({4})}; }));
  EXPECT_TRUE(none({x4}, [](const Arrays& x) { return Arrays{zeros({4}) + x[0]}; }));
  EXPECT_FALSE(none({x4}, [](const Arrays& x) { return Arrays{zeros({4}, -0.0) + x[0]}; }));
  EXPECT_FALSE(none({x4}, [](const Arrays& x) { return Arrays{zeros({4}) * x[0]}; }));
  EXPECT_TRUE(none({x4}, [](const Arrays& x) { return Arrays{x[0] * x[0]}; }));
  EXPECT_FALSE(none({x4}, [](const Arrays& x) { return Arrays{-(x[0] * x[0])}; }));
  EXPECT_TRUE(none({x4}, [](const Arrays& x) { return Arrays{lax::exp(x[0])}; }));
  EXPECT_TRUE(none({x4}, [](const Arrays& x) {
    return Arrays{lax::reshape(lax::slice(lax::exp(x[0]), {0}, {2}), {1, 2})};
  }));
  EXPECT_TRUE(none({x4}, [](const Arrays& x) {
    return Arrays{lax::select(lax::gt(x[0], zeros({4})), lax::exp(x[0]), zeros({4}))};
  }));
  EXPECT_FALSE(none({x4}, [](const Arrays& x) {
    return Arrays{lax::select(lax::gt(x[0], zeros({4})), lax::exp(x[0]), x[0])};
  }));
  EXPECT_TRUE(none({array_type(int32, {4})}, [](const Arrays& x) {
    return Arrays{lax::convert_element_type(x[0], float32)};
  }));
  // -1e-60 becomes -0.
  EXPECT_FALSE(says_none(trace({array_type(float64, {4})}, [](const Arrays& x) {
    return Arrays{lax::convert_element_type(x[0] + lax::full({4}, 0, float64), float32)};
  })));
}

TEST(NegativeZero, OfUpdates) {
  const auto scatter = [](const Array& x, const Array& update, ScatterKind kind) {
    const IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
    return lax::scatter(x, lax::full({1}, 1, int32), update, dims, kind);
  };
  const std::vector<Type> types = {f32({4}), f32({})};
  for (ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul}) {
    EXPECT_FALSE(
        none(types, [&](const Arrays& x) { return Arrays{scatter(x[0], lax::exp(x[1]), kind)}; }));
    EXPECT_EQ(none(types, [&](const Arrays& x) { return Arrays{scatter(zeros({4}), x[1], kind)}; }),
              kind == ScatterKind::kAdd);
    EXPECT_EQ(
        none(types,
             [&](const Arrays& x) { return Arrays{scatter(zeros({4}), lax::exp(x[1]), kind)}; }),
        kind != ScatterKind::kMul);
  }
}

// A carry has no -0 if it starts without one and every iteration keeps this property.
TEST(NegativeZero, OfLoops) {
  const Type x4 = f32({4});
  const auto loop = [&](auto start, auto trip) {
    return none({x4, f32({3, 4})}, [&](const Arrays& x) {
      return Arrays{control::scan(3, {}, {start(x), x[0]}, {x[1]}, trip)[0]};
    });
  };
  const auto from_zero = [](const Arrays&) { return zeros({4}); };
  const auto from_input = [](const Arrays& x) { return x[0]; };
  const FlatFn sums = [](const Arrays& c) { return Arrays{c[0] + c[2], c[1]}; };
  EXPECT_TRUE(loop(from_zero, sums));
  EXPECT_FALSE(loop(from_input, sums));
  EXPECT_FALSE(loop(from_zero, [](const Arrays& c) { return Arrays{c[0] * c[2], c[1]}; }));
  EXPECT_FALSE(loop(from_zero, [](const Arrays& c) { return Arrays{c[1], c[0]}; }));
  // Two carries whose proofs need each other; and two of which one may become -0.
  EXPECT_TRUE(none({x4}, [](const Arrays& x) {
    return Arrays{control::scan(3, {x[0]}, {zeros({4}), zeros({4}, 2)}, {}, [](const Arrays& c) {
      return Arrays{c[2] + c[0], c[1] + c[0]};
    })[0]};
  }));
  EXPECT_FALSE(none({x4}, [](const Arrays& x) {
    return Arrays{control::scan(3, {x[0]}, {zeros({4}), zeros({4}, 2)}, {}, [](const Arrays& c) {
      return Arrays{c[2], c[1] * c[0]};
    })[0]};
  }));
  // The proof of the first term fails. Assumptions that it made must be dropped, because they would
  // prove the second term.
  EXPECT_FALSE(none({x4}, [](const Arrays& x) {
    return Arrays{control::scan(3, {x[0]}, {zeros({4}), zeros({4})}, {}, [](const Arrays& c) {
      const Array spoilt = lax::max(c[2], c[0]);
      return Arrays{lax::max(c[1], spoilt + c[2]), spoilt};
    })[0]};
  }));
}

TEST(NegativeZero, InRegions) {
  // The question is about the carry, inside of the body.
  const Function f = trace({f32({4})}, [](const Arrays& x) {
    return Arrays{control::scan(3, {}, {zeros({4}), x[0]}, {}, [](const Arrays& c) {
      return Arrays{c[0] + c[1], c[1]};
    })[0]};
  });
  const Scope outer(f);
  for (const Op& op : f.ops) {
    if (!is_control_flow(op)) continue;
    const FunctionRef body = control_regions(op)[0];
    const Scope inner(*body, outer, op, 0);
    EXPECT_TRUE(inner.has_no_negative_zero(body->inputs[0]));
    EXPECT_FALSE(inner.has_no_negative_zero(body->inputs[1]));
    return;
  }
  FAIL() << "no loop";
}

TEST(NegativeZero, LooksAtABoundedNumberOfValues) {
  const auto chain = [](int length) {
    return trace({f32({4})}, [&](const Arrays& x) {
      Array y = lax::exp(x[0]);
      for (int i = 0; i < length; ++i) y = lax::max(y, lax::full({4}, i, float32));
      return Arrays{y};
    });
  };
  EXPECT_TRUE(says_none(chain(20)));
  EXPECT_FALSE(says_none(chain(1000)));
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_zeros_test
