// Compares functions of jax.numpy.fft with JAX (golden/make_fft.py), on one device and sharded over
// eight, and long and prime lengths with a direct sum. Also tests derivatives, vmap and errors.
#include "tessera/numpy/fft.h"

#include <gmock/gmock.h>

#include <complex>
#include <random>
#include <set>

#include "../errors.h"
#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/control_flow.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/jacobian.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/fourier/fft.h"

namespace tessera::fft_test {
namespace {

using golden::Json;
using lax::FftType;
using tessera::test::Arrays;
using tessera::test::error_of;
using tessera::test::run_eagerly;
using tessera::test::run_traced;
using tessera::test::X64;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using Complex = std::complex<double>;
using Numbers = std::vector<double>;

const golden::Topic& topic() {
  static const golden::Topic& topic = *new golden::Topic("fft");
  return topic;
}

// Returns make_fft.py's operand.
Literal operand(DType dtype, const Shape& shape) {
  Literal out(is_integer(dtype) ? int64 : complex128, shape);
  for (int64_t i = 0; i < out.elements(); ++i) {
    if (is_integer(dtype)) {
      out.mutable_data<int64_t>()[i] = 3 * i % 11;
      continue;
    }
    const auto at = [i](int64_t a, int64_t b, int64_t n) {
      return static_cast<double>(a + b * i % n);
    };
    out.mutable_data<Complex>()[i] = {std::sin(at(1, 7, 11)) + std::cos(at(2, 3, 7)) / 2,
                                      is_complex(dtype) ? std::cos(at(1, 5, 13)) : 0};
  }
  return ops::convert_literal(out, dtype);
}

// Returns the real parts, then the imaginary ones.
Numbers numbers(const Literal& x) {
  const Literal wide = ops::convert_literal(x, complex128);
  Numbers out;
  for (int64_t i = 0; i < wide.elements(); ++i) out.push_back(wide.data<Complex>()[i].real());
  for (int64_t i = 0; is_complex(x.dtype()) && i < wide.elements(); ++i)
    out.push_back(wide.data<Complex>()[i].imag());
  return out;
}

void expect_numbers(const Numbers& got, const Numbers& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double scale = 1;
  for (const double v : want) scale = std::max(scale, std::abs(v));
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance * scale) << i;
}

fft::Norm norm_of(const Json& options) {
  const std::string norm = options.value("norm", "backward");
  return norm == "ortho"     ? fft::Norm::kOrtho
         : norm == "forward" ? fft::Norm::kForward
                             : fft::Norm::kBackward;
}

Array call(const std::string& name, const Array& x, const Json& options) {
  using OneDim = Array (*)(const Array&, const fft::Options&);
  using ManyDims = Array (*)(const Array&, const fft::OptionsN&);
  using TwoDims = Array (*)(const Array&, const fft::Options2&);
  static const std::map<std::string, OneDim> one = {{"fft", fft::fft},   {"ifft", fft::ifft},
                                                    {"rfft", fft::rfft}, {"irfft", fft::irfft},
                                                    {"hfft", fft::hfft}, {"ihfft", fft::ihfft}};
  static const std::map<std::string, ManyDims> many = {
      {"fftn", fft::fftn}, {"ifftn", fft::ifftn}, {"rfftn", fft::rfftn}, {"irfftn", fft::irfftn}};
  static const std::map<std::string, TwoDims> two = {
      {"fft2", fft::fft2}, {"ifft2", fft::ifft2}, {"rfft2", fft::rfft2}, {"irfft2", fft::irfft2}};
  const fft::Norm norm = norm_of(options);
  if (const auto f = one.find(name); f != one.end()) {
    fft::Options o{.axis = options.value("axis", int64_t{-1}), .norm = norm};
    if (options.contains("n")) o.n = options["n"].get<int64_t>();
    return f->second(x, o);
  }
  std::optional<Dims> s;
  if (options.contains("s")) s = golden::dims(options["s"]);
  if (const auto f = many.find(name); f != many.end())
    return f->second(
        x, {.s = s,
            .axes = options.contains("axes") ? Axes(golden::dims(options["axes"])) : Axes(None),
            .norm = norm});
  fft::Options2 o{.s = s, .norm = norm};
  if (options.contains("axes")) o.axes = golden::dims(options["axes"]);
  return two.at(name)(x, o);
}

// Returns the sum of |y|^2 cos(0, 1, 2, ...).
Array loss_of(const Array& y) {
  const Array power =
      is_complex(y.dtype()) ? square(lax::real(y)) + square(lax::imag(y)) : square(y);
  const Array weights = cos(arange(static_cast<double>(y.size())));
  return sum(power * reshape(astype(weights, power.dtype()), y.shape()));
}

TEST(Fft, IsJaxs) {
  const X64 x64(true);
  size_t tested = 0;
  for (const Json& c : topic()["cases"]) {
    SCOPED_TRACE(c["name"].dump() + c["dtype"].dump() + c["shape"].dump() + c["options"].dump());
    const DType dtype = dtype_from_name(c["dtype"].get<std::string>());
    const Literal x = operand(dtype, golden::dims(c["shape"]));
    const auto f = [&](const Array& v) { return call(c["name"], v, c["options"]); };
    const bool wide = itemsize(real_dtype(dtype)) == 8;
    const double tolerance = wide ? 1e-11 : 2e-6;
    const auto run = [&](const Arrays& a) { return Arrays{f(a[0])}; };
    for (const Literal& out : {run_traced(run, {x})[0], run_eagerly(run, {x})[0]}) {
      EXPECT_EQ(dtype_name(out.dtype()), c["out"]["dtype"].get<std::string>());
      EXPECT_EQ(out.shape(), golden::dims(c["out"]["shape"]));
      expect_numbers(numbers(out), c["values"].get<Numbers>(), tolerance);
    }
    if (!c["grad"].is_null()) {
      const auto gradient = [&](const Arrays& a) {
        return Arrays{grad([&](const Array& v) { return loss_of(f(v)); })(a[0])};
      };
      expect_numbers(numbers(run_traced(gradient, {x})[0]), c["grad"].get<Numbers>(),
                     2 * tolerance);
    }
    ++tested;
  }
  EXPECT_GE(tested, 77u);
}

TEST(Fft, FrequenciesAndShiftsAreJaxs) {
  const X64 x64(true);
  for (const Json& c : topic()["frequencies"]) {
    const auto f = c["name"] == "fftfreq" ? fft::fftfreq : fft::rfftfreq;
    expect_numbers(numbers(f(c["n"], c["d"], {}).to_host()), c["values"].get<Numbers>(), 1e-11);
  }
  for (const Json& c : topic()["shifts"]) {
    const Shape shape = golden::dims(c["shape"]);
    const Array x = reshape(arange(static_cast<double>(shape.elements())), shape);
    const Axes axes = c["axes"].is_null() ? Axes(None) : Axes(golden::dims(c["axes"]));
    const Array out = c["name"] == "fftshift" ? fft::fftshift(x, axes) : fft::ifftshift(x, axes);
    EXPECT_EQ(to_vector<double>(out), c["values"].get<Numbers>()) << c["name"];
  }
  EXPECT_EQ(fft::fftfreq(4, 1, float16).dtype(), float16);
  EXPECT_EQ(fft::fftshift(Array(1.f)).shape(), Shape{});
}

// --- Lengths beyond what a direct sum in a golden file can hold ---

Literal noise(DType dtype, const Shape& shape, unsigned seed = 7) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  Literal out(complex128, shape);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const double re = normal(rng);
    out.mutable_data<Complex>()[i] = {re, is_complex(dtype) ? normal(rng) : 0};
  }
  return ops::convert_literal(out, dtype);
}

