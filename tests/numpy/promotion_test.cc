#include "tessera/numpy/promotion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "../golden/golden.h"
#include "run.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/trace/trace.h"

namespace tessera::promotion_test {

using namespace tracing;

namespace {

using ::testing::HasSubstr;

using tessera::test::X64;

// Parses "int32", "float32*" (weak), "int*" (a weak scalar of the default dtype).
ResultType parse_type(const std::string& name) {
  if (name == "int*") return {default_int(), true};
  if (name == "float*") return {default_float(), true};
  if (name == "complex*") return {canonical_dtype(complex128), true};
  const bool weak = name.back() == '*';
  return {dtype_from_name(weak ? name.substr(0, name.size() - 1) : name), weak};
}

std::string type_name(ResultType t) {
  return std::string(dtype_name(t.dtype)) + (t.weak ? "*" : "");
}

class PromotionTest : public ::testing::TestWithParam<bool> {
 protected:
  PromotionTest() : x64_(GetParam()), topic_("promotion") {}
  const golden::Json& data() const { return topic_[GetParam() ? "x64" : "default"]; }

 private:
  X64 x64_;
  golden::Topic topic_;
};

TEST_P(PromotionTest, AllPairs) {
  const auto types = data()["types"].get<std::vector<std::string>>();
  for (size_t i = 0; i < types.size(); ++i)
    for (size_t j = 0; j < types.size(); ++j)
      EXPECT_EQ(type_name(promote_types(parse_type(types[i]), parse_type(types[j]))),
                data()["table"][i][j].get<std::string>())
          << types[i] << " and " << types[j];
}

// Returns the functions of golden/make_promotion.py that exist here.
const std::map<std::string, Array (*)(const Array&)>& functions() {
  static const std::map<std::string, Array (*)(const Array&)> all = {
      {"sin", sin},
      {"sqrt", sqrt},
      {"exp", exp},
      {"abs", abs},
      {"negative", negative},
      {"sign", sign},
      {"square", square},
      {"reciprocal", reciprocal},
      {"floor", floor},
      {"round", [](const Array& x) { return round(x); }},
      {"isnan", isnan},
      {"conj", conj},
      {"real", real},
      {"logical_not", logical_not},
      {"sum", [](const Array& x) { return sum(x); }},
      {"prod", [](const Array& x) { return prod(x); }},
      {"mean", [](const Array& x) { return mean(x); }},
      {"var", [](const Array& x) { return var(x); }},
      {"max", [](const Array& x) { return max(x); }},
      {"argmax", [](const Array& x) { return argmax(x); }},
      {"any", [](const Array& x) { return any(x); }},
      {"count_nonzero", [](const Array& x) { return count_nonzero(x); }},
      {"self_true_divide", [](const Array& x) { return x / x; }},
      {"self_floor_divide", [](const Array& x) { return floor_divide(x, x); }},
      {"self_mod", [](const Array& x) { return x % x; }},
      {"self_power", [](const Array& x) { return power(x, x); }},
      {"power_int", [](const Array& x) { return power(x, 2); }},
      {"power_float", [](const Array& x) { return power(x, 0.5); }},
      {"times_bool", [](const Array& x) { return x * true; }},
      {"plus_int", [](const Array& x) { return x + 1; }},
      {"plus_float", [](const Array& x) { return x + 1.5; }},
      {"divide_int", [](const Array& x) { return x / 2; }},
      {"self_arctan2", [](const Array& x) { return arctan2(x, x); }},
      {"self_maximum", [](const Array& x) { return maximum(x, x); }},
      {"self_equal", [](const Array& x) { return x == x; }},
      {"self_bitwise_and", [](const Array& x) { return x & x; }},
      {"self_left_shift", [](const Array& x) { return x << x; }},
      {"where_int", [](const Array& x) { return where(true, x, 1); }},
      {"where_float", [](const Array& x) { return where(true, x, 1.5); }},
      {"self_matmul", [](const Array& x) { return dot(x, x); }},
      {"self_hypot", [](const Array& x) { return hypot(x, x); }},
      {"zeros_like", [](const Array& x) { return zeros_like(x); }},
      {"softmax", [](const Array& x) { return softmax(x); }},
      {"sigmoid", sigmoid},
      {"relu", relu},
      {"gelu", [](const Array& x) { return gelu(x); }},
  };
  return all;
}

TEST_P(PromotionTest, ResultTypesOfFunctions) {
  const auto types = data()["types"].get<std::vector<std::string>>();
  size_t tested = 0;
  for (const auto& [name, results] : data()["functions"].items()) {
    const auto function = functions().find(name);
    if (function == functions().end()) continue;
    ++tested;
    for (size_t i = 0; i < types.size(); ++i) {
      const ResultType type = parse_type(types[i]);
      const bool scalar = types[i].back() == '*';
      std::string expected = results[i].get<std::string>(), got;
      if (expected == "bool*") expected = "bool";  // bool is never weak here
      try {
        FunctionTrace trace;
        const Array x = trace.add_input(
            Type{.dtype = type.dtype, .shape = scalar ? Shape{} : Shape{2}, .weak = type.weak});
        const Array y = function->second(x);
        got = type_name({y.dtype(), y.weak_type()});
      } catch (const UserError&) {
        got = "error";
      }
      EXPECT_EQ(got, expected) << name << " of " << types[i];
    }
  }
  EXPECT_EQ(tested, functions().size());
}

INSTANTIATE_TEST_SUITE_P(Promotion, PromotionTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "x64" : "default"; });

TEST(PromotionTest, NarrowDtypesYieldToNone) {
  for (int d = kNumDTypes; d < kNumAllDTypes; ++d) {
    const auto narrow = static_cast<DType>(d);
    const ResultType weak =
        promote_types({narrow, false}, {is_floating(narrow) ? float32 : int32, true});
    EXPECT_EQ(weak.dtype, narrow);
    EXPECT_EQ(promote_types({bool_, false}, {narrow, false}).dtype, narrow);
    try {
      promote_types({narrow, false}, {is_floating(narrow) ? bfloat16 : int8, false});
      FAIL() << narrow;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kType);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("convert one of them"));
    }
  }
}

