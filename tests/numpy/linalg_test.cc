// Compares functions of jax.numpy.linalg with JAX (golden/make_linalg.py): values, eagerly and
// traced, and gradients. Also tests errors.
#include "tessera/numpy/linalg.h"

#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <random>

#include "../errors.h"
#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/schur.h"

namespace tessera::linalg_test {

using namespace ops;

namespace {

using golden::Json;
using tessera::test::Arrays;
using tessera::test::error_of;

using tessera::test::X64;
using ::testing::HasSubstr;

using Function = std::function<Arrays(const Arrays&)>;

// Returns the order at the end of a case's name.
std::optional<linalg::Order> order_of(const std::string& name) {
  const std::string text = name.substr(name.rfind('_') + 1);
  if (text == "None") return std::nullopt;
  if (text == "fro") return linalg::Order("fro");
  if (text == "nuc") return linalg::Order("nuc");
  if (text == "inf") return linalg::Order(INFINITY);
  if (text == "-inf") return linalg::Order(-INFINITY);
  return linalg::Order(std::stod(text));
}

bool starts_with(const std::string& name, const std::string& start) {
  return name.rfind(start, 0) == 0;
}

Function function_of(const std::string& name) {
  const std::map<std::string, Function> named = {
      {"cholesky", [](const Arrays& x) { return Arrays{linalg::cholesky(x[0])}; }},
      {"cholesky_upper",
       [](const Arrays& x) { return Arrays{linalg::cholesky(x[0], {.upper = true})}; }},
      {"qr",
       [](const Arrays& x) {
         const linalg::Qr f = linalg::qr(x[0]);
         return Arrays{f.q, f.r};
       }},
      {"qr_complete",
       [](const Arrays& x) {
         const linalg::Qr f = linalg::qr(x[0], linalg::QrMode::kComplete);
         return Arrays{f.q, f.r};
       }},
      {"svd",
       [](const Arrays& x) {
         const linalg::Svd f = linalg::svd(x[0], false);
         return Arrays{f.u, f.s, f.vh};
       }},
      {"svdvals", [](const Arrays& x) { return Arrays{linalg::svdvals(x[0])}; }},
      {"eigh",
       [](const Arrays& x) {
         const linalg::Eigen f = linalg::eigh(x[0]);
         return Arrays{f.eigenvalues, f.eigenvectors};
       }},
      {"eigvalsh", [](const Arrays& x) { return Arrays{linalg::eigvalsh(x[0])}; }},
      {"eigvals", [](const Arrays& x) { return Arrays{linalg::eigvals(x[0])}; }},
      {"solve", [](const Arrays& x) { return Arrays{linalg::solve(x[0], x[1])}; }},
      {"inv", [](const Arrays& x) { return Arrays{linalg::inv(x[0])}; }},
      {"pinv", [](const Arrays& x) { return Arrays{linalg::pinv(x[0])}; }},
      {"lstsq",
       [](const Arrays& x) {
         const linalg::Lstsq f = linalg::lstsq(x[0], x[1]);
         return Arrays{f.x, f.residuals, f.rank, f.s};
       }},
      {"tensorsolve", [](const Arrays& x) { return Arrays{linalg::tensorsolve(x[0], x[1])}; }},
      {"tensorsolve_axes",
       [](const Arrays& x) {
         return Arrays{linalg::tensorsolve(x[0], x[1], {2, 0})};
       }},
      {"tensorinv", [](const Arrays& x) { return Arrays{linalg::tensorinv(x[0])}; }},
      {"tensorinv_1", [](const Arrays& x) { return Arrays{linalg::tensorinv(x[0], 1)}; }},
      {"det", [](const Arrays& x) { return Arrays{linalg::det(x[0])}; }},
      {"slogdet",
       [](const Arrays& x) {
         const linalg::Slogdet f = linalg::slogdet(x[0]);
         return Arrays{f.sign, f.logabsdet};
       }},
      {"expm", [](const Arrays& x) { return Arrays{linalg::expm(x[0])}; }},
      {"norm", [](const Arrays& x) { return Arrays{linalg::norm(x[0])}; }},
      {"vector_norm_all",
       [](const Arrays& x) { return Arrays{linalg::vector_norm(x[0], {.ord = 3})}; }},
      {"cross", [](const Arrays& x) { return Arrays{linalg::cross(x[0], x[1])}; }},
      {"cross_axis", [](const Arrays& x) { return Arrays{linalg::cross(x[0], x[1], 0)}; }},
      {"multi_dot", [](const Arrays& x) { return Arrays{linalg::multi_dot(x)}; }},
      {"outer", [](const Arrays& x) { return Arrays{linalg::outer(x[0], x[1])}; }},
      {"trace", [](const Arrays& x) { return Arrays{linalg::trace(x[0])}; }},
      {"matrix_rank", [](const Arrays& x) { return Arrays{linalg::matrix_rank(x[0])}; }},
  };
  if (const auto at = named.find(name); at != named.end()) return at->second;
  if (starts_with(name, "matrix_power_")) {
    const int64_t n = std::stoll(name.substr(13));
    return [n](const Arrays& x) { return Arrays{linalg::matrix_power(x[0], n)}; };
  }
  const std::optional<linalg::Order> order = order_of(name);
  if (starts_with(name, "matrix_norm_"))
    return [order](const Arrays& x) {
      return Arrays{linalg::norm(x[0], {.ord = order, .axis = {0, 2}, .keepdims = true})};
    };
  if (starts_with(name, "vector_norm_"))
    return
        [order](const Arrays& x) { return Arrays{linalg::norm(x[0], {.ord = order, .axis = 1})}; };
  TESSERA_CHECK(starts_with(name, "cond_"), "a case {}", name);
  return [order](const Arrays& x) {
    return Arrays{linalg::cond(x[0], order.value_or(linalg::Order(2)))};
  };
}

void expect_close(const Literal& got, const Literal& want, double tolerance) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  const Literal a = convert_literal(got, complex128), b = convert_literal(want, complex128);
  for (int64_t i = 0; i < a.elements(); ++i) {
    const std::complex<double> x = a.data<std::complex<double>>()[i],
                               y = b.data<std::complex<double>>()[i];
    if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
    ASSERT_LE(std::abs(x - y), tolerance * (1 + std::abs(y)))
        << "element " << i << ": " << x << ", expected " << y;
  }
}

double tolerance_of(const Literal& x) {
  return itemsize(real_dtype(x.dtype())) == 4 && is_inexact(x.dtype()) ? 1e-4 : 1e-9;
}

// Returns the sum of real(out * weight) over all results, as in make_linalg.py.
Array loss(const Arrays& results) {
  Array total(0.0);
  for (const Array& out : results) {
    if (!is_inexact(out.dtype())) continue;
    const Array weights = reshape(cos(astype(arange(out.size()), float64)), out.shape());
    const Array product = out * weights;
    total = total + sum(is_complex(product.dtype()) ? lax::real(product) : product);
  }
  return total;
}

// Small matrices are factored by elementwise ops. Those with elements of few values have zero
// pivots and rows that are equally large.
TEST(Linalg, SmallLuAsTheDefinition) {
  const X64 x64(true);
  std::mt19937 rng(5);
  for (int64_t n : {1, 2, 3, 4}) {
    Literal values(float64, {1000, n, n});
    for (int64_t i = 0; i < values.elements(); ++i)
      values.mutable_data<double>()[i] = static_cast<double>(rng() % 4) - 1;
    values.mutable_data<double>()[0] = std::nan("");
    const std::vector<Literal> want = lu_op.evaluate(std::span(&values, 1), NoParams{});
    const Arrays got = ir::bind_op(lu_op, NoParams{}, Arrays{Array(values)});
    expect_close(got[0].to_host(), want[0], 1e-12);
    for (size_t r : {1, 2}) EXPECT_EQ(got[r].to_host(), want[r]) << "result " << r;
    const Literal info = got[3].to_host();
    int64_t singular = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      const int32_t first = want[3].data<int32_t>()[i];
      singular += first > 0;
      if (info.data<int32_t>()[i] == first) continue;
      // Rounding made a pivot that is zero in one order of the operations 1e-17 in another.
      ASSERT_GT(first, 0);
      ASSERT_LT(std::abs(got[0].to_host().data<double>()[i * n * n + (first - 1) * (n + 1)]),
                1e-12);
    }
    EXPECT_GT(singular, 0);
  }
}

