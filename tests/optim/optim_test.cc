// Compares ten steps of every transformation with optax's: golden/make_optim.py.
#include "tessera/optim/optim.h"

#include "../errors.h"
#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/compile/control_flow.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/ir/format.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"

namespace tessera::optim_test {
namespace {

using tessera::test::error_of;
using tessera::test::expect_close;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Property;

struct Params {
  Array a, b, c;
};

struct Data {
  const golden::Topic topic{"optim"};

  Params params() const { return tree_of(topic["params"]); }
  Params gradients(int step) const {
    return tree::map([&](const Array& x) { return index_in_dim(x, step, 0, false); },
                     tree_of(topic["grads"]));
  }
  const golden::Json& trace(const std::string& name) const {
    for (const golden::Json& c : topic["cases"])
      if (c["name"] == name) return c["trace"];
    TESSERA_CHECK(false, "no case {}", name);
  }
  Params tree_of(const golden::Json& leaves) const {
    const std::vector<Literal> x = topic.arrays(leaves);
    return {Array(x[0]), Array(x[1]), Array(x[2])};
  }
};
const Data& data() {
  static const Data out;
  return out;
}

// Checks ten calls of one program; the first three steps are also taken without jit.
template <class Rule>
void check(const char* name, const optim::Transformation<Rule>& tx) {
  SCOPED_TRACE(name);
  const Params expected = data().tree_of(data().trace(name));
  Params params = data().params();
  auto state = tx.init(params);
  using State = decltype(state);
  auto step = jit([&](const Params& params, const State& state, const Params& grads) {
    auto [updates, next] = tx.update(grads, state, params);
    return std::pair(optim::apply_updates(params, updates), next);
  });
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(i);
    const Params grads = data().gradients(i);
    auto [new_params, new_state] = step(params, state, grads);
    if (i < 3) {
      auto [updates, next] = tx.update(grads, state, params);
      const Params eager = optim::apply_updates(params, updates);
      expect_close(eager.a.to_host(), new_params.a.to_host(), 1e-6, 1e-6);
      expect_close(eager.c.to_host(), new_params.c.to_host(), 1e-6, 1e-6);
    }
    params = new_params;
    state = new_state;
    const Params now =
        tree::map([&](const Array& x) { return index_in_dim(x, i, 0, false); }, expected);
    expect_close(params.a.to_host(), now.a.to_host(), 1e-6, 1e-6);
    expect_close(params.b.to_host(), now.b.to_host(), 1e-6, 1e-6);
    expect_close(params.c.to_host(), now.c.to_host(), 1e-6, 1e-6);
  }
}

bool is_matrix(const Array& p) { return p.ndim() > 1; }
struct Matrices {
  bool operator()(const Array& p) const { return is_matrix(p); }
};
auto schedule() { return optim::warmup_cosine_decay_schedule(0.01, 0.5, 5, 20, 0.05); }

TEST(Optim, SgdIsOptaxs) {
  check("sgd", optim::sgd(0.1));
  check("sgd_momentum", optim::sgd(0.1, {.momentum = 0.9}));
  check("sgd_nesterov", optim::sgd(0.1, {.momentum = 0.9, .nesterov = true}));
  check("sgd_schedule", optim::sgd(schedule()));
  check("scale_by_schedule", optim::scale_by_schedule(schedule()));
}
TEST(Optim, AdamIsOptaxs) {
  check("adam", optim::adam(0.1));
  check("adam_options", optim::adam(0.1, {0.8, 0.9, 1e-3, 1e-4, true}));
  check("adam_schedule", optim::adam(schedule()));
  check("adamw", optim::adamw(0.1, {.weight_decay = 0.05}));
  check("adamw_mask", optim::adamw(0.1, {.weight_decay = 0.05}, Matrices{}));
}
TEST(Optim, LionAdagradLambAreOptaxs) {
  check("lion", optim::lion(0.1));
  check("adagrad", optim::adagrad(0.1));
  check("lamb", optim::lamb(0.1, {.weight_decay = 0.01}));
}
TEST(Optim, RmspropIsOptaxs) {
  check("rmsprop", optim::rmsprop(0.1));
  check("rmsprop_momentum",
        optim::rmsprop(0.1, {.initial_scale = 0.5, .momentum = 0.9, .nesterov = true}));
  check("rmsprop_centered", optim::rmsprop(0.1, {.initial_scale = 4, .centered = true}));
  check("rmsprop_corrected", optim::rmsprop(0.1, {.eps_in_sqrt = false, .bias_correction = true}));
}
TEST(Optim, ClippingAndDecayAreOptaxs) {
  check("clip_by_global_norm", optim::chain(optim::clip_by_global_norm(1.5), optim::sgd(0.1)));
  check("clip", optim::chain(optim::clip(0.5), optim::sgd(0.1)));
  check("decayed", optim::chain(optim::add_decayed_weights(0.1), optim::scale(-0.1)));
  check("decayed_schedule",
        optim::chain(optim::add_decayed_weights(schedule()), optim::scale(-0.1)));
}
TEST(Optim, WrappersAreOptaxs) {
  check("masked", optim::masked(optim::adam(0.1), [](const std::string& path, const Array&) {
          return path == ".a";
        }));
  check("multi_steps", optim::MultiSteps(optim::adam(0.1), 3));
  check("multi_steps_sum", optim::MultiSteps(optim::sgd(0.1), 4, /*use_grad_mean=*/false));
  check("multi_steps_schedule", optim::MultiSteps(optim::sgd(0.1, {.momentum = 0.5}),
                                                  [](const Array& n) { return n + 1; }));
}

template <class S>
void check_schedule(const std::string& name, const S& schedule) {
  SCOPED_TRACE(name);
  for (const golden::Json& c : data().topic["schedules"]) {
    if (c["name"] != name) continue;
    std::vector<Array> values;
    const auto compiled = jit(schedule);
    for (int i = 0; i < 25; ++i) values.push_back(asarray(compiled(array(i, int32)), float32));
    expect_close(stack(values).to_host(), data().topic.array(c["values"]), 1e-6, 1e-7);
    return;
  }
  FAIL() << "no such schedule";
}
TEST(Optim, SchedulesAreOptaxs) {
  check_schedule("constant", optim::constant_schedule(0.3));
  check_schedule("linear", optim::linear_schedule(1.0, 0.1, 10, 3));
  check_schedule("polynomial", optim::polynomial_schedule(1.0, 0.1, 2.5, 12, 2));
  check_schedule("cosine", optim::cosine_decay_schedule(0.5, 15, 0.1));
  check_schedule("cosine_exponent", optim::cosine_decay_schedule(0.5, 15, 0, 1.5));
  check_schedule("warmup_cosine", schedule());
  check_schedule("exponential", optim::exponential_decay(0.5, 4, 0.7));
  check_schedule("exponential_options",
                 optim::exponential_decay(
                     0.5, 4, 0.7, {.transition_begin = 3, .staircase = true, .end_value = 0.2}));
  check_schedule("piecewise", optim::piecewise_constant_schedule(0.5, {{4, 0.5}, {9, 0.1}}));
}

// A learning rate that is an Array is data: the transformation passes through jit with it.
TEST(Optim, LearningRateArrayIsALeaf) {
  int traced = 0;
  auto step = jit([&](const auto& tx, const Params& params, const Params& grads) {
    ++traced;
    auto state = tx.init(params);
    auto [updates, next] = tx.update(grads, state, params);
    return optim::apply_updates(params, updates);
  });
  const Params params = data().params(), grads = data().gradients(0);
  for (double lr : {0.5, 0.25}) {
    const Params out = step(optim::sgd(array(lr, float32)), params, grads);
    expect_close(out.a.to_host(), (params.a - lr * grads.a).to_host());
  }
  EXPECT_EQ(traced, 1);
  // Numbers are part of the program, so another number is not ignored but makes another program.
  for (double lr : {0.5, 0.25, 0.5}) {
    const Params out = step(optim::sgd(lr), params, grads);
    expect_close(out.a.to_host(), (params.a - lr * grads.a).to_host());
  }
  EXPECT_EQ(traced, 3);
}

TEST(Optim, MultiStepsSaysWhetherItUpdated) {
  const auto tx = optim::MultiSteps(optim::sgd(1.0), 2);
  const Array x = array({1.0, 2.0});
  auto state = tx.init(x);
  for (bool expected : {false, true, false, true}) {
    state = tx.update(x, state, x).second;
    EXPECT_EQ(bool(state.has_updated()), expected);
  }
}

TEST(Optim, GlobalNormIsOfAllLeaves) {
  EXPECT_FLOAT_EQ(
      optim::global_norm(Params{array({3.0}), array({0.0, 4.0}), array(12.0)}).item<float>(), 13);
}

// bfloat16 leaves keep their dtype through an update.
TEST(Optim, DTypesStay) {
  const auto tx = optim::adamw(0.1);
  const Array x = array({1.0, 2.0}, bfloat16);
  auto [updates, state] = tx.update(x, tx.init(x), x);
  EXPECT_EQ(updates.dtype(), bfloat16);
  EXPECT_EQ(optim::apply_updates(x, updates).dtype(), bfloat16);
  EXPECT_EQ(std::get<0>(state).mu.dtype(), bfloat16);
}

TEST(Optim, StatesPassThroughScan) {
  const auto tx = optim::adam(schedule());
  const Params params = data().params(), grads = data().tree_of(data().topic["grads"]);
  const auto step = [&](const auto& carry, const Params& g) {
    auto [updates, next] = tx.update(g, carry.second, carry.first);
    const Params moved = optim::apply_updates(carry.first, updates);
    return std::pair(std::pair(moved, next), moved.b);
  };
  const auto [last, trace] = scan(step, std::pair(params, tx.init(params)), grads);
  expect_close(trace.to_host(), data().tree_of(data().trace("adam_schedule")).b.to_host(), 1e-6,
               1e-6);
  EXPECT_EQ(std::get<1>(last.second).count.item<int>(), 10);
}

TEST(Optim, StatesPassThroughShardMap) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({4}, {.devices = std::vector<Device>(devices().begin(),
                                                                          devices().begin() + 4)}),
                  {"x"});
  const auto tx = optim::adam(0.1);
  const Params params = data().params();
  using State = decltype(tx.init(params));
  auto step = jit(shard_map(
      [&](const Params& params, const State& state, const Params& grads) {
        auto [updates, next] = tx.update(grads, state, params);
        return std::pair(optim::apply_updates(params, updates), next);
      },
      {.mesh = mesh, .in_specs = {P(), P(), P()}, .out_specs = {P(), P()}}));
  Params now = params;
  auto state = tx.init(now);
  for (int i = 0; i < 3; ++i) std::tie(now, state) = step(now, state, data().gradients(i));
  const Params expected = data().tree_of(data().trace("adam"));
  expect_close(now.a.to_host(), index_in_dim(expected.a, 2, 0, false).to_host(), 1e-6, 1e-6);
}