// Returns the relative distance, in the Euclidean norm, from the direct sum at some points.
double error_of_points(const Literal& x, const Literal& out) {
  const Literal in = ops::convert_literal(x, complex128),
                got = ops::convert_literal(out, complex128);
  const int64_t n = x.elements();
  double wrong = 0, all = 0;
  for (int64_t k = 0; k < out.elements(); k += std::max<int64_t>(1, out.elements() / 37)) {
    Complex sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double turn =
          2 * M_PI * static_cast<double>(static_cast<__int128>(j) * k % n) / static_cast<double>(n);
      sum += in.data<Complex>()[j] * std::polar(1.0, -turn);
    }
    wrong += std::norm(got.data<Complex>()[k] - sum);
    all += std::norm(sum);
  }
  return std::sqrt(wrong / all);
}

TEST(Fft, IsAccurateAtAnyLength) {
  const X64 x64(true);
  for (const int64_t n : {4096, 10007, 20014, 1 << 16, 7 * 11 * 13 * 16, 3 * 3 * 3 * 625, 131071})
    for (const DType dtype : {complex64, complex128, float32, float64}) {
      const Literal x = noise(dtype, {n});
      const Literal out = (is_complex(dtype) ? fft::fft(Array(x)) : fft::rfft(Array(x))).to_host();
      EXPECT_LT(error_of_points(x, out), itemsize(real_dtype(dtype)) == 8 ? 2e-14 : 5e-7)
          << n << " " << dtype_name(dtype);
    }
}

