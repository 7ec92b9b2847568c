// A value that two kernels compute must have the same bits in both, and the same bits as when it is
// stored. Derivatives of extrema look for the elements that equal the extremum; if no element of a
// row does, its gradient is lost.
#include "tests/compile/evaluated.h"

namespace tessera::recomputed_values_test {
namespace {

using Rows = std::function<Array(const Array&, const Array&, const Array&)>;

struct Named {
  const char* name;
  Rows f;  // (a, b, c) -> a scalar; each row has one extremum of a sum with c
};

const std::vector<Named>& functions() {
  static const std::vector<Named> all = {
      {"max", [](const Array& a, const Array& b,
                 const Array& c) { return sum(max(a * b + c, {.axis = 1})); }},
      {"max beside a use of the product",
       [](const Array& a, const Array& b, const Array& c) {
         const Array product = a * b;
         return sum(max(product + c, {.axis = 1})) + sum(sin(product));
       }},
      {"min after a difference",
       [](const Array& a, const Array& b, const Array& c) {
         return sum(min(c - sin(a) * b, {.axis = 1}));
       }},
      {"max of an expensive sum",
       [](const Array& a, const Array& b, const Array& c) {
         return sum(max(sin(a * b) + c, {.axis = 1}));
       }},
      {"maxima of two kernels",
       [](const Array& a, const Array& b, const Array& c) {
         const Array product = a * b, all = product + c;
         const Array columns = max(stop_gradient(all), {.axis = 0});
         return sum(max(all, {.axis = 1})) + 0 * sum(columns) +
                0 * sum(stop_gradient(product * all));
       }},
      {"segment_max", [](const Array& a, const Array& b, const Array& c) {
         const int64_t rows = c.shape()[0], columns = c.shape()[1];
         const Array of = ravel(broadcast_to(reshape(arange(rows), {rows, 1}), {rows, columns}));
         return sum(segment_max(ravel(a * b + c), of, rows));
       }}};
  return all;
}

class RecomputedValues : public DevicesTest {
 protected:
  void SetUp() override {
    DevicesTest::SetUp();
    enable_x64(true);
  }
  void TearDown() override { enable_x64(false); }
};

TEST_F(RecomputedValues, EveryRowFindsItsExtremum) {
  for (DType dtype : {float32, float64, bfloat16, float16})
    for (const Shape& shape : {Shape{1, 3}, Shape{7, 5}, Shape{64, 257}, Shape{3, 40000}})
      for (const Named& function : functions()) {
        SCOPED_TRACE(fmt::format("{} of {}{}", function.name, dtype, shape));
        const Array a = astype(random::normal(random::key(1), shape), dtype),
                    b = astype(random::normal(random::key(2), shape), dtype),
                    c = astype(random::normal(random::key(3), shape), dtype);
        const auto loss = [&](const Array& added, const Array& x, const Array& y) {
          return astype(function.f(x, y, added), float64);
        };
        const Array gradient = astype(jit(grad(loss))(c, a, b), float64);
        const Literal rows = sum(gradient, {.axis = 1}).to_host();
        // Equal extrema share the gradient, in parts that a narrow dtype rounds.
        for (int64_t i = 0; i < shape[0]; ++i) EXPECT_NEAR(rows.data<double>()[i], 1, 2e-2) << i;
      }
}

}  // namespace
}  // namespace tessera::recomputed_values_test
