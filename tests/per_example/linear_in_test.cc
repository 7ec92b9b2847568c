#include "tessera/per_example/linear_in.h"

#include <gtest/gtest.h>

#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/trace/trace.h"

namespace tessera::per_example::linear_in_test {
namespace {

using namespace ir;

// Returns whether the last op of fn is linear in the marked inputs, which are its operands.
bool is_linear(const ops::FlatFn& fn, const std::vector<Type>& types,
               const std::vector<bool>& marked) {
  const Function f = tracing::trace_function(fn, types).function;
  return is_linear_in(f.ops.back(), f.types_of(f.ops.back().operands), marked);
}
const Type kVector{.dtype = float32, .shape = {3}}, kInts{.dtype = int32, .shape = {3}},
    kMask{.dtype = bool_, .shape = {3}};

TEST(LinearIn, ProductsAreLinearInOneFactor) {
  const ops::FlatFn mul = [](const std::vector<Array>& x) {
    return std::vector{lax::mul(x[0], x[1])};
  };
  EXPECT_TRUE(is_linear(mul, {kVector, kVector}, {true, false}));
  EXPECT_TRUE(is_linear(mul, {kVector, kVector}, {false, true}));
  EXPECT_FALSE(is_linear(mul, {kVector, kVector}, {true, true}));
}

TEST(LinearIn, QuotientsAreLinearAboveTheLine) {
  const ops::FlatFn div = [](const std::vector<Array>& x) {
    return std::vector{lax::div(x[0], x[1])};
  };
  EXPECT_TRUE(is_linear(div, {kVector, kVector}, {true, false}));
  EXPECT_FALSE(is_linear(div, {kVector, kVector}, {false, true}));
}

TEST(LinearIn, SumsAndChoicesAreLinear) {
  const auto unary = [](auto f) {
    return is_linear([f](const std::vector<Array>& x) { return std::vector{f(x[0])}; }, {kVector},
                     {true});
  };
  EXPECT_TRUE(unary([](const Array& x) { return lax::neg(x); }));
  EXPECT_FALSE(unary([](const Array& x) { return lax::exp(x); }));
  EXPECT_FALSE(unary([](const Array& x) { return lax::abs(x); }));
  EXPECT_FALSE(unary([](const Array& x) { return lax::floor(x); }));
  const ops::FlatFn add = [](const std::vector<Array>& x) {
    return std::vector{lax::add(x[0], x[1])};
  };
  EXPECT_TRUE(is_linear(add, {kVector, kVector}, {true, true}));
  const ops::FlatFn select = [](const std::vector<Array>& x) {
    return std::vector{lax::select(x[0], x[1], x[2])};
  };
  EXPECT_TRUE(is_linear(select, {kMask, kVector, kVector}, {false, true, true}));
  EXPECT_FALSE(is_linear(select, {kMask, kVector, kVector}, {true, false, false}));
}

TEST(LinearIn, IntegersMayBeMovedAndAdded) {
  const auto of = [](auto f) {
    return is_linear([f](const std::vector<Array>& x) { return std::vector{f(x[0])}; }, {kInts},
                     {true});
  };
  EXPECT_TRUE(of([](const Array& x) { return lax::convert_element_type(x, float32); }));
  EXPECT_TRUE(of([](const Array& x) { return lax::neg(x); }));
  EXPECT_FALSE(of([](const Array& x) { return lax::abs(x); }));
}

}  // namespace
}  // namespace tessera::per_example::linear_in_test