void expect_near(const Array& a, const Array& b, double tolerance = 1e-3) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LT(max(absolute(a - b)).item<float>(), tolerance);
}

// Batches that fill all lanes, half of them, or only one; columns; and real lines.
TEST(Fft, BatchesAreTheirLines) {
  for (const int64_t count : {1, 2, 5, 16, 33})
    for (const int64_t n : {1, 2, 30, 34, 64, 101, 1000}) {
      SCOPED_TRACE(fmt::format("{} of {}", count, n));
      const Array x(noise(complex64, {count, n}));
      const Array rows = fft::fft(x);
      expect_near(swapaxes(rows, 0, 1), fft::fft(swapaxes(x, 0, 1), {.axis = 0}));
      const auto last = [&](const Array& y) { return index(y, {count - 1}); };
      expect_near(fft::fft(last(x)), last(rows));
      expect_near(fft::ifft(rows), x);
      const Array y = real(x), half = fft::rfft(y);
      expect_near(half, index(fft::fft(y), {Ellipsis, Slice(0, n / 2 + 1)}));
      expect_near(fft::irfft(half, {.n = n}), y);
    }
}

TEST(Fft, OfNothing) {
  const Array empty = zeros({3, 0}, complex64);
  EXPECT_EQ(fft::fft(empty).shape(), Shape({3, 0}));
  EXPECT_EQ(fft::irfft(empty).shape(), Shape({3, 0}));
  EXPECT_EQ(fft::irfft(ones({3, 1}, complex64)).shape(), Shape({3, 0}));
  EXPECT_EQ(fft::hfft(ones({3, 1}, complex64)).shape(), Shape({3, 0}));
  EXPECT_EQ(fft::rfft(zeros({0, 4})).shape(), Shape({0, 3}));
  EXPECT_EQ(fft::fft(zeros({0, 4}), {.n = 6, .axis = 0}).shape(), Shape({6, 4}));
  EXPECT_EQ(fft::fftn(Array(2.f)).dtype(), complex64);
  EXPECT_EQ(fft::fftn(ones({2, 3}), {.axes = Dims{}}).shape(), Shape({2, 3}));
}

// --- Transforms ---

TEST(Fft, DerivativesOfHigherOrder) {
  const X64 x64(true);
  const auto loss = [](const Array& x) {
    const Array z = fft::rfft(x);
    return sum(square(real(z)) * real(z)) + sum(square(fft::irfft(z * z, {.n = 5})));
  };
  const Array x(noise(float64, {5}));
  const Array curvature = hessian(loss)(x);
  const double step = 1e-5;
  for (int64_t i = 0; i < 5; ++i) {
    const Array at_i = astype(arange(5.0) == static_cast<double>(i), float64) * step;
    const Array slope = (grad(loss)(x + at_i) - grad(loss)(x - at_i)) / (2 * step);
    EXPECT_LT(max(absolute(index(curvature, {i}) - slope)).item<double>(), 1e-5);
  }
  const auto [y, tangent] = jvp(loss, std::tuple(x), std::tuple(ones({5}, float64)));
  EXPECT_NEAR(tangent.item<double>(), sum(grad(loss)(x)).item<double>(), 1e-8);
}

TEST(Fft, UnderVmapIsABatch) {
  const Array x(noise(complex64, {3, 4, 6}));
  expect_near(vmap([](const Array& v) { return fft::fft2(v); })(x), fft::fft2(x));
  expect_near(vmap([](const Array& v) { return fft::ifft(v, {.axis = 0}); }, {.in_axes = 1})(x),
              fft::ifft(swapaxes(x, 0, 1), {.axis = 1}));
}

TEST(Fft, ReadsAsStableHlo) {
  const std::string text = jit([](const Array& x) { return fft::irfft2(x); })
                               .lower(zeros({4, 8}, complex64))
                               .text("traced");
  EXPECT_THAT(text, HasSubstr("stablehlo.fft %arg0, type = IRFFT, length = [4, 14] : "
                              "(tensor<4x8xcomplex<f32>>) -> tensor<4x14xf32>"));
}

