// Compares predicted with measured times of data-parallel training steps on all devices, as users
// write them.
#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "tessera/compile/step_time.h"
#include "tessera/mesh/costs.h"
#include "tessera/tessera.h"
#include "tools/calibrate.h"

namespace tessera::tools {
namespace {

constexpr int64_t kDevices = 4;

struct Mlp {
  Array w1, w2, w3;
};
Array mlp_loss(const Mlp& p, const Array& x, const Array& y) {
  const Array logits = matmul(relu(matmul(relu(matmul(x, p.w1)), p.w2)), p.w3);
  return -mean(sum(one_hot(y, logits.shape(-1)) * log_softmax(logits), {.axis = -1}));
}

struct Layer {
  Array qkv, out, up, down;
};
struct Transformer {
  Array embedding, head;
  std::vector<Layer> layers;
};
Array transformer_loss(const Transformer& p, const Array& x, const Array& y) {
  Array h = take(p.embedding, x, {.axis = 0});
  for (const Layer& w : p.layers) {
    const Array qkv = einsum("btd,dnhk->btnhk", {standardize(h), w.qkv});
    const auto part = [&](int64_t n) { return index_in_dim(qkv, n, 2, /*keepdims=*/false); };
    const Array seen = dot_product_attention(part(0), part(1), part(2), {.is_causal = true});
    h = h + einsum("bthk,hkd->btd", {seen, w.out});
    h = h + matmul(gelu(matmul(standardize(h), w.up)), w.down);
  }
  const Array logits = matmul(standardize(h), p.head);
  return -mean(sum(one_hot(y, logits.shape(-1)) * log_softmax(logits), {.axis = -1}));
}

// Draws normal numbers with a new key each time, scaled for a layer with `inputs` inputs.
class Normal {
 public:
  Array operator()(const Shape& shape, int64_t inputs) {
    return random::normal(random::fold_in(random::key(0), count_++), shape) /
           std::sqrt(static_cast<float>(inputs));
  }

 private:
  uint32_t count_ = 0;
};

Mlp make_mlp(int64_t width) {
  Normal normal;
  return {normal({784, width}, 784), normal({width, width}, width), normal({width, 10}, width)};
}
Transformer make_transformer(int64_t width, int64_t heads, int64_t layers, int64_t characters) {
  Normal normal;
  Transformer out{normal({characters, width}, 1), normal({width, characters}, width), {}};
  for (int64_t k = 0; k < layers; ++k)
    out.layers.push_back({normal({width, 3, heads, width / heads}, width),
                          normal({heads, width / heads, width}, width),
                          normal({width, 4 * width}, width),
                          normal({4 * width, width}, 4 * width)});
  return out;
}

// A training step: its predicted time, and how to run it.
struct Checked {
  std::string name;
  compile::StepTime predicted;
  Run run;
  std::vector<double> seconds;
};

// Returns a step of gradient descent.
template <class Model, class Make, class Data, class Loss>
Checked step_of(const std::string& name, const Make& make, const Data& data, const Loss& loss) {
  const Mesh mesh(devices(), {"data"});
  const NamedSharding rows(mesh, P("data")), everywhere(mesh, P());
  const Model params = jit(make, {.out_shardings = {everywhere}})();
  const std::pair<Array, Array> batch = jit(data, {.out_shardings = {rows, rows}})();
  auto step = jit(
      [loss](const Model& p, const Array& x, const Array& y) {
        auto [value, grads] = value_and_grad(loss)(p, x, y);
        return std::pair(
            tree::map([](const Array& w, const Array& g) { return w - 0.01f * g; }, p, grads),
            value);
      },
      {.out_shardings = {everywhere, everywhere}});
  const Lowered lowered = step.lower(params, batch.first, batch.second);
  return {.name = name,
          .predicted = *compile::predict_time(lowered.stages(), mesh.devices()[0]),
          .run = [=]() mutable { step(params, batch.first, batch.second); },
          .seconds = {}};
}

}  // namespace

void check_predictions(std::ostream& out) {
  const auto count = static_cast<int64_t>(devices().size());
  if (process_index() == 0)
    out << fmt::format("{} device{} in {} process{}, by the figures of {}\n", count,
                       count == 1 ? "" : "s", process_count(), process_count() == 1 ? "" : "es",
                       machine_costs().source);
  const auto labels = [](const Shape& shape, int limit) {
    return random::randint(random::key(2), shape, 0, limit);
  };
  const int64_t batch = 64 * kDevices / count * count;
  std::vector<Checked> steps;
  for (const int64_t width : {512, 2048}) {
    steps.push_back(step_of<Mlp>(
        fmt::format("MLP of 784-{0}-{0}-10", width), [=] { return make_mlp(width); },
        [=] {
          return std::pair(random::normal(random::key(1), {batch, 784}), labels({batch}, 10));
        },
        mlp_loss));
  }
  const int64_t texts = std::max<int64_t>(1, 8 / count) * count;
  for (const int64_t width : {128, 256}) {
    steps.push_back(step_of<Transformer>(
        fmt::format("transformer of width {}", width),
        [=] { return make_transformer(width, 4, 2, 128); },
        [=] {
          return std::pair(labels({texts, 64}, 128), labels({texts, 64}, 128));
        },
        transformer_loss));
  }
  // Steps are measured in rounds, as in calibration, since other work on the machine slows a round
  // down.
  for (int round = 0; round < kSweeps; ++round)
    for (Checked& step : steps) step.seconds.push_back(median_seconds(step.run, 31));
  if (process_index() != 0) return;
  for (const Checked& step : steps) {
    const double measured = median(step.seconds);
    out << fmt::format(
        "{:<34} predicted {:8.2f} ms (compute {:.2f}, communication {:.2f}), measured {:8.2f} ms: "
        "{:+.0f} %\n",
        step.name, step.predicted.total() * 1e3, step.predicted.compute * 1e3,
        step.predicted.communication * 1e3, measured * 1e3,
        100 * (step.predicted.total() / measured - 1));
  }
}

}  // namespace tessera::tools
