#include "tessera/ops/reductions/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "tessera/ir/format.h"
#include "tessera/ir/function.h"
#include "tessera/ir/lowering.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tests/golden/golden.h"

namespace tessera::reduce_test {

using namespace ops;

namespace {

using testing::HasSubstr;

Type type_of(const Literal& x) { return {x.dtype(), x.shape()}; }
std::vector<Type> types_of(std::span<const Literal> x) {
  std::vector<Type> out;
  for (const Literal& l : x) out.push_back(type_of(l));
  return out;
}
// Infers the types of the results, evaluates, and compares them.
std::vector<Literal> run(const ReduceParams& p, const std::vector<Literal>& x) {
  const std::vector<Type> types = reduce_op.infer(types_of(x), p);
  std::vector<Literal> out = reduce_op.evaluate(x, p);
  EXPECT_EQ(types.size(), out.size());
  for (size_t r = 0; r < out.size(); ++r)
    EXPECT_TRUE(types[r].same_array(type_of(out[r]))) << describe(types[r]);
  return out;
}
void expect_error(ErrorKind kind, const std::string& fragment, const ReduceParams& p,
                  const std::vector<Type>& types) {
  try {
    reduce_op.infer(types, p);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(fragment));
  }
}
template <class T>
Literal list(std::initializer_list<T> values) {
  return Literal::from<T>(std::span<const T>(values.begin(), values.size()),
                          {static_cast<int64_t>(values.size())});
}

// Returns the body x + y - x y, or the exclusive or: no ReduceKind names either.
FunctionRef region_body(DType dtype, bool probabilistic) {
  auto f = std::make_shared<Function>();
  const ValueId a = f->add_input({dtype, {}}), b = f->add_input({dtype, {}});
  const std::vector<Type> type{{dtype, {}}};
  if (!probabilistic) {
    f->outputs = {f->add_op(bitwise_xor_op, bitwise_xor_op.params, {a, b}, type)[0]};
    return f;
  }
  const ValueId sum = f->add_op(add_op, add_op.params, {a, b}, type)[0];
  const ValueId product = f->add_op(mul_op, mul_op.params, {a, b}, type)[0];
  f->outputs = {f->add_op(sub_op, sub_op.params, {sum, product}, type)[0]};
  return f;
}
// Returns the body (a0 + b0, max(a1, b1)).
FunctionRef two_body() {
  auto f = std::make_shared<Function>();
  const Type x{float32, {}}, i{int32, {}};
  const ValueId a0 = f->add_input(x), a1 = f->add_input(i), b0 = f->add_input(x),
                b1 = f->add_input(i);
  const ValueId sum = f->add_op(add_op, add_op.params, {a0, b0}, std::vector{x})[0];
  const ValueId max = f->add_op(max_op, max_op.params, {a1, b1}, std::vector{i})[0];
  f->outputs = {sum, max};
  return f;
}

ReduceParams golden_params(const std::string& name, const Dims& dims, DType dtype) {
  if (name.starts_with("argmax")) return {dims, ReduceKind::kArgMax};
  if (name.starts_with("argmin")) return {dims, ReduceKind::kArgMin};
  if (name == "reduce_xor") return {dims, ReduceKind::kCustom, region_body(dtype, false)};
  if (name == "reduce_region") return {dims, ReduceKind::kCustom, region_body(dtype, true)};
  if (name == "reduce_two") return {dims, ReduceKind::kCustom, two_body()};
  for (const auto& [word, kind] :
       std::map<std::string, ReduceKind>{{"add", ReduceKind::kSum},
                                         {"multiply", ReduceKind::kProduct},
                                         {"maximum", ReduceKind::kMax},
                                         {"minimum", ReduceKind::kMin},
                                         {"and", ReduceKind::kAnd},
                                         {"or", ReduceKind::kOr},
                                         {"large", ReduceKind::kSum}})
    if (name.starts_with("reduce_" + word)) return {dims, kind};
  TESSERA_CHECK(false, "{}", name);
  return {};
}

// Returns whether the elements have the same bits, or are both NaN: processors differ in the sign
// of the NaN that they make.
bool same(const Literal& a, const Literal& b) {
  if (a == b) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || !is_floating(a.dtype())) return false;
  const Literal x = convert_literal(a, float64), y = convert_literal(b, float64);
  const auto size = static_cast<size_t>(itemsize(a.dtype()));
  for (int64_t i = 0; i < a.elements(); ++i) {
    const bool both = std::isnan(x.data<double>()[i]) && std::isnan(y.data<double>()[i]);
    if (!both && std::memcmp(a.raw() + i * size, b.raw() + i * size, size) != 0) return false;
  }
  return true;
}

