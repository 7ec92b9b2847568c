// Compares dots with naive loops. The operands are small integers, so every order of summation
// gives the same result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/thread_pool.h"
#include "tessera/runtime/products/dot_plan.h"
#include "tests/runtime/schedules.h"

namespace tessera::dot_test {

using namespace runtime;

namespace {

template <class T>
std::complex<double> as_complex(T value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
  }
}
std::vector<std::complex<double>> widened(const Literal& literal) {
  std::vector<std::complex<double>> out;
  visit_dtype(literal.dtype(), [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < literal.elements(); ++i)
      out.push_back(as_complex(literal.data<T>()[i]));
  });
  return out;
}
Literal narrowed(DType dtype, const Shape& shape, const std::vector<std::complex<double>>& values) {
  Literal out(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    for (size_t i = 0; i < values.size(); ++i) {
      T& to = out.mutable_data<T>()[i];
      const double real = values[i].real() + 0.0;
      if constexpr (std::is_same_v<T, bool>) {
        to = real != 0;
      } else if constexpr (std::is_integral_v<T>) {
        to = static_cast<T>(static_cast<int64_t>(real));  // wraps
      } else if constexpr (std::is_arithmetic_v<T>) {
        to = static_cast<T>(real);
      } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        to = T(static_cast<float>(real));
      } else {
        to = T(static_cast<typename T::value_type>(real),
               static_cast<typename T::value_type>(values[i].imag() + 0.0));
      }
    }
  });
  return out;
}

struct Case {
  Shape lhs, rhs;
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};

Dims free_of(const Shape& shape, const Dims& a, const Dims& b) {
  Dims out;
  for (int64_t d = 0; d < shape.rank(); ++d)
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end())
      out.push_back(d);
  return out;
}
Shape result_shape(const Case& c) {
  Shape out;
  for (int64_t d : c.lhs_batch) out.push_back(c.lhs[d]);
  for (int64_t d : free_of(c.lhs, c.lhs_batch, c.lhs_contract)) out.push_back(c.lhs[d]);
  for (int64_t d : free_of(c.rhs, c.rhs_batch, c.rhs_contract)) out.push_back(c.rhs[d]);
  return out;
}

Literal naive_dot(const Case& c, const Literal& lhs, const Literal& rhs, DType dtype) {
  const Dims lhs_free = free_of(c.lhs, c.lhs_batch, c.lhs_contract),
             rhs_free = free_of(c.rhs, c.rhs_batch, c.rhs_contract);
  const Dims ls = row_major_strides(c.lhs), rs = row_major_strides(c.rhs);
  const auto a = widened(lhs), b = widened(rhs);
  Shape batch, free_l, free_r, contract;
  for (int64_t d : c.lhs_batch) batch.push_back(c.lhs[d]);
  for (int64_t d : lhs_free) free_l.push_back(c.lhs[d]);
  for (int64_t d : rhs_free) free_r.push_back(c.rhs[d]);
  for (int64_t d : c.lhs_contract) contract.push_back(c.lhs[d]);
  auto offsets = [](const Shape& shape, const Dims& dims, const Dims& strides) {
    std::vector<int64_t> all;
    for (int64_t n = 0; n < shape.elements(); ++n) {
      int64_t at = 0, rest = n;
      for (int64_t i = shape.rank() - 1; i >= 0; --i) {
        at += rest % shape[i] * strides[dims[i]];
        rest /= shape[i];
      }
      all.push_back(at);
    }
    return all;
  };
  const auto lb = offsets(batch, c.lhs_batch, ls), rb = offsets(batch, c.rhs_batch, rs);
  const auto lm = offsets(free_l, lhs_free, ls), rn = offsets(free_r, rhs_free, rs);
  const auto lk = offsets(contract, c.lhs_contract, ls), rk = offsets(contract, c.rhs_contract, rs);
  std::vector<std::complex<double>> out;
  for (size_t ib = 0; ib < lb.size(); ++ib)
    for (int64_t im : lm)
      for (int64_t in : rn) {
        std::complex<double> sum = 0;
        for (size_t ik = 0; ik < lk.size(); ++ik)
          sum += a[static_cast<size_t>(lb[ib] + im + lk[ik])] *
                 b[static_cast<size_t>(rb[ib] + in + rk[ik])];
        out.push_back(sum);
      }
  return narrowed(dtype, result_shape(c), out);
}

