// Users open both namespaces: what tessera.h and the headers of scipy declare must be usable next
// to the whole standard library. Names that JAX and the standard library use for different things
// (array, any, map, ...) must be qualified, as docs/arrays.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include "tessera/scipy/cluster/vq.h"
#include "tessera/scipy/fft.h"
#include "tessera/scipy/integrate.h"
#include "tessera/scipy/interpolate.h"
#include "tessera/scipy/linalg.h"
#include "tessera/scipy/ndimage.h"
#include "tessera/scipy/ode.h"
#include "tessera/scipy/optimize.h"
#include "tessera/scipy/signal.h"
#include "tessera/scipy/sparse/linalg.h"
#include "tessera/scipy/spatial/transform.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/stats.h"
#include "tessera/scipy/stats/gaussian_kde.h"

// All of the standard library, as many programs include it.
#include <bits/stdc++.h>

// At file scope, as in a user's program.
using namespace std;
using namespace tessera;

// Names inside the compiler that a user's program may use for its own types.
struct Function {
  int id = 1;
};
struct Type : Function {};
struct Op : Function {};
struct Trace : Function {};
struct Factor : Function {};
struct Reduction : Function {};
int describe(const Function& f) { return f.id; }
int verify(int x) { return x; }

namespace {

using ::testing::ElementsAre;

struct Model {
  Array w, b;
};

Array loss(const Model& m, const Array& x) { return mean(square(tanh(matmul(x, m.w)) + m.b)); }

TEST(UsingStd, ATrainingStepReadsAsItDoesWithout) {
  const Model m{full({3, 2}, 0.5), zeros({2})};
  const auto [value, g] = jit(value_and_grad(loss))(m, ones({4, 3}));
  EXPECT_NEAR(value.item<float>(), pow(tanh(1.5f), 2), 1e-6);
  EXPECT_EQ(g.w.shape(), (Shape{3, 2}));
}

TEST(UsingStd, FunctionsOfBothAreToldApartByTheirArguments) {
  const Array x = arange(4.0f);
  EXPECT_EQ(max(x).item<float>(), max(3.0f, 2.0f));
  EXPECT_EQ(abs(-x).to_host().data<float>()[2], abs(-2.0f));
  EXPECT_EQ(exp(x).shape(), cos(x).shape());
  EXPECT_EQ(sort(-x).to_host().data<float>()[0], -3.0f);
  vector<int> v{3, 1, 2};
  sort(v.begin(), v.end());
  transform(v.begin(), v.end(), v.begin(), [](int i) { return 2 * i; });
  EXPECT_THAT(v, ElementsAre(2, 4, 6));
}

TEST(UsingStd, StandardCallablesAreBound) {
  const auto twice = bind(multiplies<int>(), placeholders::_1, 2);
  EXPECT_EQ(twice(4), 8);
  const function<Array(const Array&)> f =
      bind([](const Array& x, float by) { return x * by; }, placeholders::_1, 3.0f);
  EXPECT_EQ(jit(f)(ones({2})).to_host().data<float>()[1], 3.0f);
}

TEST(UsingStd, TheCompilersNamesAreTheUsers) {
  EXPECT_EQ(describe(Type()) + describe(Op()) + describe(Trace()), 3);
  EXPECT_EQ(describe(Factor()) + describe(Reduction()) + verify(1), 3);
}

TEST(UsingStd, ModulesAreNamedAsWithout) {
  const Array x = full({2, 2}, 0.5);
  EXPECT_NEAR(scipy::special::gamma(Array(5.0)).item<float>(), tgamma(5.0f), 1e-4);
  EXPECT_EQ(scipy::stats::norm::cdf(Array(0.0)).item<float>(), 0.5f);
  EXPECT_EQ(linalg::norm(x).item<float>(), 1);
  EXPECT_EQ(relu(-x).shape(), x.shape());
  EXPECT_EQ(random::normal(random::key(0), {3}).shape(), (Shape{3}));
  EXPECT_EQ((1i * x).dtype(), complex64);
  EXPECT_EQ(P("x", None).rank(), 2);
  const auto update = optim::sgd(0.1);
  EXPECT_EQ(tree::num_leaves(update.init(x)), tree::num_leaves(optim::sgd(0.1).init(x)));
  EXPECT_EQ(get<0>(scan([](const Array& c, const Array& v) { return pair(c + sum(v), None); },
                        Array(0.f), x))
                .item<float>(),
            2);
}

TEST(UsingStd, NamesOfBothNeedTheirs) {
  const std::array<int, 2> two{1, 2};
  const std::map<string, Array> tree{{"x", tessera::array({1, 2})}};
  EXPECT_EQ(two.size(), static_cast<size_t>(tree.at("x").size()));
  EXPECT_TRUE(tessera::any(tree.at("x") == 2).item<bool>());
  EXPECT_EQ(tessera::std(tree.at("x")).item<float>(), 0.5f);
}

}  // namespace
