// Compares gemm() with sums in float64, for many element types, layouts, sizes and magnitudes.
#include "tessera/runtime/products/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tessera/runtime/products/gemm_avx512.h"
#include "tessera/runtime/products/gemm_tiles.h"
#include "tessera/runtime/products/tile_panels.h"
#include "tests/errors.h"

namespace tessera::gemm_test {

using namespace runtime;

namespace {

template <class T>
struct Matrix {
  int64_t rows, cols;
  bool by_columns;
  std::vector<T> data;
  Matrix(int64_t rows, int64_t cols, bool by_columns)
      : rows(rows), cols(cols), by_columns(by_columns), data(static_cast<size_t>(rows * cols)) {}
  T& at(int64_t i, int64_t j) {
    return data[static_cast<size_t>(by_columns ? j * rows + i : i * cols + j)];
  }
  MatrixRef ref() const {
    return {reinterpret_cast<const std::byte*>(data.data()), by_columns ? 1 : cols,
            by_columns ? rows : 1};
  }
};

float value(float x) { return x; }
float value(Float16 x) { return static_cast<float>(x); }
float value(Bfloat16 x) { return static_cast<float>(x); }

template <class T>
Matrix<T> random_matrix(int64_t rows, int64_t cols, bool by_columns, unsigned seed,
                        float scale = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  Matrix<T> out(rows, cols, by_columns);
  for (T& x : out.data) x = T(normal(bits) * scale);
  return out;
}

constexpr double kEps = 0x1p-24;  // half of a unit in float32's last place

// Returns the largest error of some thousand elements of c, in units of kEps times the sum of the
// products' absolute values.
template <class T>
double error_of(Matrix<T>& a, Matrix<T>& b, const std::vector<float>& c, int64_t ldc,
                double start = 0) {
  double worst = 0;
  const int64_t step = a.rows * b.cols / 3000 + 1;
  int64_t at = 0;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.cols; ++j) {
      if (at++ % step != 0) continue;
      double sum = start, size = std::abs(start);
      for (int64_t p = 0; p < a.cols; ++p) {
        const double x = static_cast<double>(value(a.at(i, p))) * value(b.at(p, j));
        sum += x;
        size += std::abs(x);
      }
      const double got = c[static_cast<size_t>(i * ldc + j)];
      if (!std::isfinite(got)) return std::numeric_limits<double>::infinity();
      if (size > 0) worst = std::max(worst, std::abs(got - sum) / size / kEps);
    }
  return worst;
}

template <class T>
std::vector<float> multiply(const Matrix<T>& a, const Matrix<T>& b, int64_t ldc,
                            bool accumulate = false, float start = 0) {
  std::vector<float> c(static_cast<size_t>(a.rows * ldc), start);
  const GemmTypes types{dtype_of<T>, float32};
  gemm(types, a.rows, b.cols, a.cols, a.ref(), b.ref(), reinterpret_cast<std::byte*>(c.data()), ldc,
       accumulate);
  return c;
}

struct Size {
  int64_t m, n, k;
};

template <class T>
void expect_products(double most) {
  // Sizes with whole blocks, edges on every side, several blocks along each dimension, and small
  // sizes.
  for (const Size& s :
       {Size{64, 96, 128}, Size{77, 131, 203}, Size{545, 70, 300}, Size{40, 1100, 64},
        Size{150, 90, 1601}, Size{9, 12, 17}, Size{1, 200, 90}, Size{200, 1, 90}})
    for (bool a_turned : {false, true})
      for (bool b_turned : {false, true}) {
        auto a = random_matrix<T>(s.m, s.k, a_turned, 1),
             b = random_matrix<T>(s.k, s.n, b_turned, 2);
        SCOPED_TRACE(::testing::Message()
                     << s.m << "x" << s.n << "x" << s.k << " " << a_turned << b_turned);
        const int64_t ldc = s.n + 5;
        const std::vector<float> c = multiply(a, b, ldc);
        EXPECT_LT(error_of(a, b, c, ldc), most);
        for (int64_t i = 0; i < s.m; ++i)
          for (int64_t j = s.n; j < ldc; ++j) EXPECT_EQ(c[static_cast<size_t>(i * ldc + j)], 0);
        EXPECT_LT(error_of(a, b, multiply(a, b, s.n, true, 3.f), s.n, 3), most);
      }
}

TEST(Gemm, Float32) { expect_products<float>(8); }
TEST(Gemm, Float16) { expect_products<Float16>(8); }
TEST(Gemm, Bfloat16) { expect_products<Bfloat16>(8); }

// Sums of integers that float32 represents exactly.
TEST(Gemm, Float32IsExactOnSmallIntegers) {
  Matrix<float> a(96, 160, false), b(160, 128, true);
  for (size_t i = 0; i < a.data.size(); ++i) a.data[i] = static_cast<float>(i * 7919 % 513) - 256;
  for (size_t i = 0; i < b.data.size(); ++i) b.data[i] = static_cast<float>(i * 104729 % 257) - 128;
  EXPECT_EQ(error_of(a, b, multiply(a, b, 128), 128), 0);
}

// Numbers far from 1 and of very different magnitudes.
TEST(Gemm, Float32OfAllMagnitudes) {
  for (auto [x, y] : {std::pair{1e-36f, 1e10f},
                      {1e-37f, 1e36f},
                      {1e30f, 1e-20f},
                      {1e37f, 1e-37f},
                      {1e18f, 1e18f},
                      {1e-17f, 1e-17f}}) {
    SCOPED_TRACE(::testing::Message() << x << " " << y);
    auto a = random_matrix<float>(64, 128, false, 3, x),
         b = random_matrix<float>(128, 96, false, 4, y);
    EXPECT_LT(error_of(a, b, multiply(a, b, 96), 96), 8);
  }
  // Rows of very different magnitudes.
  auto a = random_matrix<float>(64, 128, false, 5), b = random_matrix<float>(128, 96, false, 6);
  for (int64_t p = 0; p < 128; ++p) {
    a.at(3, p) *= 1e-30f;
    a.at(40, p) *= 1e25f;
  }
  EXPECT_LT(error_of(a, b, multiply(a, b, 96), 96), 8);
  for (int64_t p = 0; p < 128; ++p) a.at(7, p) *= 1e-36f;
  EXPECT_LT(error_of(a, b, multiply(a, b, 96), 96), 8);
}

TEST(Gemm, InfinitiesAndNaN) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  auto expect = [&]<class T>(T) {
    auto a = random_matrix<T>(70, 600, false, 7), b = random_matrix<T>(600, 80, true, 8);
    for (T& x : a.data) x = T(std::abs(value(x)) + 0.5f);
    for (T& x : b.data) x = T(1.f);
    a.at(5, 520) = T(inf);
    a.at(6, 1) = T(-inf);
    a.at(8, 599) = T(nan);
    const std::vector<float> c = multiply(a, b, 80);
    for (int64_t i = 0; i < 70; ++i)
      for (int64_t j = 0; j < 80; ++j) {
        const float got = c[static_cast<size_t>(i * 80 + j)];
        if (i == 5) {
          EXPECT_EQ(got, inf);
        } else if (i == 6) {
          EXPECT_EQ(got, -inf);
        } else if (i == 8) {
          EXPECT_TRUE(std::isnan(got));
        } else {
          EXPECT_TRUE(std::isfinite(got)) << i << " " << j;
        }
      }
  };
  expect(float{});
  expect(Float16{});
  expect(Bfloat16{});
}