TEST(Optim, StateOfAnotherTreeIsAnError) {
  using Tree = std::map<std::string, Array>;
  const auto tx = optim::chain(optim::clip(1.0), optim::adam(0.1));
  const Tree params{{"bias", ones(2)}, {"kernel", ones(Shape{2, 2})}};
  const Tree other{{"bias", ones(2)}, {"scale", ones(Shape{2, 2})}};
  const Tree shapes{{"bias", ones(3)}, {"kernel", ones(Shape{2, 2})}};
  EXPECT_THAT(error_of([&] { tx.update(params, tx.init(other), params); }),
              AllOf(HasSubstr("[optim::scale_by_adam]"), HasSubstr("the first moments"),
                    HasSubstr("[kernel]"), HasSubstr("init(params)")));
  EXPECT_THAT(error_of([&] { tx.update(params, tx.init(shapes), params); }),
              AllOf(HasSubstr("[bias]"), HasSubstr("float32[3]"), HasSubstr("float32[2]")));
  EXPECT_THAT(error_of([&] { tx.update(params, tx.init(params), shapes); }),
              AllOf(HasSubstr("the parameters"), HasSubstr("[bias]")));
  EXPECT_THAT(error_of([&] { optim::apply_updates(params, other); }),
              AllOf(HasSubstr("the updates"), HasSubstr("[kernel]")));
  // With a mask, paths are still those of the whole tree.
  const auto some = optim::masked(optim::adam(0.1), Matrices{});
  EXPECT_THAT(error_of([&] { some.update(params, some.init(other), params); }),
              HasSubstr("[kernel]"));
  EXPECT_THAT(error_of([&] {
                const Array x = ones(2);
                optim::sgd(0.1, {.momentum = 0.9}).update(x, optim::sgd(0.1).init(x), x);
              }),
              HasSubstr("without momentum"));
  EXPECT_THAT(error_of([&] {
                const Array x = ones(2);
                optim::rmsprop(0.1, {.centered = true}).update(x, optim::rmsprop(0.1).init(x), x);
              }),
              HasSubstr("centered"));
}
TEST(Optim, ImpossibleNumbersAreErrors) {
  EXPECT_THAT(error_of([] { optim::cosine_decay_schedule(1, 0); }), HasSubstr("decay_steps"));
  EXPECT_THAT(error_of([] { optim::warmup_cosine_decay_schedule(0, 1, 5, 5); }),
              HasSubstr("exceed warmup_steps"));
  EXPECT_THAT(error_of([] {
                optim::piecewise_constant_schedule(1, {{3, -1.0}});
              }),
              HasSubstr("-1"));
  EXPECT_THAT(error_of([] { optim::MultiSteps(optim::sgd(0.1), 0); }),
              HasSubstr("at least 1 step"));
}

}  // namespace
}  // namespace tessera::optim_test