// Compares values: 0 and -0 are equal.
::testing::AssertionResult same_values(const Literal& a, const Literal& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return ::testing::AssertionFailure() << "other type";
  const auto x = widened(a), y = widened(b);
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i])
      return ::testing::AssertionFailure() << "element " << i << ": " << x[i] << " and " << y[i];
  return ::testing::AssertionSuccess();
}

DotStep dot_step(const Case& c) {
  DotStep d;
  d.lhs_batch = c.lhs_batch;
  d.rhs_batch = c.rhs_batch;
  d.lhs_contract = c.lhs_contract;
  d.rhs_contract = c.rhs_contract;
  return d;
}

SingleDeviceSharding one_device() { return SingleDeviceSharding(test_devices(1)[0]); }

Literal run_dot(const Case& c, const Literal& lhs, const Literal& rhs, DType out_dtype) {
  ScheduleBuilder b{Mesh()};
  DotStep d = dot_step(c);
  d.lhs = b.input(lhs.dtype(), c.lhs, {});
  d.rhs = b.input(rhs.dtype(), c.rhs, {});
  d.out = b.output(out_dtype, result_shape(c), {});
  b.add(d);
  const auto program =
      b.program({{lhs.dtype(), c.lhs, one_device()}, {rhs.dtype(), c.rhs, one_device()}},
                {{out_dtype, result_shape(c), one_device()}});
  return program->run({device_array(lhs, one_device()), device_array(rhs, one_device())})[0]
      ->to_literal();
}

const std::vector<Case> kCases = {
    {{3}, {3}, {}, {}, {0}, {0}},        // scalar product
    {{3}, {4}, {}, {}, {}, {}},          // outer product
    {{}, {4}, {}, {}, {}, {}},           // by a scalar
    {{5, 7}, {7, 6}, {}, {}, {1}, {0}},  // plain matrices
    {{7, 5}, {7, 6}, {}, {}, {0}, {0}},  // lhs transposed
    {{5, 7}, {6, 7}, {}, {}, {1}, {1}},  // rhs transposed
    {{7, 5}, {6, 7}, {}, {}, {0}, {1}},  // both
    {{40, 70}, {70}, {}, {}, {1}, {0}},  // matrix by vector
    {{70}, {70, 40}, {}, {}, {0}, {0}},  // vector by matrix
    {{70}, {40, 70}, {}, {}, {0}, {1}},
    {{70, 40}, {70}, {}, {}, {0}, {0}},
    {{2, 5, 7}, {2, 7, 6}, {0}, {0}, {2}, {1}},              // batch
    {{5, 2, 7}, {7, 6, 2}, {1}, {2}, {2}, {0}},              // batch in the middle and last
    {{2, 5, 3, 7}, {2, 6, 3, 7}, {0, 2}, {0, 2}, {3}, {3}},  // attention
    {{4, 3, 5}, {3, 5, 6}, {}, {}, {1, 2}, {0, 1}},          // two contracting dims
    {{4, 3, 5}, {5, 3, 6}, {}, {}, {1, 2}, {1, 0}},          // in another order: rhs is packed
    {{3, 4, 5}, {3, 5, 6}, {}, {}, {0, 2}, {0, 1}},          // lhs is packed
    {{9, 7, 4}, {7, 6}, {}, {}, {1}, {0}},                   // rows around the sum: a batch
    {{2, 3, 5, 7, 4}, {2, 7, 6}, {0}, {0}, {3}, {1}},        // in a batch
    {{9, 90, 4}, {90, 6}, {}, {}, {1}, {0}},                 // too long for small products
    {{500, 30, 3}, {30, 2}, {}, {}, {1}, {0}},               // packed in several parts
    {{5, 70, 8}, {70, 6}, {}, {}, {1}, {0}},
    {{4, 1, 5}, {5, 1, 1}, {}, {}, {2}, {0}},          // ones
    {{4, 0}, {0, 6}, {}, {}, {1}, {0}},                // empty sums are zero
    {{0, 5}, {5, 6}, {}, {}, {1}, {0}},                // empty result
    {{33, 65}, {65, 97}, {}, {}, {1}, {0}},            // beyond the small loops
    {{130, 64, 2}, {2, 64, 100}, {2}, {0}, {1}, {1}},  // strides without unit: packed
};