void not_needed(GemmTypes, int64_t, int64_t, int64_t, MatrixRef, MatrixRef, std::byte*, int64_t,
                bool) {
  ADD_FAILURE() << "tiles do for this product";
}

// Products of half types are exact, except for the rounding of float32 sums.
template <class T>
void expect_as_exact_as_float32() {
  constexpr int64_t m = 224, n = 256;  // for smaller matrices of bfloat16, tiles do not pay
  for (int64_t k : {64, 500, 2048}) {
    auto a = random_matrix<T>(m, k, false, 9), b = random_matrix<T>(k, n, false, 10);
    for (T& x : a.data) x = T(std::abs(value(x)));  // sums grow, so that their rounding adds up
    std::vector<float> c(m * n), one_by_one(m * n);
    ASSERT_TRUE(gemm_tiles({dtype_of<T>, float32}, m, n, k, a.ref(), b.ref(), c.data(), n, false,
                           not_needed));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t p = 0; p < k; ++p)
          one_by_one[static_cast<size_t>(i * n + j)] += value(a.at(i, p)) * value(b.at(p, j));
    EXPECT_LE(error_of(a, b, c, n), error_of(a, b, one_by_one, n)) << k;
    EXPECT_LT(error_of(a, b, c, n), 3) << k;
  }
}
TEST(GemmTiles, AsExactAsFloat32) {
  if (!cpu_has_tiles()) GTEST_SKIP() << "no matrix tiles here";
  expect_as_exact_as_float32<Float16>();
  expect_as_exact_as_float32<Bfloat16>();
}

TEST(GemmTiles, TheUserChooses) {
  EXPECT_TRUE(tiles_allowed(nullptr));
  EXPECT_TRUE(tiles_allowed(""));
  EXPECT_TRUE(tiles_allowed("halves"));
  EXPECT_FALSE(tiles_allowed("off"));
  test::expect_error([] { tiles_allowed("on"); },
                     "[TESSERA_MATRIX_TILES] expected 'off' or 'halves', got 'on'; unset it for "
                     "halves");
  test::expect_error([] { tiles_allowed("all"); }, "expected 'off' or 'halves', got 'all'");
}

