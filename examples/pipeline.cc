// A pipeline of tensor-parallel layers, trained on a mesh of 2 stages x 2 tensor shards x 2 data
// shards. Each stage scans over its own layers, microbatches move from stage to stage, and one
// gradient is taken through all of it. The result equals that of the same layers on one device.
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "progress.h"

using namespace tessera;

namespace {

constexpr int kStages = 2, kLayers = 4, kWidth = 32, kHidden = 64, kMicrobatches = 4, kBatch = 64;

// Residual layers, stacked along the first dimension.
struct Layers {
  Array up;     // [layers, width, hidden]; hidden units are sharded over tp
  Array down;   // [layers, hidden, width]
  Array shift;  // [layers, width]; the same on every tensor shard
};

Layers random_layers(const random::Key& key) {
  const auto [up, down, shift] = random::split<3>(key);
  return {random::normal(up, {kLayers, kWidth, kHidden}) / std::sqrt(1. * kWidth),
          random::normal(down, {kLayers, kHidden, kWidth}) / std::sqrt(4. * kHidden),
          random::normal(shift, {kLayers, kWidth}) / 10};
}

// Applies all layers one after the other. If hidden units are sharded, `complete` adds up the parts
// of all shards.
template <class Complete>
Array apply(const Layers& layers, const Array& x, const Complete& complete) {
  auto layer = [&](const Array& h, const Layers& l) {
    Array part = matmul(tanh(matmul(h, l.up)), l.down);
    return std::pair(h + complete(part) + l.shift, std::tuple<>());
  };
  return scan(layer, x, layers).first;
}

Array on_one_device(const Layers& layers, const Array& x, const Array& y) {
  return mean(square(apply(layers, x, [](const Array& part) { return part; }) - y));
}

// The loss as one device computes it, with the layers of its stage. In every tick, it gets a
// microbatch from the previous stage (the first stage takes the next one of the batch). The last
// stage keeps the results.
Array on_the_mesh(const Layers& layers, const Array& x, const Array& y) {
  const Array stage = axis_index("pp");
  Array microbatches = reshape(x, {kMicrobatches, -1, kWidth});
  auto tick = [&](const std::pair<Array, Array>& state, const Array& t) {
    const auto& [arriving, done] = state;
    Array next = take(microbatches, minimum(t, kMicrobatches - 1), {.axis = 0});
    Array out = apply(layers, where(stage == 0, next, arriving),
                      [](const Array& part) { return psum(part, "tp"); });
    // The number of the microbatch that the last stage has finished.
    Array place = t - (kStages - 1);
    Array kept =
        where(place >= 0, dynamic_update_index_in_dim(done, out, maximum(place, 0), 0), done);
    return std::pair(std::pair(ppermute(out, "pp", {{0, 1}, {1, 0}}), kept), std::tuple<>());
  };
  std::pair nothing(zeros({microbatches.shape(1), kWidth}), zeros_like(microbatches));
  Array done = scan(tick, nothing, arange(kMicrobatches + kStages - 1)).first.second;
  Array error = mean(square(reshape(done, y.shape()) - y));
  return pmean(psum(where(stage == kStages - 1, error, 0.), "pp"), "dp");
}

double largest_difference(const Layers& a, const Layers& b) {
  double worst = 0;
  for (auto [x, y] :
       {std::pair(a.up, b.up), std::pair(a.down, b.down), std::pair(a.shift, b.shift)})
    worst = std::max(worst, max(abs(x - y)).item<double>());
  return worst;
}

}  // namespace

int main() {
  initialize({.devices = "cpu:8"});
  Mesh mesh(create_device_mesh({kStages, 2, 2}), {"pp", "tp", "dp"});
  Layers start = random_layers(random::key(0));
  Array x = random::normal(random::key(1), {kBatch, kWidth}), y = sin(x);

  auto loss = shard_map(
      on_the_mesh,
      {.mesh = mesh,
       .in_specs = {PrefixTree<PartitionSpec>{P("pp", None, "tp"), P("pp", "tp"), P("pp")}, P("dp"),
                    P("dp")},
       .out_specs = {P()}});
  auto step = [](const auto& loss) {
    return jit([loss](const Layers& layers, const Array& x, const Array& y) {
      auto [value, gradient] = value_and_grad(loss)(layers, x, y);
      Layers next =
          tree::map([](const Array& p, const Array& g) { return p - 0.5 * g; }, layers, gradient);
      return std::pair(value, next);
    });
  };
  auto piped = step(loss);
  auto alone = step(on_one_device);
  std::cout << piped.lower(start, x, y).explain();

  Layers ours = start, expected = start;
  double worst = 0;
  constexpr int kSteps = 20;
  for (int i = 1; i <= kSteps; ++i) {
    auto [value, next] = piped(ours, x, y);
    auto [value_alone, next_alone] = alone(expected, x, y);
    ours = next, expected = next_alone;
    worst = std::max(
        {worst, largest_difference(ours, expected), abs(value - value_alone).item<double>()});
    progress("step", i, kSteps, 5,
             fmt::format("loss {:.5f}, on one device {:.5f}", value.item<float>(),
                         value_alone.item<float>()));
  }
  std::cout << "largest difference from one device: " << worst << "\n";
  return worst < 1e-4 ? 0 : 1;
}
