// Compares scipy/stats.h with JAX or, where JAX is inexact, with mpmath.
#include "tessera/scipy/stats.h"

#include <gmock/gmock.h>

#include "../numpy/run.h"
#include "golden.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/indexing.h"
#include "tests/errors.h"

namespace tessera::test::stats_test {
namespace {

namespace stats = scipy::stats;

const golden::Topic& topic() {
  static const auto& topic = *new golden::Topic("scipy_stats");
  return topic;
}

class StatsTest : public ::testing::Test {
 private:
  X64 x64_{true};
};

// Functions of (x, loc, scale), of (x, shape, loc, scale), and so on, by their full names.
#define WITH(module, function, ...)                                                    \
  {                                                                                    \
#module "." #function, {                                                           \
      [](const Arrays& a) -> Arrays { return {stats::module::function(__VA_ARGS__)}; } \
    }                                                                                  \
  }
#define F1(m, f) WITH(m, f, a[0])
#define F2(m, f) WITH(m, f, a[0], a[1])
#define F3(m, f) WITH(m, f, a[0], a[1], a[2])
#define F4(m, f) WITH(m, f, a[0], a[1], a[2], a[3])
#define F5(m, f) WITH(m, f, a[0], a[1], a[2], a[3], a[4])
#define SIX(F, m) F(m, logpdf), F(m, pdf), F(m, cdf), F(m, logcdf), F(m, sf), F(m, logsf)

const ComparedFunctions& functions() {
  static const auto& table = *new ComparedFunctions{
      SIX(F3, cauchy),      F3(cauchy, ppf),     F3(cauchy, isf),        SIX(F3, gumbel_l),
      F3(gumbel_l, ppf),    SIX(F3, gumbel_r),   F3(gumbel_r, ppf),      F3(laplace, logpdf),
      F3(laplace, pdf),     F3(laplace, cdf),    F3(logistic, logpdf),   F3(logistic, pdf),
      F3(logistic, cdf),    F3(logistic, sf),    F3(logistic, ppf),      F3(logistic, isf),
      SIX(F3, norm),        F3(norm, ppf),       F3(norm, isf),          SIX(F3, expon),
      F3(expon, ppf),       F3(uniform, logpdf), F3(uniform, pdf),       F3(uniform, cdf),
      F3(uniform, ppf),     SIX(F5, beta),       SIX(F4, gamma),         SIX(F4, chi2),
      SIX(F4, pareto),      F4(pareto, ppf),     SIX(F5, truncnorm),     F2(gennorm, logpdf),
      F2(gennorm, pdf),     F2(gennorm, cdf),    F4(t, logpdf),          F4(t, pdf),
      F2(vonmises, logpdf), F2(vonmises, pdf),   F2(wrapcauchy, logpdf), F2(wrapcauchy, pdf),
      F2(bernoulli, cdf),   F2(bernoulli, ppf),  F5(betabinom, logpmf),  F5(betabinom, pmf),
      F4(binom, logpmf),    F4(binom, pmf),      F3(geom, logpmf),       F3(geom, pmf),
      F4(nbinom, logpmf),   F4(nbinom, pmf),     F3(bernoulli, logpmf),  F3(bernoulli, pmf),
      F3(poisson, logpmf),  F3(poisson, pmf),    F3(poisson, cdf),       F1(poisson, entropy)};
  return table;
}

// Returns the same functions, but the last argument may be missing and then has its default.
ComparedFunctions with_defaults() {
  ComparedFunctions out = functions();
  for (auto& [name, compared] : out) {
    compared.value = compared.slope = 1e-11;
    compared.scale = 1e-2;
  }
  const ComparedFunctions shorter{F2(bernoulli, logpmf), F2(bernoulli, pmf),  F4(betabinom, logpmf),
                                  F4(betabinom, pmf),    F3(binom, logpmf),   F3(binom, pmf),
                                  F2(geom, logpmf),      F2(geom, pmf),       F3(nbinom, logpmf),
                                  F3(nbinom, pmf),       F2(poisson, logpmf), F2(poisson, pmf),
                                  F2(poisson, cdf)};
  for (const auto& [name, compared] : shorter) out[name] = compared;
  return out;
}

TEST_F(StatsTest, ValuesAndDerivatives) {
  ComparedFunctions all = functions();
  for (auto& [name, compared] : all) {
    compared.value = 1e-12;
    compared.slope = 1e-11;
    compared.scale = 1e-2;
  }
  expect_points(topic(), all);
}

TEST_F(StatsTest, EndsOfDomains) { expect_edges(topic(), with_defaults()); }

stats::RankMethod rank_method(const std::string& name) {
  if (name == "average") return stats::RankMethod::kAverage;
  if (name == "min") return stats::RankMethod::kMin;
  if (name == "max") return stats::RankMethod::kMax;
  return name == "dense" ? stats::RankMethod::kDense : stats::RankMethod::kOrdinal;
}

OrNone<int64_t> axis_of(const std::string& name) {
  if (name == "None") return None;
  return int64_t{std::stoi(name)};
}

Arrays kde_results(const std::string& name, const Arrays& a) {
  if (name == "one") {
    const stats::gaussian_kde kde(a[0]);
    return {kde.integrate_box_1d(a[1], a[2]), kde.pdf(index(a[0], {Slice(None, 4)}))};
  }
  if (name == "resample") return {stats::gaussian_kde(a[0]).resample(random::key(3), {6})};
  stats::GaussianKdeOptions options{.weights = a[1]};
  if (name == "silverman") options.bw_method = stats::Bandwidth::kSilverman;
  if (name == "factor") options.factor = Array(0.4);
  const stats::gaussian_kde kde(a[0], options);
  const stats::gaussian_kde other(index(a[0], {Slice(), Slice(None, 9)}) + 0.3);
  return {kde.neff,
          kde.covariance,
          kde.inv_cov,
          kde.evaluate(a[2]),
          kde.logpdf(a[2]),
          kde.integrate_gaussian(full({2}, 0.2), 0.5 * eye(2)),
          kde.integrate_kde(other)};
}

// Returns the results of a call of the golden data. Its name has options after dots.
Arrays results_of(const std::string& name, const Arrays& a) {
  const size_t dot = name.find('.'), second = name.find('.', dot + 1);
  const std::string module = name.substr(0, dot), rest = name.substr(dot + 1);
  const std::string first = name.substr(dot + 1, second - dot - 1);
  const std::string last = second == std::string::npos ? "" : name.substr(second + 1);
  if (name == "dirichlet.logpdf") return {stats::dirichlet::logpdf(a[0], a[1])};
  if (name == "dirichlet.pdf") return {stats::dirichlet::pdf(a[0], a[1])};
  if (name == "multinomial.logpmf") return {stats::multinomial::logpmf(a[0], a[1], a[2])};
  if (name == "multinomial.pmf") return {stats::multinomial::pmf(a[0], a[1], a[2])};
  if (name == "multivariate_normal.logpdf")
    return {stats::multivariate_normal::logpdf(a[0], a[1], a[2])};
  if (name == "multivariate_normal.pdf") return {stats::multivariate_normal::pdf(a[0], a[1], a[2])};
  if (module == "mode") {
    const stats::ModeResult out =
        stats::mode(a[0], {.axis = axis_of(first), .keepdims = last == "True"});
    return {out.mode, out.count};
  }
  if (module == "rankdata")
    return {stats::rankdata(a[0], rank_method(first), {.axis = axis_of(last)})};
  if (name == "sem.omit") return {stats::sem(a[0], {.nan_policy = stats::NanPolicy::kOmit})};
  if (module == "sem") return {stats::sem(a[0], {.axis = axis_of(first)})};
  if (module == "kde") return kde_results(rest, a);
  ADD_FAILURE() << name;
  return {};
}

TEST_F(StatsTest, Calls) {
  for (const golden::Json& c : topic()["calls"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const Arrays got = results_of(name, as_arrays(topic().arrays(c["arguments"])));
    ASSERT_EQ(got.size(), c["values"].size());
    for (size_t k = 0; k < got.size(); ++k)
      expect_close(got[k].to_host(), topic().array(c["values"][k]), 1e-11, 1e-12);
  }
}

TEST_F(StatsTest, GradientOfALikelihood) {
  // The likelihood of the location has no slope at the mean of the samples.
  const Array x = array({0.5, 1.0, 4.5});
  const auto likelihood = [&](const Array& loc) { return sum(stats::norm::logpdf(x, loc, 2.0)); };
  EXPECT_NEAR(grad(likelihood)(Array(2.0)).item<double>(), 0, 1e-15);
  EXPECT_NEAR(grad(likelihood)(Array(1.0)).item<double>(), 0.75, 1e-15);
}

TEST_F(StatsTest, Errors) {
  const Array complex = Array(Literal(complex64, {2})), x = ones({3});
  expect_error([&] { stats::norm::logpdf(complex); }, "[norm.logpdf] expected real arrays");
  expect_error(
      [&] {
        stats::dirichlet::logpdf(x, ones({2, 2}));
      },
      "[dirichlet.logpdf] expected a vector alpha");
  expect_error([&] { stats::dirichlet::logpdf(x, ones({5})); },
               "[dirichlet.logpdf] expected 5 or 4 components along the first axis");
  expect_error([&] { stats::multinomial::logpmf(x, 3, x); },
               "[multinomial.logpmf] expected counts x and n of integers");
  expect_error(
      [&] {
        stats::multivariate_normal::logpdf(x, x, ones({2, 2}));
      },
      "[multivariate_normal.logpdf] expected a covariance [..., 3, 3]");
  expect_error([&] { stats::mode(complex); }, "[stats.mode] expected real arrays");
  expect_error([&] { stats::rankdata(complex); }, "[stats.rankdata] expected real arrays");
  expect_error([&] { stats::sem(complex); }, "[stats.sem] expected real arrays");
  expect_error([&] { stats::gaussian_kde(ones({1})); }, "[gaussian_kde] expected several samples");
  expect_error([&] { stats::gaussian_kde(x, {.weights = ones({2})}); },
               "[gaussian_kde] expected 3 weights");
  expect_error([&] { stats::gaussian_kde(x, {.factor = x}); },
               "[gaussian_kde] expected a scalar factor");
  const stats::gaussian_kde kde(array({{0.1, 0.7, 0.3, 0.2}, {0.4, 0.2, 0.9, 0.5}}));
  expect_error([&] { kde.pdf(ones({3, 2})); }, "[gaussian_kde] expected points [2, m]");
  expect_error([&] { kde.integrate_box_1d(0.0, 1.0); },
               "[gaussian_kde] expected samples of one dimension");
  expect_error(
      [&] {
        kde.integrate_gaussian(x, ones({3, 3}));
      },
      "[gaussian_kde] expected a mean [2]");
  const stats::gaussian_kde line(array({0.1, 0.7, 0.3}));
  expect_error([&] { kde.integrate_kde(line); },
               "[gaussian_kde] expected two densities of one dimension");
  expect_error([&] { line.integrate_box_1d(x, 1.0); }, "[gaussian_kde] expected scalar limits");
}

TEST_F(StatsTest, NothingIsNoMode) {
  const stats::ModeResult out = stats::mode(zeros({0}));
  EXPECT_TRUE(std::isnan(out.mode.item<double>()));
  EXPECT_EQ(out.count.item<double>(), 0);
}

}  // namespace
}  // namespace tessera::test::stats_test
