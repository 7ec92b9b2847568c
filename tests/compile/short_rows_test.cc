// Functions of many short rows, which kernels compute by columns (fusion/kernels/short_folds.h,
// short_rows.h, ops/structural/unroll_sort.h): machine code against the same ops one by one, on few
// rows, which have other kernels.
#include <functional>

#include "tests/compile/devices.h"

namespace tessera::short_rows_test {
namespace {

using Function = std::function<Array(const Array&, const Array&)>;

class ShortRows : public DevicesTest {};

void expect_rows(const Function& f, int64_t columns, DType dtype = float32) {
  constexpr int64_t kRows = 1500, kFew = 6;
  const Array x = astype(sin(iota({kRows, columns})) * 3, dtype),
              y = astype(cos(iota({kRows, columns}) * 0.7f), dtype);
  const Array many = jit(f)(x, y);
  const auto rows = [](const Array& a, int64_t begin) {
    return take(a, astype(iota({kFew}), int32) + static_cast<int32_t>(begin), {.axis = 0});
  };
  for (int64_t begin : {int64_t{0}, int64_t{640}, kRows - kFew}) {
    const Array few = f(rows(x, begin), rows(y, begin));
    const Array off = max(abs(astype(rows(many, begin), float64) - astype(few, float64)));
    const double largest = max(abs(astype(few, float64))).item<double>();
    EXPECT_LE(off.item<double>(), 1e-5 * largest + (dtype == bfloat16 ? 0.02 * largest : 0))
        << columns << " " << dtype_name(dtype) << " from row " << begin;
  }
}

Array along(const Array& of_rows) { return expand_dims(of_rows, 1); }
Array softmax_of(const Array& x) {
  const Array e = exp(x - along(max(x, {.axis = 1})));
  return e / along(sum(e, {.axis = 1}));
}

// As JAX differentiates a softmax. The kernel of the sums also stores the exponentials, for the
// kernel after it, and reads them back.
Array slope_of(const Array& x, const Array& y) {
  const Array e = exp(x - along(max(x, {.axis = 1}))), total = along(sum(e, {.axis = 1}));
  return e * (y / total - along(sum(y * (1 / (total * total)) * e, {.axis = 1})));
}

TEST_F(ShortRows, Softmax) {
  for (int64_t columns : {2, 3, 4, 7, 8, 10, 13, 15, 16}) expect_rows(slope_of, columns);
  for (int64_t columns : {2, 3, 4, 7, 8, 10, 13, 15, 16})
    for (DType dtype : {float32, bfloat16}) {
      expect_rows([](const Array& x, const Array&) { return softmax_of(x); }, columns, dtype);
      expect_rows(
          [](const Array& x, const Array& y) {
            return grad([&](const Array& v) { return sum(softmax_of(v) * y); })(x);
          },
          columns, dtype);
    }
}

TEST_F(ShortRows, Folds) {
  for (int64_t columns : {3, 5, 8, 10, 12, 15, 16}) {
    expect_rows([](const Array& x, const Array&) { return var(x, {.axis = 1}); }, columns);
    expect_rows([](const Array& x, const Array& y) { return sum(x * y, {.axis = 1}); }, columns);
    expect_rows([](const Array& x, const Array&) { return prod(x, {.axis = 1}); }, columns);
    expect_rows(
        [](const Array& x, const Array& y) {
          const auto normed = [](const Array& v) {
            const Array centred = v - mean(v, {.axis = 1, .keepdims = true});
            return centred / sqrt(mean(square(centred), {.axis = 1, .keepdims = true}) + 1e-5f);
          };
          return grad([&](const Array& v) { return sum(normed(v) * y); })(x);
        },
        columns);
  }
}

TEST_F(ShortRows, Moves) {
  for (DType dtype : {float32, bfloat16})
    for (int64_t columns : {3, 9, 10, 16}) {
      expect_rows([](const Array& x, const Array&) { return flip(x, {.axis = 1}); }, columns,
                  dtype);
      expect_rows([](const Array& x, const Array&) { return roll(x, 1, {.axis = 1}); }, columns,
                  dtype);
      expect_rows([](const Array& x, const Array& y) { return x * flip(y, {.axis = 1}); }, columns,
                  dtype);
      expect_rows(
          [columns](const Array& x, const Array& y) {
            std::vector<Array> stacked;
            for (int64_t c = 0; c < columns; ++c)
              stacked.push_back(take(x, static_cast<int32_t>((3 * c + 1) % columns), {.axis = 1}) +
                                take(y, static_cast<int32_t>(c), {.axis = 1}));
            return stack(stacked, 1);
          },
          columns, dtype);
    }
}

TEST_F(ShortRows, Sorts) {
  for (int64_t columns : {2, 3, 7, 10})
    expect_rows(
        [](const Array& x, const Array& y) {
          return sort(x, {.axis = 1}) + astype(argsort(y, {.axis = 1}), float32) * 0.5f;
        },
        columns);
}

}  // namespace
}  // namespace tessera::short_rows_test
