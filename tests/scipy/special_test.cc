// scipy/special.h against exact values and derivatives, and at the ends of domains against JAX.
#include "tessera/scipy/special.h"

#include <gmock/gmock.h>

#include "../numpy/run.h"
#include "golden.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/promotion.h"
#include "tests/errors.h"

namespace tessera::test::special_test {
namespace {

namespace special = scipy::special;

#define ONE(name) \
  [](const Arrays& a) -> Arrays { return {special::name(a[0])}; }
#define TWO(name) \
  [](const Arrays& a) -> Arrays { return {special::name(a[0], a[1])}; }

Arrays both(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

Array as_integers(const Array& x) { return as_dtype(x, int64); }

const ComparedFunctions& functions() {
  static const auto& table = *new ComparedFunctions{
      {"gamma", {ONE(gamma)}},
      {"gammaln", {ONE(gammaln)}},
      {"gamma_complex", {ONE(gamma)}},
      {"loggamma_complex", {ONE(loggamma)}},
      {"loggamma", {ONE(loggamma)}},
      {"gammasgn", {ONE(gammasgn)}},
      {"digamma", {ONE(digamma)}},
      {"polygamma",
       {[](const Arrays& a) -> Arrays { return {special::polygamma(as_integers(a[0]), a[1])}; }}},
      {"zeta", {TWO(zeta)}},
      {"multigammaln", {[](const Arrays& a) -> Arrays { return {special::multigammaln(a[0], 4)}; }}},
      {"factorial", {ONE(factorial)}},
      {"poch", {TWO(poch)}},
      {"comb", {TWO(comb)}},
      {"beta", {TWO(beta)}},
      {"betaln", {TWO(betaln)}},
      {"gammainc", {TWO(gammainc)}},
      {"gammaincc", {TWO(gammaincc)}},
      {"betainc",
       {[](const Arrays& a) -> Arrays { return {special::betainc(a[0], a[1], a[2])}; }}},
      {"erf", {ONE(erf)}},
      {"erfc", {ONE(erfc)}},
      {"erfinv", {ONE(erfinv)}},
      {"erfcinv", {ONE(erfcinv)}},
      {"ndtr", {ONE(ndtr)}},
      {"ndtri", {ONE(ndtri)}},
      {"log_ndtr", {ONE(log_ndtr)}},
      {"erfcx", {ONE(erfcx)}},
      {"dawsn", {ONE(dawsn)}},
      {"wofz", {ONE(wofz)}},
      {"erfcx_complex", {ONE(erfcx)}},
      {"owens_t", {TWO(owens_t)}},
      {"expit", {ONE(expit)}},
      {"logit", {ONE(logit)}},
      {"xlogy", {TWO(xlogy)}},
      {"xlog1py", {TWO(xlog1py)}},
      {"entr", {ONE(entr)}},
      {"rel_entr", {TWO(rel_entr)}},
      {"kl_div", {TWO(kl_div)}},
      {"boxcox", {TWO(boxcox)}},
      {"boxcox1p", {TWO(boxcox1p)}},
      {"i0", {ONE(i0)}},
      {"i0e", {ONE(i0e)}},
      {"i1", {ONE(i1)}},
      {"i1e", {ONE(i1e)}},
      {"bessel_jn",
       {[](const Arrays& a) {
         const Array all = special::bessel_jn(a[0], {.v = 4, .n_iter = 60});
         Arrays out;
         for (int k = 0; k < 5; ++k) out.push_back(index(all, {k}));
         return out;
       }}},
      {"expi", {ONE(expi)}},
      {"exp1", {ONE(exp1)}},
      {"expn", {TWO(expn)}},
      {"sici", {[](const Arrays& a) { return both(special::sici(a[0])); }}},
      {"fresnel", {[](const Arrays& a) { return both(special::fresnel(a[0])); }}},
      {"spence", {ONE(spence)}},
      {"hyp1f1",
       {[](const Arrays& a) -> Arrays { return {special::hyp1f1(a[0], a[1], a[2])}; }}},
      {"hyp2f1",
       {[](const Arrays& a) -> Arrays { return {special::hyp2f1(a[0], a[1], a[2], a[3])}; }}},
      {"sph_harm_y",
       {[](const Arrays& a) -> Arrays {
         return {special::sph_harm_y(as_integers(a[0]), as_integers(a[1]), a[2], a[3])};
       }}},
      {"bernoulli", {[](const Arrays&) -> Arrays { return {special::bernoulli(39)}; }}},
  };
  return table;
}

const golden::Topic& topic() {
  static const auto& topic = *new golden::Topic("scipy_special");
  return topic;
}

class SpecialTest : public ::testing::Test {
 private:
  X64 x64_{true};
};

TEST_F(SpecialTest, ValuesAndDerivatives) { expect_points(topic(), functions()); }

TEST_F(SpecialTest, EndsOfDomains) { expect_edges(topic(), functions()); }

}  // namespace
}  // namespace tessera::test::special_test