TEST(GemmTiles, HalvesAlone) {
  const bool halves = cpu_has_tiles() && tiles_allowed(std::getenv("TESSERA_MATRIX_TILES"));
  for (DType dtype : {float16, bfloat16}) EXPECT_EQ(wants_tiles(dtype), halves);
  for (DType dtype : {float32, float64, int8}) EXPECT_FALSE(wants_tiles(dtype));
}

TEST(GemmTiles, LeavesWhatGainsNothingToTheLibraries) {
  float c[1] = {7};
  const MatrixRef one{reinterpret_cast<const std::byte*>(c), 1, 1};
  EXPECT_FALSE(gemm_tiles({float16, float32}, 1, 1, 1, one, one, c, 1, false, not_needed));
  EXPECT_FALSE(gemm_tiles({float32, float32}, 512, 512, 512, one, one, c, 1, false, not_needed));
  EXPECT_FALSE(gemm_tiles({float64, float64}, 512, 512, 512, one, one, c, 1, false, not_needed));
  EXPECT_FALSE(gemm_tiles({int8, int32}, 512, 512, 512, one, one, c, 1, false, not_needed));
  EXPECT_EQ(c[0], 7);
}

// The packed pieces of an element add up to the element.
template <class T>
void expect_pieces_add_up() {
  constexpr int64_t kRows = 37, kDepth = 45;
  constexpr DType kDType = dtype_of<T>;
  const int64_t pieces = panel_pieces(kDType);
  for (bool by_columns : {false, true})
    for (PanelSide side : {PanelSide::kLeft, PanelSide::kRight}) {
      auto x = random_matrix<T>(kRows, kDepth, by_columns, 11);
      const MatrixRef ref = x.ref();
      const int64_t bytes = panel_bytes(kDType, kRows, kDepth);
      ASSERT_EQ(bytes, 2 * 2 * pieces * 2 * kTileBytes);
      std::vector<std::byte> memory(static_cast<size_t>(bytes + 64));
      std::byte* out = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
      ASSERT_TRUE(pack_panels({kDType, ref.data, ref.row_stride, ref.col_stride}, side, kRows,
                              kDepth, out));
      for (int64_t i = 0; i < 64; ++i)
        for (int64_t p = 0; p < 64; ++p) {
          double sum = 0;
          for (int64_t piece = 0; piece < pieces; ++piece) {
            const std::byte* tile =
                out + (((i / 32 * 2 + p / 32) * pieces + piece) * 2 + i % 32 / 16) * kTileBytes;
            const int64_t row = side == PanelSide::kLeft ? i % 16 : p % 32 / 2,
                          word = side == PanelSide::kLeft ? p % 32 / 2 : i % 16;
            Bfloat16 number;
            std::memcpy(&number, tile + row * 64 + word * 4 + p % 2 * 2, 2);
            sum += value(number);
          }
          const double want = i < kRows && p < kDepth ? value(x.at(i, p)) : 0;
          EXPECT_EQ(sum, want) << i << " " << p;
        }
    }
}
TEST(TilePanels, PiecesAddUp) {
  if (!cpu_has_tiles()) GTEST_SKIP() << "no matrix tiles here";
  expect_pieces_add_up<Float16>();
  expect_pieces_add_up<Bfloat16>();
}

template <class In, class Out>
void expect_integers_wrap() {
  for (int64_t m : {3, 40}) {
    const int64_t n = m + 2, k = m + 1;
    Matrix<In> a(m, k, false), b(k, n, true);
    uint64_t next = 1;
    for (auto* x : {&a.data, &b.data})
      for (In& e : *x) e = static_cast<In>((next = next * 6364136223846793005u + 1) >> 20);
    std::vector<Out> c(static_cast<size_t>(m * n));
    gemm({dtype_of<In>, dtype_of<Out>}, m, n, k, a.ref(), b.ref(),
         reinterpret_cast<std::byte*>(c.data()), n, false);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint64_t sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += static_cast<uint64_t>(static_cast<Out>(a.at(i, p))) *
                 static_cast<uint64_t>(static_cast<Out>(b.at(p, j)));
        ASSERT_EQ(c[static_cast<size_t>(i * n + j)], static_cast<Out>(sum))
            << dtype_of<In> << " " << dtype_of<Out> << " " << m;
      }
  }
}
// Products of signed and unsigned integers share their code.
// Products of a complex matrix and a vector, in memory that holds NaN before, or whose numbers are
// added to.
template <class T>
void expect_complex_vectors() {
  using Number = std::complex<T>;
  std::mt19937 bits(3);
  std::normal_distribution<T> normal;
  const auto fill = [&](Matrix<Number>& x) {
    for (Number& y : x.data) y = {normal(bits), normal(bits)};
  };
  for (const Size& s : {Size{1, 1, 3000}, Size{1, 70, 90}, Size{70, 1, 90}})
    for (int form = 0; form < 8; ++form) {
      Matrix<Number> a(s.m, s.k, (form & 1) != 0), b(s.k, s.n, (form & 2) != 0);
      fill(a);
      fill(b);
      const bool accumulate = (form & 4) != 0;
      const int64_t ldc = s.n + 3;
      const T before = accumulate ? T(2) : std::numeric_limits<T>::quiet_NaN();
      std::vector<Number> c(static_cast<size_t>(s.m * ldc), Number(before, before));
      constexpr DType dtype = dtype_of<Number>;
      gemm({dtype, dtype}, s.m, s.n, s.k, a.ref(), b.ref(), reinterpret_cast<std::byte*>(c.data()),
           ldc, accumulate);
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          std::complex<double> want = accumulate ? std::complex<double>(2, 2) : 0;
          for (int64_t p = 0; p < s.k; ++p)
            want += std::complex<double>(a.at(i, p)) * std::complex<double>(b.at(p, j));
          const std::complex<double> got(c[static_cast<size_t>(i * ldc + j)]);
          ASSERT_LT(std::abs(got - want), 200 * std::numeric_limits<T>::epsilon() * double(s.k))
              << s.m << "x" << s.n << "x" << s.k << ", form " << form;
        }
    }
}