TEST(PromotionTest, CanonicalDtypes) {
  EXPECT_EQ(canonical_dtype(float64), float32);
  EXPECT_EQ(canonical_dtype(uint64), uint32);
  EXPECT_EQ(canonical_dtype(complex128), complex64);
  EXPECT_EQ(canonical_dtype(int8), int8);
  const X64 x64(true);
  EXPECT_EQ(canonical_dtype(float64), float64);
  EXPECT_EQ(to_inexact(int32), float32);
  EXPECT_EQ(to_inexact(int64), float64);
}

TEST(PromotionTest, Broadcasting) {
  EXPECT_EQ(broadcast_shapes("f", std::vector<Shape>{{4, 1, 3}, {5, 1}, {}}), Shape({4, 5, 3}));
  EXPECT_EQ(broadcast_shapes("f", std::vector<Shape>{{0, 1}, {1, 2}}), Shape({0, 2}));
  try {
    broadcast_shapes("add", std::vector<Shape>{{4}, {3}});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kShape);
    EXPECT_THAT(e.what(), HasSubstr("[add] expected shapes that broadcast"));
    EXPECT_THAT(e.what(), HasSubstr("(4,) and (3,)"));
  }
}

TEST(PromotionTest, BroadcastToASmallerShapeIsAnError) {
  FunctionTrace trace;
  const Array x = trace.add_input(Type{.dtype = float32, .shape = {4, 2}});
  EXPECT_THROW(broadcast_array("f", x, {2}), UserError);
  EXPECT_THROW(broadcast_array("f", x, {4, 3}), UserError);
}

// A C++ number becomes a constant of the array's dtype, not a conversion at run time.
TEST(PromotionTest, ScalarsAreConvertedWhileTracing) {
  FunctionTrace trace;
  const Array x = trace.add_input(Type{.dtype = bfloat16, .shape = {4}});
  const Function f = trace.finish(std::vector<Array>{x * 2 + 1.5});
  for (const Op& op : f.ops) EXPECT_NE(op.def->name, "convert");
  EXPECT_EQ(f.output_types()[0].dtype, bfloat16);
}

}  // namespace
}  // namespace tessera::promotion_test