// Returns which elements of the lower Cholesky factor of [n, n] depend on a NaN in the lower
// triangle at (row, col): those that the definition, element by element, computes from one.
std::vector<bool> depends_on_nan(int64_t n, int64_t row, int64_t col) {
  std::vector<bool> nan(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      bool any = i == row && j == col;
      for (int64_t k = 0; k < j; ++k) any = any || nan[i * n + k] || nan[j * n + k];
      nan[i * n + j] = any || (j < i && nan[j * n + j]);
    }
  return nan;
}

// A NaN makes those elements NaN that depend on it, whatever LAPACK does after it. (In large
// matrices LAPACK's blocks make others NaN as well.)
TEST(Linalg, CholeskyOfMatricesWithNaN) {
  const X64 x64(true);
  for (DType dtype : {float32, float64, complex64})
    for (int64_t n : {4, 20, 140})
      for (auto [row, col] :
           {std::pair<int64_t, int64_t>{2, 1}, {0, 0}, {n - 1, n - 1}, {n - 1, 0}})
        for (bool upper : {false, true}) {
          Literal values(float64, {n, n});
          for (int64_t i = 0; i < n * n; ++i)
            values.mutable_data<double>()[i] = i % (n + 1) == 0 ? 3 : 0.01;
          values.mutable_data<double>()[upper ? col * n + row : row * n + col] = std::nan("");
          const Array l = ir::bind_op1(cholesky_op, CholeskyParams{!upper},
                                       {Array(convert_literal(values, dtype))});
          const Literal found =
              convert_literal((upper ? matrix_transpose(l) : l).to_host(), complex128);
          const std::vector<bool> nan = depends_on_nan(n, row, col);
          for (int64_t i = 0; i < n * n; ++i)
            ASSERT_TRUE(std::isnan(found.data<std::complex<double>>()[i].real()) == nan[i] ||
                        (n > 64 && !nan[i]))
                << dtype_name(dtype) << " " << n << " NaN at " << row << ", " << col << ", element "
                << i / n << ", " << i % n << (upper ? " upper" : "");
        }
}