// --- Cut over eight devices ---

class SplitFft : public ::testing::Test {
 protected:
  void SetUp() override { initialize({.devices = "cpu:8"}); }
  void TearDown() override { initialize({.devices = "cpu:1"}); }

  static NamedSharding cut(int64_t rank, int64_t dim) {
    std::vector<DimSpec> dims(static_cast<size_t>(rank));
    dims[static_cast<size_t>(dim)] = "x";
    return NamedSharding(Mesh(devices(), {"x"}), PartitionSpec(dims));
  }
  // Compares f of an array that is sharded along `dim`, evenly or not.
  template <class F>
  static auto of_cut(F f, int64_t rank, int64_t dim) {
    return jit([=, sharding = cut(rank, dim)](const Array& x) {
      return f(with_sharding_constraint(x, sharding));
    });
  }
  static std::set<std::string> collectives(const Lowered& lowered) {
    std::set<std::string> out;
    for (const auto& c : lowered.collectives()) out.insert(c.name);
    return out;
  }
};

TEST_F(SplitFft, IsJaxs) {
  const X64 x64(true);
  size_t tested = 0;
  for (const Json& c : topic()["cases"]) {
    const DType dtype = dtype_from_name(c["dtype"].get<std::string>());
    if (itemsize(real_dtype(dtype)) != 8) continue;
    const Array x(operand(dtype, golden::dims(c["shape"])));
    for (int64_t d = 0; d < x.ndim(); ++d) {
      SCOPED_TRACE(c["name"].dump() + c["shape"].dump() + c["options"].dump() + std::to_string(d));
      const auto f = [&](const Array& v) { return call(c["name"], v, c["options"]); };
      expect_numbers(numbers(of_cut(f, x.ndim(), d)(x).to_host()), c["values"].get<Numbers>(),
                     1e-11);
      if (c["grad"].is_null()) continue;
      const auto loss = [&](const Array& v) { return loss_of(f(v)); };
      expect_numbers(numbers(grad(of_cut(loss, x.ndim(), d))(x).to_host()),
                     c["grad"].get<Numbers>(), 2e-11);
      ++tested;
    }
  }
  EXPECT_GE(tested, 40u);
}

// One line is sharded over all devices: there are three exchanges, also in the derivative and under
// vmap.
TEST_F(SplitFft, LongLinesAreNotGathered) {
  const auto square_sum = [](const Array& z) {
    return sum(is_complex(z.dtype()) ? square(lax::real(z)) + lax::real(z) * lax::imag(z)
                                     : square(z) * z);
  };
  for (const auto& [kind, transform] : std::vector<std::pair<std::string, Array (*)(const Array&)>>{
           {"fft", [](const Array& v) { return fft::fft(v); }},
           {"ifft", [](const Array& v) { return fft::ifft(v); }},
           {"rfft", [](const Array& v) { return fft::rfft(v); }},
           {"irfft", [](const Array& v) { return fft::irfft(v); }}}) {
    SCOPED_TRACE(kind);
    const int64_t n = kind == "irfft" ? 2049 : 4096;
    const Array line(noise(kind == "rfft" ? float32 : complex64, {n})),
        lines(noise(kind == "rfft" ? float32 : complex64, {3, n}));
    const auto loss = [=](const Array& v) { return square_sum(transform(v)); };
    const auto check = [&](auto f, const Array& x) {
      const auto on_eight = of_cut(f, x.ndim(), x.ndim() - 1);
      EXPECT_THAT(collectives(on_eight.lower(x)), Not(Contains("all_gather")));
      EXPECT_THAT(collectives(on_eight.lower(x)), Contains("all_to_all"));
      const Array one = f(x), eight = on_eight(x);
      const double scale = max(absolute(one)).template item<float>();
      expect_near(eight / scale, one / scale, 2e-6);
    };
    check(transform, line);
    check(transform, lines);
    check(grad(loss), line);
    check(vmap(transform), lines);
    check(vmap(grad(loss)), lines);
  }
}

TEST_F(SplitFft, InsideALoop) {
  const Array x(noise(complex64, {512}));
  const auto f = [](const Array& v) {
    return fori_loop(
        0, 3, [](const Array&, const Array& c) { return fft::fft(c) * 0.1f; }, v);
  };
  const auto on_eight = of_cut(f, 1, 0);
  EXPECT_THAT(collectives(on_eight.lower(x)), Not(Contains("all_gather")));
  expect_near(on_eight(x), f(x));
}