class DotTypes : public ::testing::TestWithParam<DType> {};

TEST_P(DotTypes, AllOrdersOfDimensions) {
  const DType dtype = GetParam();
  for (size_t i = 0; i < kCases.size(); ++i) {
    const Case& c = kCases[i];
    const Literal lhs = random_literal(dtype, c.lhs, 1), rhs = random_literal(dtype, c.rhs, 2);
    EXPECT_TRUE(same_values(run_dot(c, lhs, rhs, dtype), naive_dot(c, lhs, rhs, dtype)))
        << "case " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(All, DotTypes,
                         ::testing::Values(bool_, int8, int16, int32, int64, uint8, uint16, uint32,
                                           uint64, float16, bfloat16, float32, float64, complex64,
                                           complex128),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

// Every result dtype of the operands' kind.
TEST(Dot, OtherResultTypes) {
  const std::vector<std::vector<DType>> kinds = {
      {float16, bfloat16, float32, float64},
      {int8, int16, int32, int64, uint8, uint16, uint32, uint64},
      {complex64, complex128}};
  for (const Case& c : {Case{{33, 65}, {65, 97}, {}, {}, {1}, {0}},
                        Case{{2, 40000}, {3, 40000}, {}, {}, {1}, {1}}}) {
    for (const auto& kind : kinds) {
      for (DType in : kind) {
        const Literal lhs = random_literal(in, c.lhs, 1), rhs = random_literal(in, c.rhs, 2);
        for (DType out : kind)
          EXPECT_TRUE(same_values(run_dot(c, lhs, rhs, out), naive_dot(c, lhs, rhs, out)))
              << in << " " << out;
      }
    }
  }
}

// The last dimension of the result, along which a bias is added, is a dimension of the rhs, or of
// the lhs if the rhs has no free dimensions, or else a batch dimension. Each may be long, of extent
// 1 or empty.
const std::vector<Case> kBiasCases = {
    {{5, 7}, {7, 6}, {}, {}, {1}, {0}},
    {{300, 40}, {40, 200}, {}, {}, {1}, {0}},
    {{5, 7}, {7, 3, 4}, {}, {}, {1}, {0}},
    {{5, 7}, {7}, {}, {}, {1}, {0}},  // free dimensions only in the lhs
    {{4, 5, 7}, {7}, {}, {}, {2}, {0}},
    {{300, 70}, {70}, {}, {}, {1}, {0}},
    {{7}, {7, 6}, {}, {}, {0}, {0}},                   // only in the rhs
    {{3, 2, 5}, {3, 2, 5}, {0, 1}, {0, 1}, {2}, {2}},  // only batch dimensions
    {{32, 16, 64}, {32, 16, 64}, {0, 1}, {0, 1}, {2}, {2}},
    {{9, 5}, {9, 5}, {0}, {0}, {1}, {1}},
    {{3, 4, 5}, {3, 5}, {0}, {0}, {2}, {1}},  // batch dimensions, and free ones in the lhs
    {{3, 5}, {3, 5, 6}, {0}, {0}, {1}, {1}},  // and free ones in the rhs
    {{3, 4, 5}, {3, 5, 6}, {0}, {0}, {2}, {1}},
    {{3, 4, 5}, {3, 5, 2, 6}, {0}, {0}, {2}, {1}},
    {{9, 7, 4}, {7, 6}, {}, {}, {1}, {0}},  // rows on both sides of the sum
    {{4, 5}, {5, 1}, {}, {}, {1}, {0}},     // extents of 1
    {{1, 5}, {5, 6}, {}, {}, {1}, {0}},
    {{4, 1}, {1, 6}, {}, {}, {1}, {0}},
    {{3, 1, 5}, {3, 1, 5}, {0, 1}, {0, 1}, {2}, {2}},
    {{1, 4, 5}, {1, 5}, {0}, {0}, {2}, {1}},
    {{4, 1, 5}, {5}, {}, {}, {2}, {0}},
    {{4, 0}, {0, 6}, {}, {}, {1}, {0}},  // nothing is summed
    {{3, 2, 0}, {3, 2, 0}, {0, 1}, {0, 1}, {2}, {2}},
    {{0, 5}, {5, 6}, {}, {}, {1}, {0}},  // no result
    {{4, 5}, {5, 0}, {}, {}, {1}, {0}},
    {{3, 0, 5}, {3, 0, 5}, {0, 1}, {0, 1}, {2}, {2}},
    {{3, 40000}, {40000}, {}, {}, {1}, {0}},  // cut along the contraction
    {{2, 40000}, {2, 40000}, {0}, {0}, {1}, {1}}};

// Returns a product with a bias: computed in float64 and rounded once at the end, as the runtime
// rounds half precision.
Literal biased(const Case& c, const Literal& lhs, const Literal& rhs, const Literal& bias,
               DType dtype, bool relu) {
  auto expected = widened(naive_dot(c, lhs, rhs, float64));
  const auto add = widened(bias);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] += add[i % add.size()];
    if (relu && expected[i].real() < 0) expected[i] = 0;
  }
  return narrowed(dtype, result_shape(c), expected);
}

class DotEpilogues : public ::testing::TestWithParam<size_t> {};
TEST_P(DotEpilogues, BiasAndActivation) {
  const Case& c = kBiasCases[GetParam()];
  const Shape shape = result_shape(c);
  for (DType dtype : {float32, float64, float16, bfloat16}) {
    for (bool relu : {false, true}) {
      ScheduleBuilder b{Mesh()};
      DotStep d = dot_step(c);
      d.lhs = b.input(dtype, c.lhs, {});
      d.rhs = b.input(dtype, c.rhs, {});
      d.bias = b.input(dtype, {shape.back()}, {});
      d.out = b.output(dtype, shape, {});
      if (relu) d.activation = DotStep::Activation::kRelu;
      b.add(d);
      auto spec = [&](const Shape& s) { return ArraySpec{dtype, s, one_device()}; };
      const auto program =
          b.program({spec(c.lhs), spec(c.rhs), spec({shape.back()})}, {spec(shape)});
      const Literal lhs = random_literal(dtype, c.lhs, 1), rhs = random_literal(dtype, c.rhs, 2),
                    bias = random_literal(dtype, {shape.back()}, 3);
      const auto out =
          program->run({device_array(lhs, one_device()), device_array(rhs, one_device()),
                        device_array(bias, one_device())});
      EXPECT_TRUE(same_values(out[0]->to_literal(), biased(c, lhs, rhs, bias, dtype, relu)))
          << dtype << " " << relu;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, DotEpilogues, ::testing::Range<size_t>(0, kBiasCases.size()));

// Rows of a vector and some elements more.
TEST(Dot, ActivationOfZerosAndNans) {
  constexpr int64_t kColumns = 11;
  const Case c{{2, 1}, {1, kColumns}, {}, {}, {1}, {0}};
  ScheduleBuilder b{Mesh()};
  DotStep d = dot_step(c);
  d.lhs = b.input(float32, c.lhs, {});
  d.rhs = b.input(float32, c.rhs, {});
  d.bias = b.input(float32, {kColumns}, {});
  d.out = b.output(float32, {2, kColumns}, {});
  d.activation = DotStep::Activation::kRelu;
  b.add(d);
  auto spec = [&](const Shape& s) { return ArraySpec{float32, s, one_device()}; };
  const auto program =
      b.program({spec(c.lhs), spec(c.rhs), spec({kColumns})}, {spec({2, kColumns})});
  auto literal = [](const Shape& shape, float first, float others) {
    Literal out(float32, shape);
    std::fill_n(out.mutable_data<float>(), out.elements(), others);
    out.mutable_data<float>()[0] = first;
    return out;
  };
  const Literal out = program
                          ->run({device_array(literal(c.lhs, 0.f, NAN), one_device()),
                                 device_array(literal(c.rhs, -1, -1), one_device()),
                                 device_array(literal({kColumns}, -0.f, -0.f), one_device())})[0]
                          ->to_literal();
  for (int64_t i = 0; i < kColumns; ++i) {
    EXPECT_EQ(out.data<float>()[i], 0);
    EXPECT_FALSE(std::signbit(out.data<float>()[i]));  // maximum(-0, 0)
    EXPECT_TRUE(std::isnan(out.data<float>()[kColumns + i]));
  }
}

TEST(Dot, Symmetric) {
  for (DType dtype : {float16, bfloat16, float32, float64}) {
    for (auto [m, k] : {std::pair<int64_t, int64_t>{5, 7}, {200, 33}, {700, 48}}) {
      for (bool transposed : {false, true}) {
        const Shape shape = transposed ? Shape{k, m} : Shape{m, k};
        const Case c{shape, shape, {}, {}, {transposed ? 0 : 1}, {transposed ? 0 : 1}};
        ScheduleBuilder b{Mesh()};
        DotStep d = dot_step(c);
        d.lhs = d.rhs = b.input(dtype, shape, {});
        d.out = b.output(dtype, {m, m}, {});
        d.symmetric = true;
        b.add(d);
        const auto program =
            b.program({{dtype, shape, one_device()}}, {{dtype, {m, m}, one_device()}});
        const Literal x = random_literal(dtype, shape, 4);
        EXPECT_TRUE(same_values(program->run({device_array(x, one_device())})[0]->to_literal(),
                                naive_dot(c, x, x, dtype)))
            << dtype << " " << m;
      }
    }
  }
}

// Returns an array with the same shards, in reverse order in memory.
DeviceArrayRef reversed_in_memory(const DeviceArrayRef& in, int64_t n, int64_t bytes) {
  Buffer reversed = Buffer::allocate(n * bytes);
  auto table = std::make_shared<std::vector<int64_t>>();
  for (int64_t i = 0; i < n; ++i) {
    table->push_back((n - 1 - i) * bytes);
    std::memcpy(reversed.data() + table->back(), in->instance(i), static_cast<size_t>(bytes));
  }
  return std::make_shared<DeviceArray>(in->type, in->layout(), reversed,
                                       InstanceOffsets{.table = table});
}

// Rows of the lhs are sharded over the devices, which all have the rhs: there is one product of all
// rows, or one on each device if the rows are apart in memory.
TEST(Dot, ShardedRows) {
  for (int64_t n : {1, 8, 64}) {
    const Mesh mesh = test_mesh({n}, {"x"});
    const Case whole{{n * 5, 33}, {33, 70}, {}, {}, {1}, {0}};
    ScheduleBuilder b{mesh};
    DotStep d = dot_step(whole);
    d.lhs = b.input(float32, {5, 33}, {0});
    d.rhs = b.input(float32, {33, 70}, {});
    d.out = b.output(float32, {5, 70}, {0});
    d.axes = {0};
    b.add(d);
    const NamedSharding rows(mesh, P("x")), all(mesh, P());
    const auto program = b.program({{float32, whole.lhs, rows}, {float32, whole.rhs, all}},
                                   {{float32, {n * 5, 70}, rows}});
    const Literal lhs = random_literal(float32, whole.lhs, 1),
                  rhs = random_literal(float32, whole.rhs, 2);
    const auto in = device_array(lhs, rows), weights = device_array(rhs, all);
    EXPECT_TRUE(same_values(program->run({in, weights})[0]->to_literal(),
                            naive_dot(whole, lhs, rhs, float32)));
    const DeviceArrayRef scattered = reversed_in_memory(in, n, 5 * 33 * 4);
    EXPECT_TRUE(same_values(program->run({scattered, weights})[0]->to_literal(),
                            naive_dot(whole, lhs, rhs, float32)));
  }
}

// The contracting dimension is sharded over the devices: their products are added up into one.
TEST(Dot, SummedOverDevices) {
  const Mesh mesh = test_mesh({2, 4}, {"x", "y"});
  for (DType dtype : {float32, float64, float16, int32}) {
    const Case whole{{6, 40}, {40, 9}, {}, {}, {1}, {0}};
    ScheduleBuilder b{mesh};
    DotStep d = dot_step(whole);
    d.lhs = b.input(dtype, {3, 10}, {0, 1});
    d.rhs = b.input(dtype, {10, 9}, {1});
    d.out = b.output(dtype, {3, 9}, {0});
    d.axes = {0, 1};
    d.reduce_axes = {1};
    b.add(d);
    const NamedSharding sl(mesh, P("x", "y")), sr(mesh, P("y")), so(mesh, P("x"));
    const auto program =
        b.program({{dtype, whole.lhs, sl}, {dtype, whole.rhs, sr}}, {{dtype, {6, 9}, so}});
    const Literal lhs = random_literal(dtype, whole.lhs, 1),
                  rhs = random_literal(dtype, whole.rhs, 2);
    EXPECT_TRUE(
        same_values(program->run({device_array(lhs, sl), device_array(rhs, sr)})[0]->to_literal(),
                    naive_dot(whole, lhs, rhs, dtype)))
        << dtype;
  }
}

// Instances that follow each other along k are one product. Others are copied together or added up
// one by one, in every order of dimensions, whether they are in order in memory or not.
TEST(Dot, SummedOverDevicesInEveryLayout) {
  const Mesh mesh = test_mesh({2, 4}, {"x", "y"});
  for (int64_t m : {1, 6, 520}) {
    for (int64_t n : {1, 9, 300}) {
      for (int layout = 0; layout < 4; ++layout) {
        const bool lhs_slow = layout % 2 == 1, rhs_fast = layout / 2 == 1;
        const Case whole{lhs_slow ? Shape{40, m} : Shape{m, 40},
                         rhs_fast ? Shape{n, 40} : Shape{40, n},
                         {},
                         {},
                         {lhs_slow ? 0 : 1},
                         {rhs_fast ? 1 : 0}};
        Shape left = whole.lhs, right = whole.rhs;
        left[lhs_slow ? 0 : 1] = right[rhs_fast ? 1 : 0] = 5;
        ScheduleBuilder b{mesh};
        DotStep d = dot_step(whole);
        d.lhs = b.input(float32, left, {0, 1});
        d.rhs = b.input(float32, right, {0, 1});
        d.out = b.output(float32, {m, n}, {});
        d.axes = d.reduce_axes = {0, 1};
        b.add(d);
        const PartitionSpec k0 = P(joint("x", "y")), k1 = P(None, joint("x", "y"));
        const NamedSharding sl(mesh, lhs_slow ? k0 : k1), sr(mesh, rhs_fast ? k1 : k0),
            so(mesh, P());
        const auto program = b.program({{float32, whole.lhs, sl}, {float32, whole.rhs, sr}},
                                       {{float32, {m, n}, so}});
        const Literal lhs = random_literal(float32, whole.lhs, 1),
                      rhs = random_literal(float32, whole.rhs, 2);
        const Literal want = naive_dot(whole, lhs, rhs, float32);
        const DeviceArrayRef x = device_array(lhs, sl), y = device_array(rhs, sr);
        EXPECT_TRUE(same_values(program->run({x, y})[0]->to_literal(), want))
            << m << " x " << n << ", layout " << layout;
        EXPECT_TRUE(same_values(program
                                    ->run({reversed_in_memory(x, 8, left.elements() * 4),
                                           reversed_in_memory(y, 8, right.elements() * 4)})[0]
                                    ->to_literal(),
                                want))
            << m << " x " << n << ", layout " << layout << ", scattered";
      }
    }
  }
}

// A long contraction is cut into parts. The bits are the same for every number of threads, even if
// there is rounding.
TEST(Dot, ThreadsDoNotChangeBits) {
  const int before = num_threads();
  for (const Case& c :
       {Case{{2, 50000}, {50000, 2}, {}, {}, {1}, {0}},
        Case{{300, 64}, {64, 400}, {}, {}, {1}, {0}},
        Case{{270, 300}, {350, 270}, {}, {}, {0}, {1}},
        Case{{700}, {700, 900}, {}, {}, {0}, {0}},  // vectors by large matrices
        Case{{700}, {900, 700}, {}, {}, {0}, {1}}, Case{{900, 700}, {700}, {}, {}, {1}, {0}},
        Case{{700, 900}, {700}, {}, {}, {0}, {0}},
        Case{{3, 64, 80}, {3, 80, 70}, {0}, {0}, {2}, {1}}}) {
    for (DType dtype : {float32, float64, float16, bfloat16}) {
      Literal lhs = random_literal(float32, c.lhs, 1), rhs = random_literal(float32, c.rhs, 2);
      for (Literal* x : {&lhs, &rhs}) {
        std::vector<std::complex<double>> values = widened(*x);
        for (auto& v : values) v = v / 3.0 + 0.01;
        *x = narrowed(dtype, x->shape(), values);
      }
      std::vector<Literal> results;
      for (int threads : {1, 2, 4}) {
        set_num_threads(threads);
        results.push_back(run_dot(c, lhs, rhs, dtype));
      }
      EXPECT_EQ(results[0], results[1]) << dtype;
      EXPECT_EQ(results[0], results[2]) << dtype;
      const auto got = widened(results[0]), expected = widened(naive_dot(c, lhs, rhs, float64));
      double error = 0, scale = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        error = std::max(error, std::abs(got[i] - expected[i]));
        scale = std::max(scale, std::abs(expected[i]));
      }
      const double ulp = dtype == float64   ? 1e-12
                         : dtype == float32 ? 1e-5
                         : dtype == float16 ? 1e-3
                                            : 8e-3;
      EXPECT_LE(error, ulp * std::max(scale, 1.0)) << dtype;
    }
  }
  set_num_threads(before);
}

// A matrix that is multiplied by a vector is divided such that the elements of a part are next to
// each other: along the sum, or into parts of the result.
TEST(Dot, DividesALargeMatrixTimesAVector) {
  using Parts = std::pair<int64_t, size_t>;  // along the sum, and of the result
  const auto parts = [](const Case& c) {
    ScheduleBuilder b{Mesh()};
    DotStep d = dot_step(c);
    d.lhs = b.input(float32, c.lhs, {});
    d.rhs = b.input(float32, c.rhs, {});
    d.out = b.output(float32, result_shape(c), {});
    const DotPlan plan(d, b.schedule);
    return Parts{plan.splits, plan.tiles.size()};
  };
  const Parts whole{1, 1};
  EXPECT_EQ(parts({{512}, {512, 1024}, {}, {}, {0}, {0}}), (Parts{4, 1}));
  EXPECT_EQ(parts({{512, 1024}, {512}, {}, {}, {0}, {0}}), (Parts{4, 1}));
  EXPECT_EQ(parts({{512}, {1024, 512}, {}, {}, {0}, {1}}), (Parts{1, 4}));
  EXPECT_EQ(parts({{1024, 512}, {512}, {}, {}, {1}, {0}}), (Parts{1, 4}));
  EXPECT_EQ(parts({{4096}, {4096, 4096}, {}, {}, {0}, {0}}), (Parts{8, 1}));
  EXPECT_EQ(parts({{128}, {128, 1024}, {}, {}, {0}, {0}}), whole);           // a small one
  EXPECT_EQ(parts({{2, 512}, {512, 1024}, {}, {}, {1}, {0}}).first, 1);      // two rows
  EXPECT_EQ(parts({{8, 512}, {8, 512, 512}, {0}, {0}, {1}, {1}}).first, 1);  // enough products
}

// A product that fits into a core's cache is divided for several threads, first by columns; a
// small one is not.
TEST(Dot, DividesAProductInACache) {
  using Sides = std::vector<std::pair<int64_t, int64_t>>;  // of the tiles
  const auto sides = [](const Case& c, DType dtype = float32) {
    ScheduleBuilder b{Mesh()};
    DotStep d = dot_step(c);
    d.lhs = b.input(dtype, c.lhs, {});
    d.rhs = b.input(dtype, c.rhs, {});
    d.out = b.output(dtype, result_shape(c), {});
    Sides out;
    for (const DotPlan::Tile& t : DotPlan(d, b.schedule).tiles) out.emplace_back(t.m, t.n);
    return out;
  };
  EXPECT_EQ(sides({{128, 128}, {128, 512}, {}, {}, {1}, {0}}), Sides(8, {128, 64}));
  EXPECT_EQ(sides({{128, 512}, {512, 128}, {}, {}, {1}, {0}}), Sides(8, {64, 32}));
  EXPECT_EQ(sides({{128, 128}, {128, 128}, {}, {}, {1}, {0}}), Sides(2, {128, 64}));
  EXPECT_EQ(sides({{64, 128}, {128, 128}, {}, {}, {1}, {0}}), Sides(1, {64, 128}));
  // Other dtypes would convert the same rows for each tile.
  EXPECT_EQ(sides({{128, 128}, {128, 512}, {}, {}, {1}, {0}}, bfloat16), Sides(1, {128, 512}));
  // There are enough products.
  EXPECT_EQ(sides({{8, 128, 128}, {8, 128, 512}, {0}, {0}, {2}, {1}}), Sides(1, {128, 512}));
}

}  // namespace
}  // namespace tessera::dot_test