TEST(Linalg, ComputesWhatJaxComputes) {
  const X64 x64(true);
  const golden::Topic topic("linalg");
  int count = 0, gradients = 0;
  for (const Json& c : topic["cases"]) {
    const std::string name = c["name"];
    const std::vector<Literal> inputs = topic.arrays(c["inputs"]);
    SCOPED_TRACE(fmt::format("{} of {}{}", name, inputs[0].dtype(), inputs[0].shape()));
    const Arrays x(inputs.begin(), inputs.end());
    const Function f = function_of(name);
    const std::vector<Literal> want = topic.arrays(c["outputs"]);
    for (const Arrays& got : {f(x), jit(f)(x)}) {
      ASSERT_EQ(got.size(), want.size());
      for (size_t r = 0; r < want.size(); ++r)
        expect_close(got[r].to_host(), want[r], tolerance_of(want[r]));
    }
    ++count;
    if (c["grads"].is_null()) continue;
    const std::vector<Literal> grads = topic.arrays(c["grads"]);
    const Arrays got = grad([&](const Arrays& a) { return loss(f(a)); })(x);
    for (size_t k = 0; k < grads.size(); ++k) {
      SCOPED_TRACE("gradient");
      expect_close(got[k].to_host(), grads[k], 100 * tolerance_of(grads[k]));
    }
    ++gradients;
  }
  EXPECT_GE(count, 150);
  EXPECT_GE(gradients, 110);
}

TEST(Linalg, MapsOverExamples) {
  const Array x = reshape(sin(arange(48.0)), {3, 4, 4}) + 3 * eye(4);
  const Arrays one{linalg::inv(x)}, mapped{vmap([](const Array&a) { return linalg::inv(a); })(x)};
  expect_close(mapped[0].to_host(), one[0].to_host(), 1e-5);
}

