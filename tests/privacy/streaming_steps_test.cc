// Streaming matrices, one row at a time: in programs, on meshes, and past the last row.
#include <cmath>

#include "../errors.h"
#include "../numpy/run.h"
#include "streaming_matrices.h"
#include "tessera/compile/control_flow.h"
#include "tessera/compile/jit.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/random/random.h"

namespace tessera::streaming_steps_test {
namespace {

using namespace privacy::matrix_factorization;
using tessera::test::expect_close;
using tessera::test::expect_error;
using tessera::test::streaming_matrices;

// Returns rows 0 ... n - 1 of A x by `next`, stacked.
template <class Next>
Array products(const StreamingMatrix& a, const Array& x, int64_t n, const Next& next) {
  StreamingState<Array> state = a.init_multiply(index_in_dim(x, 0, 0, false));
  std::vector<Array> rows;
  for (int64_t t = 0; t < n; ++t) {
    auto [row, after] = next(index_in_dim(x, t, 0, false), state);
    rows.push_back(row);
    state = after;
  }
  EXPECT_EQ(state.step.item<int64_t>(), n);
  return stack(rows);
}

Array by_rows(const StreamingMatrix& a, const Array& x) {
  const int64_t n = x.shape(0);
  const std::vector<double> rows = a.materialize(n);
  const Literal host = x.to_host();
  std::vector<float> out(static_cast<size_t>(x.size()));
  const size_t width = out.size() / static_cast<size_t>(n);
  for (size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (size_t k = 0; k < static_cast<size_t>(n); ++k)
      sum +=
          rows[i / width * static_cast<size_t>(n) + k] * host.data<float>()[k * width + i % width];
    out[i] = static_cast<float>(sum);
  }
  return from_host(out, x.shape());
}

// Ring buffers wrap around more than once, in both kinds of program.
TEST(StreamingSteps, RowsAreThoseOfTheMatrix) {
  auto matrices = streaming_matrices();
  for (const char* ends : {"column_normalized", "banded_inverse"}) matrices.erase(ends);
  std::vector<double> coef(9), values(12 * 12);
  for (size_t i = 0; i < 9; ++i) coef[i] = 1 / (1.0 + static_cast<double>(i));
  for (size_t i = 0; i < 12; ++i)
    for (size_t j = 0; j <= i; ++j) values[12 * i + j] = std::cos(static_cast<double>(12 * i + j));
  matrices.emplace("long", toeplitz_inverse(coef));
  matrices.emplace("normalized", toeplitz_inverse(coef, {.column_normalize_for_n = 12}));
  matrices.emplace("toeplitz", toeplitz_matrix(coef));
  matrices.emplace("toeplitz of one", toeplitz_matrix({-2}));
  matrices.emplace("dense", dense_matrix(values, 12));
  matrices.emplace("deep", toeplitz_inverse({1, -.5}) * dense_matrix(values, 12) * prefix_sum());
  const Array x = random::normal(random::key(1), {12, 2, 3});
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    const Array expected = by_rows(a, x);
    const auto next = [&a = a](const Array& row, const StreamingState<Array>& state) {
      return a.multiply_next(row, state);
    };
    expect_close(products(a, x, 12, next).to_host(), expected.to_host(), 2e-5, 2e-5);
    expect_close(products(a, x, 12, jit(next)).to_host(), expected.to_host(), 2e-5, 2e-5);
    expect_close(multiply_array(a, x).to_host(), expected.to_host(), 2e-5, 2e-5);
  }
}

TEST(StreamingSteps, LeavesOfATreeAreOnTheirOwn) {
  using Tree = std::map<std::string, Array>;
  const Tree x{{"a", ones({2})}, {"b", full(Shape{}, 3.0, float32)}};
  const StreamingMatrix a = prefix_sum() * toeplitz_inverse({1, .5});
  auto state = a.init_multiply(x);
  EXPECT_EQ(state.buffers.size(), 2u);
  auto [first, next] = a.multiply_next(x, state);
  auto [second, last] = a.multiply_next(x, next);
  EXPECT_EQ(second.at("a").to_host(), full(Shape{2}, 1.5, float32).to_host());
  EXPECT_EQ(second.at("b").item<float>(), 4.5f);
}

// In bfloat16 the sums would stay at 256.
TEST(StreamingSteps, NothingIsBelowFloat32) {
  const StreamingMatrix a = prefix_sum();
  const Array one = ones(Shape{1}, bfloat16);
  auto state = a.init_multiply(one);
  Array sum;
  for (int i = 0; i < 300; ++i) std::tie(sum, state) = a.multiply_next(one, state);
  EXPECT_EQ(sum.dtype(), float32);
  EXPECT_EQ(index_in_dim(sum, 0, 0, false).item<float>(), 300);
}

TEST(StreamingSteps, PastTheLastRow) {
  const StreamingMatrix a = dense_matrix({1, 0, 1, 1}, 2);
  const Array x = ones(3);
  auto state = a.init_multiply(x);
  const auto step = jit([&](const Array& x, const StreamingState<Array>& state) {
    return a.multiply_next(x, state);
  });
  Array row;
  for (int i = 0; i < 2; ++i) std::tie(row, state) = step(x, state);
  EXPECT_EQ(row.to_host(), full(Shape{3}, 2.0, float32).to_host());
  expect_error([&] { a.multiply_next(x, state); },
               "expected at most 2 steps, the rows of the matrix, got one more");
  EXPECT_TRUE(all(isnan(step(x, state).first)).item<bool>());
}

TEST(StreamingSteps, AnotherStateIsAnError) {
  const Array x = ones(3);
  expect_error([&] { prefix_sum().multiply_next(x, identity().init_multiply(x)); },
               "expected a state of 1 buffers, got 0");
  expect_error([&] { prefix_sum().multiply_next(x, prefix_sum().init_multiply(ones(2))); },
               "expected a buffer of shape (3,) for leaf 0, got (2,)");
  expect_error([&] { prefix_sum().init_multiply(ones(2, complex64)); },
               "expected real leaves, got complex64");
}

// The result has the same bits however the leaf is sharded, and nothing is communicated.
TEST(StreamingSteps, ShardedAsTheLeaf) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"});
  std::vector<double> coef(20);
  for (size_t i = 0; i < 20; ++i) coef[i] = 1 / (1.0 + static_cast<double>(i));
  const StreamingMatrix a = toeplitz_inverse(coef) * buffered_toeplitz_inverse({.9, .3}, {.4, .2}) *
                            momentum_sgd_matrix(.9);
  const Array x = random::normal(random::key(1), {25, 16, 10});
  const auto step = jit([&](const Array& row, const StreamingState<Array>& state) {
    return a.multiply_next(row, state);
  });
  const Array whole = products(a, x, 25, step);
  for (const PartitionSpec& spec : {P("x", "y"), P("y", None), P(None, joint("x", "y"))}) {
    const NamedSharding sharding(mesh, spec);
    const Array row = device_put(index_in_dim(x, 0, 0, false), sharding);
    const StreamingState<Array> state = a.init_multiply(row);
    for (const Array& buffer : state.buffers)
      EXPECT_EQ(buffer.sharding().num_shards(buffer.ndim() - 1), row.sharding().num_shards(1));
    EXPECT_TRUE(step.lower(row, state).collectives().empty());
    const auto put = [&](const Array& row, const StreamingState<Array>& state) {
      auto [out, next] = step(device_put(row, sharding), state);
      EXPECT_TRUE(out.sharding().is_equivalent_to(Sharding(sharding), 2));
      return std::pair(device_put(out, SingleDeviceSharding(devices()[0])), next);
    };
    StreamingState<Array> now = state;
    for (int64_t t = 0; t < 25; ++t) {
      auto [out, next] = put(index_in_dim(x, t, 0, false), now);
      ASSERT_EQ(out.to_host(), index_in_dim(whole, t, 0, false).to_host()) << t << " " << spec;
      now = next;
    }
  }
  initialize({.devices = "cpu:1"});
}

}  // namespace
}  // namespace tessera::streaming_steps_test
