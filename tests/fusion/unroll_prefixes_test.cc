#include "tessera/ops/reductions/unroll_prefixes.h"

#include "tessera/ops/reductions/reduce_window.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_prefixes_test {

using namespace array_math;

namespace {

// Returns the last positive number. This function is associative, but not commutative.
Arrays last_positive(const Arrays& x) { return {lax::select(x[1] > 0, x[1], x[0])}; }
Arrays log_sum(const Arrays& x) {
  const Array largest = lax::max(x[0], x[1]);
  return {largest + lax::log1p(lax::exp(lax::min(x[0], x[1]) - largest))};
}

template <class F>
void expect_prefixes(DType dtype, const Shape& shape, int64_t d, F fold, Keeps keeps) {
  for (const bool reverse : {false, true}) {
    SCOPED_TRACE(::testing::Message() << shape << " along " << d << (reverse ? " reverse" : ""));
    const Type scalar = array_type(dtype, {});
    const auto body = std::make_shared<const Function>(trace({scalar, scalar}, fold));
    Dims size(shape.size(), 1);
    size[d] = shape[d];
    Windows w = Windows::of_size(size);
    (reverse ? w.high : w.low)[d] = shape[d] - 1;
    expect_unrolled(
        "reduce_window", {array_type(dtype, shape), scalar},
        [&](const Arrays& x) {
          return lax::reduce_window(std::span(&x[0], 1), std::span(&x[1], 1), body, w);
        },
        keeps);
  }
}

TEST(UnrollPrefixes, InTheOrderOfTheElements) {
  for (int64_t n : {2, 15, 16, 17, 33, 300, 4100})
    expect_prefixes(int32, {n}, 0, last_positive, Keeps::kBits);
  expect_prefixes(int32, {3, 40, 2}, 1, last_positive, Keeps::kBits);
}

// Steps y = a y + b of a recurrence, as pairs (a, b); of two results, each needs both arrays.
TEST(UnrollPrefixes, SeveralArrays) {
  for (const Shape& shape : {Shape{9}, Shape{300}, Shape{2, 40}})
    for (const bool reverse : {false, true}) {
      const int64_t d = shape.rank() - 1;
      const std::vector<Type> scalars(4, array_type(int32, {}));
      const auto body = std::make_shared<const Function>(trace(scalars, [](const Arrays& x) {
        return Arrays{x[0] * x[2], x[1] * x[2] + x[3]};
      }));
      Dims size(shape.size(), 1);
      size[d] = shape[d];
      Windows w = Windows::of_size(size);
      (reverse ? w.high : w.low)[d] = shape[d] - 1;
      const std::vector<Type> types{array_type(int32, shape), array_type(int32, shape),
                                    array_type(int32, {}), array_type(int32, {})};
      for (const size_t result : {0, 1})
        expect_unrolled("reduce_window", types, [&](const Arrays& x) {
          return Arrays{
              lax::reduce_window(std::span(x).first(2), std::span(x).subspan(2), body, w)[result]};
        });
    }
}

TEST(UnrollPrefixes, SumsOfLogarithms) {
  expect_prefixes(float64, {100}, 0, log_sum, Keeps::kValues);
  expect_prefixes(float32, {20, 3}, 0, log_sum, Keeps::kValues);
  expect_prefixes(float32, {3, 50}, 1, log_sum, Keeps::kValues);
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_prefixes_test
