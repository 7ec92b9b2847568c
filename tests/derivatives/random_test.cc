// Jax.random, by the parameters of the distributions, and jax.nn.initializers: values and
// derivatives as in JAX.
#include "tessera/random/random.h"

#include "derivatives.h"
#include "tessera/nn/initializers.h"
#include "tessera/numpy/linear.h"
#include "tessera/random/distributions.h"

namespace tessera::derivatives_random_test {
namespace {

using namespace derivatives_test;

const std::vector<Row> kRows = {
    CALL("jax.random.key_data", random::key_data(random::key(3))),
    CALL("jax.random.key", random::key_data(random::key(3))),
    CALL("jax.random.PRNGKey", random::key_data(random::PRNGKey(3))),
    CALL("jax.random.clone", random::key_data(random::clone(random::key(3)))),
    CALL("jax.random.fold_in", random::key_data(random::fold_in(random::key(3), 5))),
    CALL("jax.random.split", random::key_data(random::split(random::key(3), 3))),
    CALL("jax.random.wrap_key_data", random::uniform(random::wrap_key_data(x[0]), {3})),
    CALL("jax.random.ball", random::ball(random::key(3), 3, 2, {2})),
    CALL("jax.random.bernoulli", random::bernoulli(random::key(3), x[0])),
    CALL("jax.random.beta", random::beta(random::key(3), x[0], x[1])),
    CALL("jax.random.binomial", random::binomial(random::key(3), x[0], x[1])),
    CALL("jax.random.bits", random::bits(random::key(3), {3}, uint32)),
    CALL("jax.random.categorical", random::categorical(random::key(3), x[0])),
    CALL("jax.random.cauchy", random::cauchy(random::key(3), {4})),
    CALL("jax.random.chisquare", random::chisquare(random::key(3), x[0])),
    CALL("jax.random.choice", random::choice(random::key(3), x[0], {4})),
    CALL("jax.random.dirichlet", random::dirichlet(random::key(3), x[0])),
    CALL("jax.random.double_sided_maxwell",
         random::double_sided_maxwell(random::key(3), x[0], x[1], {6})),
    CALL("jax.random.exponential", random::exponential(random::key(3), {4})),
    CALL("jax.random.f", random::f(random::key(3), x[0], x[1])),
    CALL("jax.random.gamma", random::gamma(random::key(3), x[0])),
    CALL("jax.random.loggamma", random::loggamma(random::key(3), x[0])),
    CALL("jax.random.generalized_normal", random::generalized_normal(random::key(3), 1.5, {4})),
    CALL("jax.random.geometric", random::geometric(random::key(3), x[0])),
    CALL("jax.random.gumbel", random::gumbel(random::key(3), {4})),
    CALL("jax.random.laplace", random::laplace(random::key(3), {4})),
    CALL("jax.random.logistic", random::logistic(random::key(3), {4})),
    CALL("jax.random.lognormal", random::lognormal(random::key(3), x[0], {{6}})),
    CALL("jax.random.maxwell", random::maxwell(random::key(3), {4})),
    CALL("jax.random.multinomial", random::multinomial(random::key(3), x[0], x[1])),
    CALL("jax.random.multivariate_normal",
         random::multivariate_normal(random::key(3), x[0], matmul(x[1], matrix_transpose(x[1])))),
    CALL("jax.random.normal", random::normal(random::key(3), {4})),
    CALL("jax.random.orthogonal", random::orthogonal(random::key(3), 3)),
    CALL("jax.random.pareto", random::pareto(random::key(3), x[0])),
    CALL("jax.random.permutation", random::permutation(random::key(3), x[0])),
    CALL("jax.random.poisson", random::poisson(random::key(3), x[0])),
    CALL("jax.random.rademacher", random::rademacher(random::key(3), {4}, float64)),
    CALL("jax.random.randint", random::randint(random::key(3), {4}, 0, 10, int32)),
    CALL("jax.random.rayleigh", random::rayleigh(random::key(3), x[0])),
    CALL("jax.random.t", random::t(random::key(3), x[0])),
    CALL("jax.random.triangular", random::triangular(random::key(3), x[0], x[1], x[2])),
    CALL("jax.random.truncated_normal", random::truncated_normal(random::key(3), x[0], x[1])),
    CALL("jax.random.uniform", random::uniform(random::key(3), {6}, float64, x[0], x[1])),
    CALL("jax.random.wald", random::wald(random::key(3), x[0])),
    CALL("jax.random.weibull_min", random::weibull_min(random::key(3), x[0], x[1], {6})),
    CALL("jax.nn.initializers.zeros", initializers::zeros()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.ones", initializers::ones()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.constant", initializers::constant(0.7)(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.normal", initializers::normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.uniform", initializers::uniform()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.truncated_normal",
         initializers::truncated_normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.lecun_normal", initializers::lecun_normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.lecun_uniform",
         initializers::lecun_uniform()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.glorot_normal",
         initializers::glorot_normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.glorot_uniform",
         initializers::glorot_uniform()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.he_normal", initializers::he_normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.he_uniform", initializers::he_uniform()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.xavier_normal",
         initializers::xavier_normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.xavier_uniform",
         initializers::xavier_uniform()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.kaiming_normal",
         initializers::kaiming_normal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.kaiming_uniform",
         initializers::kaiming_uniform()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.orthogonal", initializers::orthogonal()(random::key(3), {3, 4})),
    CALL("jax.nn.initializers.delta_orthogonal",
         initializers::delta_orthogonal()(random::key(3), {3, 2, 4})),
    CALL("jax.nn.initializers.variance_scaling",
         initializers::variance_scaling(2, initializers::Fan::kAverage,
                                        initializers::Distribution::kNormal)(random::key(3),
                                                                             {3, 4})),
};

TEST(Derivatives, Random) { check_section("random", kRows); }

}  // namespace
}  // namespace tessera::derivatives_random_test
