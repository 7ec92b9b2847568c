#include "private_training.h"

#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "models.h"
#include "tessera/base/format.h"
#include "tessera/privacy/plan.h"

namespace tessera::bench {
namespace {

constexpr float kRate = 0.1F;

// A noise multiplier of 1 and a clip norm of 1; the number of examples is of no account here.
privacy::Plan plan_of(StepKind kind, int64_t batch) {
  const auto examples = static_cast<double>(batch);
  return privacy::make_plan(
      {.num_examples = 100 * batch,
       .steps = 1000,
       .expected_batch_size = examples,
       .noise_multiplier = 1,
       .delta = 1e-6,
       .mechanism = kind == StepKind::kDiscrete ? privacy::Mechanism(privacy::DiscreteGaussian{})
                                                : privacy::Mechanism(privacy::Gaussian{}),
       .random_source = kind == StepKind::kSystem ? privacy::RandomSource::kSystem
                                                  : privacy::RandomSource::kKey});
}

// Without noise: (value, gradients) of clipped sums over the batch size.
template <class Loss>
auto clipped_mean(const Loss& loss, privacy::ClipOptions options, size_t batch_arguments) {
  for (size_t i = 1; i <= batch_arguments; ++i) options.batch_argnums.push_back(i);
  const auto clipped = privacy::clipped_value_and_grad(loss, options);
  return [=](const auto&... args) {
    auto out = clipped(args...);
    return std::pair(mean(out.values), std::move(out.grads));
  };
}

template <class Loss, class Params, class... Data>
Run noised_step(const Loss& loss, const privacy::Plan& plan, const Params& params,
                const Data&... data) {
  const auto gradients = clipped_mean(loss, plan.clip_options(), sizeof...(Data));
  const auto privatizer = plan.privatizer(plan.noise_key(random::key(2)));
  const auto state = std::make_shared<privacy::NoiseState<Params>>(privatizer.init(params));
  auto step = jit([=](const Params& p, const privacy::NoiseState<Params>& s, const auto&... rows) {
    const auto [value, sum] = gradients(p, rows...);
    auto [noisy, next] = privatizer.update(sum, s);
    return std::tuple(
        tree::map([&](const Array& x, const Array& g) { return x - kRate * g; }, p, noisy), next,
        value);
  });
  return [=] { *state = std::get<1>(step(params, *state, data...)); };
}

template <class Loss, class Params, class... Data>
Run step_of(StepKind kind, const Loss& loss, const Params& params, const Data&... data) {
  const int64_t batch = std::get<0>(std::tie(data...)).shape(0);
  const privacy::Plan plan = plan_of(kind, batch);
  switch (kind) {
    case StepKind::kPlain: {
      auto step = jit(descend<Params>(value_and_grad(loss), kRate));
      return [=] { step(params, data...); };
    }
    case StepKind::kClipped:
    case StepKind::kNotFinite: {
      auto step =
          jit(descend<Params>(clipped_mean(loss, plan.clip_options(), sizeof...(Data)), kRate));
      return [=] { step(params, data...); };
    }
    case StepKind::kGaussian:
    case StepKind::kDiscrete:
    case StepKind::kSystem:
      return noised_step(loss, plan, params, data...);
  }
  TESSERA_CHECK(false, "a way of training that is none");
}

// Normal numbers, whose first example is NaN where the way says so.
Array inputs(StepKind kind, const Shape& shape) {
  const Array x = normal(shape, 100);
  if (kind != StepKind::kNotFinite) return x;
  const Array first = arange(shape[0]) == 0;
  Shape column(static_cast<size_t>(shape.rank()), 1);
  column[0] = shape[0];
  return where(reshape(first, column), std::numeric_limits<float>::quiet_NaN(), x);
}

Run mlp(StepKind kind, int64_t batch) {
  return step_of(kind, mlp_loss, make_mlp({784, 512, 512, 10}), inputs(kind, {batch, 784}),
                 random::randint(random::key(101), {batch}, 0, 10));
}

}  // namespace

std::string name_of(PrivateModel model) {
  switch (model) {
    case PrivateModel::kMlp256:
      return "perceptron, 256 examples";
    case PrivateModel::kMlp1024:
      return "perceptron, 1,024 examples";
    case PrivateModel::kTransformer:
      return "transformer, 32 texts";
    case PrivateModel::kConvNet:
      return "convolutional net, 32 images";
  }
  TESSERA_CHECK(false, "a model that is none");
}

std::string name_of(StepKind kind) {
  switch (kind) {
    case StepKind::kPlain:
      return "plain";
    case StepKind::kClipped:
      return "clipped";
    case StepKind::kGaussian:
      return "Gaussian noise";
    case StepKind::kDiscrete:
      return "discrete Gaussian noise";
    case StepKind::kSystem:
      return "Gaussian noise, kSystem";
    case StepKind::kNotFinite:
      return "clipped, one NaN";
  }
  TESSERA_CHECK(false, "a way of training that is none");
}

bool can_be_not_finite(PrivateModel model) { return model != PrivateModel::kTransformer; }

Run private_step(PrivateModel model, StepKind kind) {
  switch (model) {
    case PrivateModel::kMlp256:
      return mlp(kind, 256);
    case PrivateModel::kMlp1024:
      return mlp(kind, 1024);
    case PrivateModel::kTransformer:
      return step_of(kind, transformer_loss, make_transformer(), tokens(32));
    case PrivateModel::kConvNet:
      return step_of(kind, conv_net_loss, make_conv_net(), inputs(kind, {32, 28, 28, 1}),
                     random::randint(random::key(101), {int64_t{32}}, 0, 10));
  }
  TESSERA_CHECK(false, "a model that is none");
}

}  // namespace tessera::bench
