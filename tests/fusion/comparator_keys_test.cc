#include "tessera/fusion/rewrites/comparator_keys.h"

#include "fusion_testing.h"
#include "tessera/control/control.h"
#include "tessera/control/make_control_flow.h"

namespace tessera::fusion_testing::comparator_keys_test {

using namespace fusion;

namespace {

Array number(double value) { return Array(Literal::scalar(static_cast<float>(value))); }

// Returns a comparator of elements of these dtypes.
template <class F>
Function comparator_of(const std::vector<DType>& dtypes, F body) {
  std::vector<Type> types;
  for (DType dtype : dtypes) types.insert(types.end(), 2, array_type(dtype, {}));
  return trace(types, [&](const Arrays& x) { return Arrays{body(x)}; });
}

// Divides the comparator. Expects that it has the same results for pairs of random elements.
ComparatorKeys divided(const Function& comparator) {
  const ComparatorKeys parts = keys_of_comparator(comparator);
  EXPECT_EQ(parts.comparator.inputs.size(), 2 * parts.keys.outputs.size());
  for (uint32_t seed = 1; seed < 40; ++seed) {
    const std::vector<Literal> pair = random_inputs(comparator, seed);
    std::vector<Literal> sides[2];
    for (size_t k = 0; k < pair.size(); ++k) sides[k % 2].push_back(pair[k]);
    const std::vector<Literal> a = evaluate(parts.keys, sides[0]),
                               b = evaluate(parts.keys, sides[1]);
    std::vector<Literal> keys;
    for (size_t k = 0; k < a.size(); ++k) {
      keys.push_back(a[k]);
      keys.push_back(b[k]);
    }
    EXPECT_EQ(evaluate(parts.comparator, keys), evaluate(comparator, pair)) << seed;
  }
  return parts;
}

TEST(ComparatorKeys, WhatDependsOnOneElementIsAKey) {
  const ComparatorKeys parts = divided(comparator_of({float32}, [](const Arrays& x) {
    const auto key = [](const Array& v) { return lax::sin(lax::mul(lax::abs(v), number(3))); };
    return lax::lt(key(x[0]), key(x[1]));
  }));
  EXPECT_EQ(parts.keys.outputs.size(), 1u);
  EXPECT_EQ(parts.keys.ops.size(), 4u) << "abs, a constant, a product and a sine";
  EXPECT_EQ(parts.comparator.ops.size(), 1u);
}

TEST(ComparatorKeys, AnOperandMayBeAKey) {
  const ComparatorKeys parts =
      divided(comparator_of({float32, int32, float32}, [](const Arrays& x) {
        const Array first = lax::lt(lax::neg(x[4]), lax::neg(x[5]));
        return lax::select(lax::eq(lax::neg(x[4]), lax::neg(x[5])), lax::lt(x[2], x[3]), first);
      }));
  EXPECT_EQ(parts.keys.outputs,
            (std::vector<ValueId>{parts.keys.ops[0].results[0], parts.keys.inputs[1]}));
  EXPECT_TRUE(parts.keys.ops.size() == 1u) << "the negation is one key";
}

TEST(ComparatorKeys, WhatDependsOnBothElementsStays) {
  const ComparatorKeys parts = divided(comparator_of({float32, float32}, [](const Arrays& x) {
    return lax::lt(lax::mul(x[0], x[3]), lax::mul(x[1], x[2]));
  }));
  EXPECT_TRUE(parts.keys.ops.empty());
  EXPECT_EQ(parts.comparator.ops.size(), 3u);
}

// The second element's sign alone decides; the first one has the same key, which nothing reads.
TEST(ComparatorKeys, OfOneElementOrNone) {
  const ComparatorKeys one =
      divided(comparator_of({float32}, [](const Arrays& x) { return lax::lt(x[1], number(0)); }));
  EXPECT_EQ(one.keys.outputs.size(), 1u);
  EXPECT_TRUE(one.comparator.ops.empty());
  EXPECT_EQ(one.comparator.outputs[0], one.comparator.inputs[1]);
  const ComparatorKeys none = divided(
      comparator_of({float32}, [](const Arrays&) { return lax::lt(number(1), number(2)); }));
  EXPECT_TRUE(none.keys.outputs.empty());
}

TEST(ComparatorKeys, CallsAreInlined) {
  const auto callee = std::make_shared<const Function>(
      trace({f32({})}, [](const Arrays& x) { return Arrays{lax::abs(x[0])}; }));
  const ComparatorKeys parts = divided(comparator_of({float32}, [&](const Arrays& x) {
    const auto key = [&](const Array& v) {
      return bind_op1(ops::call_op, ops::CallParams{callee}, {v});
    };
    return lax::lt(key(x[0]), key(x[1]));
  }));
  EXPECT_EQ(parts.keys.ops.size(), 1u);
  EXPECT_EQ(parts.keys.ops[0].def, &ops::abs_op);
}

// Arrays of elements have no loop, so it stays in the comparator.
TEST(ComparatorKeys, LoopsStay) {
  const ComparatorKeys parts = divided(comparator_of({float32}, [&](const Arrays& x) {
    const auto key = [&](const Array& v) {
      return control::make_while(
          {lax::abs(v)}, [](const Arrays& c) { return Arrays{lax::gt(c[0], number(1))}; },
          [](const Arrays& c) { return Arrays{lax::sub(c[0], number(1))}; })[0];
    };
    return lax::lt(key(x[0]), key(x[1]));
  }));
  EXPECT_EQ(parts.keys.ops.size(), 1u) << "the absolute value";
  EXPECT_EQ(parts.comparator.ops.size(), 3u);
}

}  // namespace
}  // namespace tessera::fusion_testing::comparator_keys_test