TEST(Gemm, ComplexMatricesAndVectors) {
  expect_complex_vectors<float>();
  expect_complex_vectors<double>();
}

TEST(Gemm, IntegersOfEverySignAndWidthWrap) {
  expect_integers_wrap<int8_t, int8_t>();
  expect_integers_wrap<int8_t, uint8_t>();
  expect_integers_wrap<int8_t, int32_t>();
  expect_integers_wrap<uint8_t, int32_t>();
  expect_integers_wrap<int8_t, uint64_t>();
  expect_integers_wrap<int16_t, uint32_t>();
  expect_integers_wrap<uint32_t, int32_t>();
  expect_integers_wrap<int32_t, uint64_t>();
  expect_integers_wrap<uint64_t, uint64_t>();
}

// Small results have gemm()'s bits on CPUs for which Tessera has a kernel of its own: OpenBLAS's
// function for symmetric results is slower there.
TEST(Gemm, SymmetricResultsAreThoseOnAndAboveTheDiagonal) {
  const GemmTypes types{float64, float64};
  for (const int64_t n : {1, 5, 96, 97, 150})
    for (const bool by_columns : {false, true})
      for (const bool accumulate : {false, true}) {
        const int64_t k = 70;
        Matrix<double> a = random_matrix<double>(n, k, by_columns, static_cast<unsigned>(n));
        const MatrixRef x = a.ref();
        std::vector<double> c(static_cast<size_t>(n * n), accumulate ? 2.0 : NAN), all = c;
        const auto bytes = [](std::vector<double>& v) {
          return reinterpret_cast<std::byte*>(v.data());
        };
        gemm_symmetric(types, n, k, x, bytes(c), n, accumulate);
        gemm(types, n, n, k, x, {x.data, x.col_stride, x.row_stride}, bytes(all), n, accumulate);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = i; j < n; ++j) {
            double want = accumulate ? 2 : 0;
            for (int64_t p = 0; p < k; ++p) want += a.at(i, p) * a.at(j, p);
            const auto at = static_cast<size_t>(i * n + j);
            EXPECT_NEAR(c[at], want, 1e-12) << n << " " << i << " " << j;
            if (n <= 96 && cpu_has_avx512()) {
              EXPECT_EQ(c[at], all[at]) << n << " " << i << " " << j;
            }
          }
      }
}

template <class T>
bool fits(float first, float second) {
  std::vector<T> x(16 * 32, T(1.f));
  x[3] = T(first);
  x[100] = T(second);
  std::vector<std::byte> memory(static_cast<size_t>(panel_bytes(dtype_of<T>, 16, 32) + 64));
  std::byte* out = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  return pack_panels({dtype_of<T>, reinterpret_cast<const std::byte*>(x.data()), 32, 1},
                     PanelSide::kLeft, 16, 32, out);
}

// A bfloat16 number always fits in one piece.
TEST(TilePanels, SaysWhatDoesNotFit) {
  if (!cpu_has_tiles()) GTEST_SKIP() << "no matrix tiles here";
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(fits<Float16>(1, 0));
  EXPECT_TRUE(fits<Float16>(65504, 6e-8f));
  EXPECT_FALSE(fits<Float16>(-kInf, 1));
  EXPECT_FALSE(fits<Float16>(1, kNaN));
  EXPECT_TRUE(fits<Bfloat16>(kInf, kNaN));
}

}  // namespace
}  // namespace tessera::gemm_test