TEST(Reduce, Golden) {
  const golden::Topic topic("ops");
  int count = 0;
  for (const golden::Json& c : topic["programs"]) {
    const std::string name = c["name"];
    if (c["op"] != "reduce" || name == "softmax") continue;
    SCOPED_TRACE(name);
    const Dims dims = golden::dims(c["attributes"]["dimensions"]);
    std::vector<Literal> inputs = topic.arrays(c["inputs"]);
    const std::vector<Literal> want = topic.arrays(c["outputs"]);
    const ReduceParams p = golden_params(name, dims, inputs[0].dtype());
    std::vector<Literal> got;
    if (p.kind == ReduceKind::kArgMin || p.kind == ReduceKind::kArgMax) {
      Literal index(want[0].dtype(), inputs[0].shape());
      const int64_t stride = row_major_strides(index.shape())[dims[0]];
      for (int64_t i = 0; i < index.elements(); ++i) {
        const int64_t value = i / stride % index.shape()[dims[0]];
        std::memcpy(index.mutable_raw() + i * itemsize(index.dtype()), &value,
                    static_cast<size_t>(itemsize(index.dtype())));
      }
      const std::vector<Type> types{type_of(inputs[0]), type_of(index)};
      const std::vector<Literal> inits = reduce_identities(p.kind, types);
      got = {run(p, {inputs[0], index, inits[0], inits[1]})[1]};
    } else {
      got = run(p, inputs);
    }
    ASSERT_EQ(got.size(), want.size());
    for (size_t r = 0; r < got.size(); ++r) {
      if (c["exact"].get<bool>()) {
        EXPECT_TRUE(same(got[r], want[r]));
        continue;
      }
      ASSERT_EQ(got[r].shape(), want[r].shape());
      for (int64_t i = 0; i < got[r].elements(); ++i)
        EXPECT_NEAR(got[r].data<float>()[i], want[r].data<float>()[i], 1e-4);
    }
    ++count;
  }
  EXPECT_GE(count, 30);
}

// The bodies for compiled code give the same results as the evaluation by kind.
TEST(Reduce, BodiesAgreeWithKinds) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const Literal x = list<float>({3, -1, 7, 7, 0, -inf, 2}),
                with_nan = list<float>({3, nan, -1, nan, inf});
  const Literal n = list<int32_t>({12, 10, 14, 8}), flags = list<bool>({true, false, true});
  auto check = [](ReduceKind kind, const Literal& values) {
    SCOPED_TRACE(fmt::format("{} {}", enum_names(kind)[static_cast<size_t>(kind)], values.dtype()));
    std::vector<Literal> operands{values, reduce_identity(kind, values.dtype())};
    ReduceParams by_kind{{0}, kind},
        by_body{{0}, ReduceKind::kCustom, reduce_body(kind, values.dtype())};
    if (kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax) {
      Literal index(int32, values.shape());
      for (int32_t i = 0; i < index.elements(); ++i) index.mutable_data<int32_t>()[i] = i;
      operands = {values, index, operands[1], Literal(int32, {})};
    }
    const std::vector<Literal> a = run(by_kind, operands), b = run(by_body, operands);
    EXPECT_TRUE(a.back() == b.back());
    EXPECT_EQ(classify_reduce_body(*by_body.body), kind);
  };
  for (const Literal& values : {x, with_nan})
    for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProduct, ReduceKind::kMin,
                            ReduceKind::kMax, ReduceKind::kArgMin, ReduceKind::kArgMax})
      if (values.elements() == 7 || kind >= ReduceKind::kMin) check(kind, values);
  for (ReduceKind kind :
       {ReduceKind::kSum, ReduceKind::kProduct, ReduceKind::kMin, ReduceKind::kMax,
        ReduceKind::kAnd, ReduceKind::kOr, ReduceKind::kArgMin, ReduceKind::kArgMax})
    check(kind, n);
  check(ReduceKind::kAnd, flags);
  check(ReduceKind::kOr, flags);
  check(ReduceKind::kArgMax, flags);
}

