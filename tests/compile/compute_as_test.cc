// compute_as: results that do not depend, bit for bit, on the number of devices.
#include <map>

#include "tessera/base/namespaces.h"
#include "tests/compile/devices.h"

namespace tessera::compute_as_test {

using namespace fusion;

namespace {

using testing::HasSubstr;

class ComputeAs : public DevicesTest {};

Mesh line(int64_t n) {
  std::vector<Device> some(devices().begin(), devices().begin() + n);
  return Mesh(std::move(some), {"x"});
}

struct Layer {
  Array w, b;
};
using Model = std::map<std::string, Layer>;

// With these widths and this batch, any other order of summation changes the rounding.
Array loss_of(const Model& model, const Array& x, const Array& y) {
  const Array h = tanh(matmul(x, model.at("in").w) + model.at("in").b);
  const Array z = matmul(h, model.at("out").w) + model.at("out").b;
  return -mean(sum(y * log_softmax(z, -1), {.axis = -1}));
}

// Returns all parameters after ten steps on `n` devices.
template <class Step>
std::vector<float> train(const Step& step, int64_t n) {
  const Mesh mesh = line(n);
  const NamedSharding data(mesh, P("x")), all(mesh, P());
  auto keys = random::split<4>(random::key(0));
  Model model{{"in", {random::normal(keys[0], {37, 61}) * 0.3, zeros({61})}},
              {"out", {random::normal(keys[1], {61, 10}) * 0.3, zeros({10})}}};
  const Array x = device_put(random::normal(keys[2], {208, 37}), data);
  const Array y = device_put(one_hot(random::randint(keys[3], {208}, 0, 10), 10), data);
  tree::for_each_leaf(model, [&](Array& leaf) { leaf = device_put(leaf, all); });
  for (int i = 0; i < 10; ++i) model = step(model, x, y);
  std::vector<float> out;
  tree::for_each_leaf(model, [&](const Array& leaf) {
    EXPECT_EQ(leaf.sharding().named(), all);
    const std::vector<float> v = values(leaf);
    out.insert(out.end(), v.begin(), v.end());
  });
  return out;
}

Model descend(const Model& model, const Array& x, const Array& y) {
  const auto [loss, grads] = value_and_grad(loss_of)(model, x, y);
  return tree::map([](const Array& p, const Array& g) { return p - 0.5 * g; }, model, grads);
}

TEST_F(ComputeAs, GivesTheSameBitsOnEveryNumberOfDevices) {
  const auto step = jit(descend, {.compute_as = {{"x", 8}}});
  const std::vector<float> one = train(step, 1);
  for (int64_t n : {2, 4, 8}) EXPECT_EQ(train(step, n), one) << n << " devices";
  // Without compute_as the results are only close.
  const std::vector<float> plain = train(jit(descend), 1);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(plain[i], one[i], 1e-5);
}

// Sharded results, constraints, loops, two axes one of which is refined, and extents that 8 does
// not divide.
TEST_F(ComputeAs, FollowsShardingsAndLoops) {
  const auto run = [&](int64_t n) {
    std::vector<Device> some(devices().begin(), devices().begin() + 2 * n);
    const Mesh mesh(DeviceMesh{{n, 2}, some}, {"x", "y"});
    const NamedSharding rows(mesh, P("x", "y"));
    const auto f = jit(
        [&](const Array& a) {
          auto [carry, sums] = scan(
              [&](const Array& c, const Array&) {
                const Array next =
                    with_sharding_constraint(sin(c) + mean(c, {.axis = 0, .keepdims = true}), rows);
                return std::pair(next, sum(next));
              },
              a, arange(5));
          return std::tuple(carry, sums, sum(carry, {.axis = 0}));
        },
        {.compute_as = {{"x", 8}}});
    const Array a = device_put(random::normal(random::key(1), {22, 6}), rows);
    auto [carry, sums, total] = f(a);
    EXPECT_EQ(carry.sharding().named(), rows);
    EXPECT_EQ(total.sharding().named().mesh(), mesh);
    std::vector<float> out = values(carry);
    for (const Array& x : {sums, total})
      for (float v : values(x)) out.push_back(v);
    return out;
  };
  const std::vector<float> one = run(1);
  EXPECT_EQ(run(2), one);
  EXPECT_EQ(run(4), one);
}

// The reported program is the one that runs.
TEST_F(ComputeAs, IsPricedAsItRuns) {
  const Array x = device_put(ones({64, 4}), NamedSharding(line(1), P("x")));
  const auto f = [](const Array& a) { return sum(a); };
  EXPECT_TRUE(jit(f).lower(x).collectives().empty());
  const Lowered lowered = jit(f, {.compute_as = {{"x", 8}}}).lower(x);
  ASSERT_EQ(lowered.collectives().size(), 1u);
  EXPECT_EQ(lowered.collectives()[0].group_size, 8);
  EXPECT_EQ(lowered.compile()->output_sharding(0).named().mesh(), line(1));
}

TEST_F(ComputeAs, RefusesWhatItCannotCut) {
  const Array x = device_put(ones({16}), NamedSharding(line(4), P("x")));
  const auto f = [](const Array& a) { return sum(a); };
  EXPECT_THAT(error_of([&] {
                jit(f, {.compute_as = {{"z", 8}}})(x);
              }),
              HasSubstr("[jit] expected compute_as to name axes of Mesh('x': 4), got 'z'"));
  EXPECT_THAT(error_of([&] {
                jit(f, {.compute_as = {{"x", 6}}})(x);
              }),
              HasSubstr("[jit] expected compute_as to give axis 'x' a multiple of its 4 devices, "
                        "got 6"));
  EXPECT_THAT(error_of([&] {
                jit(f, {.compute_as = {{"x", 4}, {"x", 8}}})(x);
              }),
              HasSubstr("[jit] expected compute_as to name each axis once, got 'x' with 4 and with "
                        "8; keep one of them"));
  EXPECT_THAT(error_of([&] {
                jit(f, {.compute_as = {{"x", 8}, {"x", 8}}}).lower(x);
              }),
              HasSubstr("[jit] expected compute_as to name each axis once"));
  EXPECT_THAT(error_of([&] {
                jit(f, {.compute_as = {{"x", 8}}})(ones({16}));
              }),
              HasSubstr("expected compute_as to name axes of"));
  const auto manual = shard_map([](const Array& a) { return psum(sum(a), "x"); },
                                {.mesh = line(4), .in_specs = {P("x")}, .out_specs = {P()}});
  EXPECT_THAT(error_of([&] {
                jit(manual, {.compute_as = {{"x", 8}}})(x);
              }),
              HasSubstr("[jit] expected a program without shard_map where compute_as is given"));
}

}  // namespace
}  // namespace tessera::compute_as_test
