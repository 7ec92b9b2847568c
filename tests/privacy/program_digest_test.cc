// Tests which parts of a function change its digest, and which do not.
#include "tessera/privacy/program_digest.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/compile/control_flow.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/trace/trace.h"

namespace tessera::privacy::internal::program_digest_test {
namespace {

template <class F>
std::string digest(const F& f, const Shape& shape = {3}, DType dtype = float32) {
  ir::Type type;
  type.dtype = dtype;
  type.shape = shape;
  return program_digest(tracing::trace_function(
      [&](const std::vector<Array>& x) { return std::vector<Array>{f(x[0])}; },
      std::vector<ir::Type>{type}));
}

TEST(ProgramDigestTest, OpsParamsTypesAndConstantsCount) {
  const std::vector<std::string> all{
      digest([](const Array& x) { return sum(x * 2.f); }),
      digest([](const Array& x) { return sum(x * 3.f); }),
      digest([](const Array& x) { return sum(x + 2.f); }),
      digest([](const Array& x) { return 0.f - sum(x * 2.f); }),
      digest([](const Array& x) { return sum(x * 2.f, {.keepdims = true}); }),
      digest([](const Array& x) { return sum(x * 2.f); }, {4}),
      digest([](const Array& x) { return sum(x * 2.f); }, {3}, float16),
      digest([](const Array& x) { return sum(sin(x)); }),
      digest([](const Array& x) { return sum(cos(x)); })};
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(all[0], digest([](const Array& x) { return sum(x * 2.f); }));
}

// Small arrays are constants of the program, large ones are captured.
TEST(ProgramDigestTest, ContentsOfCapturedArraysCount) {
  for (int64_t size : {4, 1000}) {
    const auto of = [&](float last) {
      std::vector<float> values(static_cast<size_t>(size), 1);
      values.back() = last;
      const Array captured = from_host(values, {size});
      return digest([&](const Array& x) { return sum(x * captured); }, {size});
    };
    EXPECT_EQ(of(1), of(1));
    EXPECT_NE(of(1), of(2));
  }
}

TEST(ProgramDigestTest, BodiesOfLoopsAndRulesOfDerivativesCount) {
  const auto loop = [](float factor) {
    return digest([=](const Array& x) {
      return fori_loop(
          0, 5, [&](const Array&, const Array& y) { return y * factor; }, x);
    });
  };
  EXPECT_EQ(loop(2), loop(2));
  EXPECT_NE(loop(2), loop(3));
  // The values are the same and the derivative is another one: another gradient.
  const auto rule = [](float factor) {
    return digest([=](const Array& x) {
      return custom_vjp([](const Array& y) { return sum(y); },
                        [](const Array& y) { return std::pair(sum(y), y); },
                        [=](const Array& y, const Array& cotangent) {
                          return std::tuple(broadcast_to(cotangent * factor, y.shape()));
                        })(x);
    });
  };
  EXPECT_EQ(rule(1), rule(1));
  EXPECT_NE(rule(1), rule(-1));
}

TEST(ProgramDigestTest, WhereValuesLieDoesNotCount) {
  const auto on = [](int64_t devices) {
    initialize({.devices = fmt::format("cpu:{}", devices)});
    const Mesh mesh(create_device_mesh({devices}), {"data"});
    return digest(
        [&](const Array& x) {
          return sum(with_sharding_constraint(sin(x), NamedSharding(mesh, P("data"))));
        },
        {8});
  };
  EXPECT_EQ(on(8), on(4));
  initialize({.devices = "cpu:1"});
}

// A callback has another number in each process.
TEST(ProgramDigestTest, NumbersOfHostFunctionsDoNotCount) {
  const auto with_callback = [] {
    const int64_t number = lax::add_host_function([](auto, auto) {});
    ir::Type type;
    type.shape = {3};
    const std::string out =
        digest([&](const Array& x) { return lax::pure_callback(number, {type}, {x})[0]; });
    lax::remove_host_function(number);
    return out;
  };
  EXPECT_EQ(with_callback(), with_callback());
}

}  // namespace
}  // namespace tessera::privacy::internal::program_digest_test