TEST(Reduce, ArgBodiesCommute) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {1, 2, nan, -0.0f, 0.0f};
  for (ReduceKind kind : {ReduceKind::kArgMin, ReduceKind::kArgMax})
    for (float a : values)
      for (float b : values) {
        const FunctionRef body = reduce_body(kind, float32);
        auto fold = [&](float x, int32_t i, float y, int32_t j) {
          const std::vector<Literal> args{Literal::scalar(x), Literal::scalar(i),
                                          Literal::scalar(y), Literal::scalar(j)};
          return evaluate_function(*body, args)[1];
        };
        EXPECT_TRUE(fold(a, 0, b, 1) == fold(b, 1, a, 0)) << a << " " << b;
      }
}

TEST(Reduce, SmallFloatsAccumulateWide) {
  Literal ones(float16, {4096});
  for (int64_t i = 0; i < 4096; ++i) ones.mutable_data<Float16>()[i] = Float16(1.0f);
  EXPECT_EQ(static_cast<float>(
                run({{0}, ReduceKind::kSum}, {ones, Literal(float16, {})})[0].data<Float16>()[0]),
            4096.0f);
}

TEST(Reduce, Factors) {
  const std::vector<Type> sum{{float32, {4, 6, 8}}, {float32, {}}};
  const ReduceParams p{{0, 2}, ReduceKind::kMax};
  const Factors f = reduce_op.factors(sum, reduce_op.infer(sum, p), p);
  EXPECT_EQ(to_string(f), "([i, j, k], [])->([j]) {i=4, j=6, k=8} reduction={i, k} combiner=max");
  EXPECT_EQ(f.combiner, ReduceKind::kMax);
  const ReduceParams custom{{1}, ReduceKind::kCustom, region_body(float32, true)};
  EXPECT_EQ(to_string(reduce_op.factors(sum, reduce_op.infer(sum, custom), custom)),
            "([i, j, k], [])->([i, k]) {i=4, j=6, k=8} need_replication={j}");
}

TEST(Reduce, DescribesABody) {
  const Reduction r = std::get<Reduce>(reduce_op.lower)
                          .describe(ReduceParams{{1}, ReduceKind::kSum},
                                    std::vector<Type>{{int32, {2, 3}}, {int32, {}}});
  EXPECT_EQ(r.dims, Dims{1});
  ASSERT_TRUE(r.body);
  EXPECT_EQ(r.body, reduce_body(ReduceKind::kSum, int32));
}

TEST(Reduce, Errors) {
  const Type x{float32, {4, 6}}, init{float32, {}}, b{bool_, {4}}, bi{bool_, {}}, z{complex64, {4}},
      zi{complex64, {}};
  using K = ReduceKind;
  expect_error(ErrorKind::kShape, "expected dimensions in [0, 2), got (2,) for float32[4,6] (C4)",
               {{2}, K::kSum}, {x, init});
  expect_error(ErrorKind::kShape, "expected distinct dimensions, got (1, 1) (C5)",
               {{1, 1}, K::kSum}, {x, init});
  expect_error(ErrorKind::kType, "expected operands and as many initial scalars, got 1 in all (C3)",
               {{0}, K::kSum}, {x});
  expect_error(
      ErrorKind::kType,
      "expected initial value 0 to be float32[], the scalar of operand 0, got int32[] (C2)",
      {{0}, K::kSum}, {x, {int32, {}}});
  expect_error(ErrorKind::kShape,
               "expected operands of one shape, got float32[4,6] and float32[4] (C1)",
               {{0}, K::kCustom, two_body()}, {x, {float32, {4}}, init, init});
  expect_error(ErrorKind::kType, "expected numbers for a sum, got bool[4]", {{0}, K::kSum},
               {b, bi});
  expect_error(ErrorKind::kType, "expected an ordered dtype for a max, got complex64[4]",
               {{0}, K::kMax}, {z, zi});
  expect_error(ErrorKind::kType, "expected bool or integers for an and, got float32[4,6]",
               {{0}, K::kAnd}, {x, init});
  expect_error(ErrorKind::kType, "expected 2 operands for kind argmax, got 1", {{0}, K::kArgMax},
               {x, init});
  expect_error(ErrorKind::kType, "expected integer indices, got float32[4,6]", {{0}, K::kArgMax},
               {x, x, init, init});
  expect_error(ErrorKind::kType,
               "expected a body of 2 inputs and 1 results for 1 operand, got 4 and 2 (C6)",
               {{0}, K::kCustom, two_body()}, {x, init});
  expect_error(ErrorKind::kType, "expected input 0 of the body to be float32[], got int32[] (C6)",
               {{0}, K::kCustom, region_body(int32, true)}, {x, init});
}

}  // namespace
}  // namespace tessera::reduce_test