TEST_F(SplitFft, ExplainsWhatStaysGathered) {
  const Array x(noise(complex64, {40}));
  EXPECT_THAT(
      of_cut([](const Array& v) { return fft::fft(v); }, 1, 0).lower(x).explain(),
      HasSubstr("operand 0 of fft, which needs dimension 0 whole where no other can be sharded "
                "by 'x' instead, gathers complex64[40]"));
}

// --- Errors ---

TEST(Fft, Refuses) {
  const Array z = ones({3, 4}, complex64), x = ones({3, 4});
  const auto expect = [](const std::function<void()>& f, const char* message) {
    EXPECT_THAT(error_of(f), HasSubstr(message));
  };
  expect([&] { fft::fft(z, {.n = 0}); }, "[fft] expected lengths of 1 or more, got (0,)");
  expect([&] { fft::irfft(z, {.n = -1}); }, "[irfft] expected lengths of 1 or more, got (-1,)");
  expect([&] { fft::fft(z, {.axis = 2}); }, "[fft] ");
  expect([&] { fft::fft(Array(1.f)); }, "[fft] ");
  expect([&] { fft::hfft(Array(1.f)); }, "[hfft] ");
  expect([&] { fft::rfft(z); },
         "[rfft] expected real numbers, got complex64[3,4]; use fft of complex ones");
  expect([&] { fft::ihfft(z); },
         "[ihfft] expected real numbers, got complex64[3,4]; use ifft of complex ones");
  expect(
      [&] {
        fft::rfft(zeros({3, 0}));
      },
      "[rfft] expected an axis of one element or more, got float32[3,0]; pad it with n");
  expect([&] { fft::rfft(astype(x, bfloat16)); },
         "[rfft] expected float32 or float64 for RFFT (C3), got bfloat16[3,4]; convert it");
  expect([&] { fft::fftn(z, {.axes = {0, 0}}); }, "[fftn] ");
  expect([&] { fft::fftn(z, {.axes = {0, -2}}); }, "[fftn] ");
  expect(
      [&] {
        fft::fftn(z, {.s = Dims{2}, .axes = {0, 1}});
      },
      "[fftn] expected one length for each of 2 axes, got (2,)");
  expect(
      [&] {
        fft::fftn(z, {.s = Dims{2, 2, 2}});
      },
      "[fftn] expected up to 2 lengths, one for each axis of complex64[3,4], got (2, 2, 2)");
  expect([&] { fft::fft2(z, {.axes = {0}}); },
         "[fft2] expected two axes, got (0,); use fftn for others");
  expect([&] { fft::fft2(ones({3})); }, "[fft2] ");
  expect([&] { fft::fftfreq(-1); }, "[fftfreq] expected n >= 0, got -1");
}

TEST(LaxFft, Refuses) {
  const Array z = ones({3, 4}, complex64);
  const auto expect = [](const std::function<void()>& f, const char* message) {
    EXPECT_THAT(error_of(f), HasSubstr(message));
  };
  expect([&] { lax::fft(z, FftType::kFft, {5}); },
         "[fft] expected the last dimensions to be of lengths (5,) (C4), got complex64[3,4]");
  expect(
      [&] {
        lax::fft(z, FftType::kFft, {1, 3, 4});
      },
      "[fft] expected an array of rank 3 or more for lengths (1, 3, 4) (C1), got");
  expect(
      [&] {
        lax::fft(ones({1, 1, 3, 4}), FftType::kFft, {1, 1, 3, 4});
      },
      "[fft] expected one to three lengths (C1), got (1, 1, 3, 4)");
  expect([&] { lax::fft(z, FftType::kIrfft, {7 + 1}); },
         "[fft] expected 5 points in the last dimension for length 8 of IRFFT (C5), got");
  expect([&] { lax::fft(z, FftType::kRfft, {4}); },
         "[fft] expected float32 or float64 for RFFT (C3), got complex64[3,4]");
  expect([&] { lax::fft(z, FftType::kIrfft, {-1}); }, "[fft] expected lengths >= 0, got (-1,)");
  EXPECT_EQ(lax::fft(ones({3}, int32), FftType::kFft, {}).dtype(), complex64);
}

}  // namespace
}  // namespace tessera::fft_test