TEST(Linalg, Errors) {
  const Array vector = ones({3}), wide = ones({3, 4}), square = ones({3, 3});
  EXPECT_THAT(error_of([&] { linalg::inv(wide); }), HasSubstr("[inv] expected square matrices"));
  EXPECT_THAT(error_of([&] { linalg::svd(vector); }), HasSubstr("[svd] expected a matrix"));
  EXPECT_THAT(error_of([&] { linalg::solve(square, ones({4})); }),
              HasSubstr("[solve] expected b of shape (m,) or (..., m, k)"));
  EXPECT_THAT(error_of([&] { linalg::lstsq(square, ones({4})); }), HasSubstr("[lstsq] expected a"));
  EXPECT_THAT(error_of([&] {
                linalg::norm(ones({2, 2, 2}), {.ord = 2});
              }),
              HasSubstr("[norm] expected one axis, of vectors, or two, of matrices, got 3"));
  EXPECT_THAT(error_of([&] { linalg::norm(square, {.ord = 3}); }),
              HasSubstr("[norm] expected ord to be a number of 1, -1, 2, -2"));
  EXPECT_THAT(error_of([&] { linalg::norm(vector, {.ord = "fro"}); }),
              HasSubstr("[norm] expected ord to be a number for vectors, got fro"));
  EXPECT_THAT(error_of([&] {
                linalg::cond(zeros({0, 3}));
              }),
              HasSubstr("[cond] expected matrices with elements"));
  EXPECT_THAT(error_of([&] { linalg::cross(wide, wide); }),
              HasSubstr("[cross] expected vectors of three elements"));
  EXPECT_THAT(error_of([&] { linalg::outer(wide, vector); }),
              HasSubstr("[outer] expected two vectors"));
  EXPECT_THAT(error_of([&] { linalg::multi_dot({wide}); }),
              HasSubstr("[multi_dot] expected two arrays or more, got 1"));
  EXPECT_THAT(error_of([&] {
                linalg::multi_dot({wide, square});
              }),
              HasSubstr("[multi_dot] expected neighbours whose dimensions agree"));
  EXPECT_THAT(error_of([&] { linalg::tensorsolve(wide, vector); }),
              HasSubstr("[tensorsolve] expected a whose first dimensions are b's"));
  EXPECT_THAT(error_of([&] { linalg::tensorsolve(vector, square); }),
              HasSubstr("[tensorsolve] expected a whose first dimensions are b's"));
  EXPECT_THAT(error_of([&] { linalg::tensorinv(wide, 1); }),
              HasSubstr("[tensorinv] expected as many elements in the first 1 dimensions"));
  EXPECT_THAT(error_of([&] { linalg::tensorinv(square, 0); }),
              HasSubstr("[tensorinv] expected ind of 1 or more, got 0"));
  EXPECT_THAT(error_of([&] { linalg::inv(astype(square, bfloat16)); }),
              HasSubstr("expected float32, float64, complex64 or complex128"));
}

// LAPACK's iterations may never end for these.
TEST(Linalg, FactorisationsOfWhatIsNotFiniteAreNotANumber) {
  const auto is_nan = [](const Array& x) { return all(x != x).item<bool>(); };
  for (const DType dtype : {float32, float64, complex64, complex128})
    for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
      SCOPED_TRACE(fmt::format("{} {}", dtype, value));
      // The value is the only one that is not finite: on the diagonal, or below it, where half of
      // the routines do not read.
      for (const auto& [row, column] : {std::pair(0, 0), std::pair(3, 1)}) {
        Literal numbers(float64, {4, 4});
        for (int64_t i = 0; i < 4; ++i) numbers.mutable_data<double>()[5 * i] = 1;
        numbers.mutable_data<double>()[4 * row + column] = value;
        const Array x = astype(Array(numbers), dtype);
        const auto [u, s, vh] = linalg::svd(x);
        EXPECT_TRUE(is_nan(s) && is_nan(u) && is_nan(vh));
        EXPECT_TRUE(is_nan(linalg::svdvals(x)));
        EXPECT_TRUE(is_nan(linalg::eigh(x).eigenvalues));
        EXPECT_TRUE(is_nan(lax::linalg::schur(x).t));
      }
    }
}

}  // namespace
}  // namespace tessera::linalg_test
