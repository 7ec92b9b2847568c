#include "training.h"

#include <chrono>

#include "models.h"

namespace tessera::bench {
namespace {

auto mlp_sgd() { return descend<Mlp>(value_and_grad(mlp_loss), 0.1f); }
auto transformer_sgd() { return descend<Transformer>(value_and_grad(transformer_loss), 1e-2f); }

struct MlpArguments {
  Mlp layers;
  Array x, y;
};
MlpArguments mlp_arguments(int64_t batch, const std::vector<int64_t>& sizes, bool sharded) {
  return {placed(make_mlp(sizes), P(), sharded),
          placed(normal({batch, sizes[0]}, 100), P("x"), sharded),
          placed(random::randint(random::key(101), {batch}, 0, static_cast<int>(sizes.back())),
                 P("x"), sharded)};
}

struct ImageArguments {
  ConvNet params;
  Array x, y;
};
ImageArguments image_arguments(int64_t batch, bool sharded) {
  return {placed(make_conv_net(), P(), sharded),
          placed(normal({batch, 28, 28, 1}, 100), P("x"), sharded),
          placed(random::randint(random::key(101), {batch}, 0, 10), P("x"), sharded)};
}

double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Run mlp_step(int64_t batch, const std::vector<int64_t>& sizes, bool sharded) {
  const MlpArguments a = mlp_arguments(batch, sizes, sharded);
  auto step = jit(mlp_sgd());
  return [=] { step(a.layers, a.x, a.y); };
}

Run transformer_step(int64_t batch, bool sharded) {
  const Transformer params = placed(make_transformer(), P(), sharded);
  const Array text = placed(tokens(batch), P("x"), sharded);
  auto step = jit(transformer_sgd());
  return [=] { step(params, text); };
}

Run conv_net_step(int64_t batch, bool sharded) {
  const ImageArguments a = image_arguments(batch, sharded);
  auto step = jit(descend<ConvNet>(value_and_grad(conv_net_loss), 0.1f));
  return [=] { step(a.params, a.x, a.y); };
}

namespace {

// Value (the mean of the examples') and sum of clipped gradients, as descend() takes them.
template <class Loss>
auto clipped(const Loss& loss, std::vector<size_t> batch_argnums) {
  auto g = privacy::clipped_value_and_grad(
      loss, {.l2_clip_norm = 1.0, .batch_argnums = std::move(batch_argnums)});
  return [=](const auto&... args) {
    auto out = g(args...);
    return std::pair(mean(out.values), std::move(out.grads));
  };
}

}  // namespace

Run private_mlp_step(int64_t batch, const std::vector<int64_t>& sizes, bool sharded) {
  const MlpArguments a = mlp_arguments(batch, sizes, sharded);
  auto step = jit(descend<Mlp>(clipped(mlp_loss, {1, 2}), 0.1f));
  return [=] { step(a.layers, a.x, a.y); };
}

Run private_transformer_step(int64_t batch, bool sharded) {
  const Transformer params = placed(make_transformer(), P(), sharded);
  const Array text = placed(tokens(batch), P("x"), sharded);
  auto step = jit(descend<Transformer>(clipped(transformer_loss, {1}), 1e-2f));
  return [=] { step(params, text); };
}

Run private_conv_net_step(int64_t batch, bool sharded) {
  const ImageArguments a = image_arguments(batch, sharded);
  auto step = jit(descend<ConvNet>(clipped(conv_net_loss, {1, 2}), 0.1f));
  return [=] { step(a.params, a.x, a.y); };
}

Run per_example_mlp_step(int64_t batch, const std::vector<int64_t>& sizes) {
  const MlpArguments a = mlp_arguments(batch, sizes, false);
  const auto loss = [](const Mlp& layers, const Array& x, const Array& y) {
    const auto of_example = [&](const Array& x, const Array& y) {
      return mlp_loss(layers, expand_dims(x, {0}), expand_dims(y, {0}));
    };
    return mean(vmap(of_example)(x, y));
  };
  auto step = jit(descend<Mlp>(value_and_grad(loss), 0.1f));
  return [=] { step(a.layers, a.x, a.y); };
}

Run convolution(bool gradients) {
  const Array x = normal({32, 56, 56, 64}, 0), w = normal({3, 3, 64, 64}, 1) / 24;
  if (!gradients) {
    auto f = jit(convolved);
    return [=] { f(x, w); };
  }
  auto f = jit([](const Array& x, const Array& w) {
    return value_and_grad<0, 1>(
        [](const Array& x, const Array& w) { return sum(square(convolved(x, w))); })(x, w);
  });
  return [=] { f(x, w); };
}

std::vector<double> compile_mlp(const std::vector<int64_t>& sizes, int times) {
  std::vector<double> out;
  for (int i = 0; i < times; ++i) {
    const MlpArguments a = mlp_arguments(256 + 8 * i, sizes, true);
    auto step = jit(mlp_sgd());
    out.push_back(seconds_of([&] { step.lower(a.layers, a.x, a.y).compile(); }));
  }
  return out;
}

std::vector<double> compile_transformer(int times) {
  std::vector<double> out;
  const Transformer params = placed(make_transformer(), P(), true);
  for (int i = 0; i < times; ++i) {
    const Array text = placed(tokens(8 * (i + 1)), P("x"), true);
    auto step = jit(transformer_sgd());
    out.push_back(seconds_of([&] { step.lower(params, text).compile(); }));
  }
  return out;
}

}  // namespace tessera::bench
