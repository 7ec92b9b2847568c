// One model, trained in four layouts: a character-level transformer on the text of the GPL, on one
// device, with data and tensor parallelism, with fully sharded parameters, and as a pipeline of
// four stages. The model is written once, for one device. The first three layouts differ only in
// the shardings of its parameters; for the fourth, the program says what each device does.
//
//   char_transformer [--steps N] [--explain] [FILE]
//
// For each layout, the program prints what a training step communicates. The losses of all layouts
// must be those of the first.
#include <fmt/ranges.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include "examples/progress.h"

using namespace tessera;

constexpr const char* kText = "/usr/share/common-licenses/GPL-3";
constexpr int64_t kLayers = 4, kWidth = 64, kHeads = 4, kLength = 64, kBatch = 16;
constexpr int64_t kStages = 4, kMicrobatches = 4;
constexpr double kTolerance = 1e-4;

// --- The model ---

// All layers together. The first dimension of each array counts the layers.
struct Layers {
  Array norm1, qkv, out, norm2, up, down;
};
struct Model {
  Array embedding, position;
  Layers layers;
  Array norm, head;
};

Model init(random::Key key, int64_t characters) {
  uint32_t count = 0;
  const auto normal = [&](const Shape& shape, double scale) {
    return random::normal(random::fold_in(key, count++), shape) * scale;
  };
  const int64_t depth = kWidth / kHeads;
  const double in = 1 / std::sqrt(kWidth), down = 1 / std::sqrt(4.0 * kWidth);
  return {.embedding = normal({characters, kWidth}, 1),
          .position = normal({kLength, kWidth}, 0.1),
          .layers = {.norm1 = ones({kLayers, kWidth}),
                     .qkv = normal({kLayers, kWidth, 3, kHeads, depth}, in),
                     .out = normal({kLayers, kHeads, depth, kWidth}, in),
                     .norm2 = ones({kLayers, kWidth}),
                     .up = normal({kLayers, kWidth, 4 * kWidth}, in),
                     .down = normal({kLayers, 4 * kWidth, kWidth}, down)},
          .norm = ones({kWidth}),
          .head = normal({kWidth, characters}, in)};
}

// Maps (rows, length) characters to (rows, length, width).
Array embed(const Model& p, const Array& x) {
  return take(p.embedding, x, {.axis = 0}) + p.position;
}

Array layer(const Layers& w, const Array& x) {
  const Array qkv = einsum("btd,dnhk->btnhk", {standardize(x) * w.norm1, w.qkv});
  const auto part = [&](int64_t n) { return index_in_dim(qkv, n, 2, /*keepdims=*/false); };
  const Array seen = dot_product_attention(part(0), part(1), part(2), {.is_causal = true});
  const Array y = x + einsum("bthk,hkd->btd", {seen, w.out});
  return y + matmul(gelu(matmul(standardize(y) * w.norm2, w.up)), w.down);
}

// The sharding of activations between the layers. Without it, propagation chooses.
using Rows = std::optional<NamedSharding>;

Array pinned(const Array& x, const Rows& rows) {
  return rows ? with_sharding_constraint(x, *rows) : x;
}
Array through(const Layers& layers, const Array& x, const Rows& rows = {}) {
  const auto step = [&](const Array& x, const Layers& w) {
    return std::pair(layer(w, pinned(x, rows)), None);
  };
  return pinned(scan(step, pinned(x, rows), layers).first, rows);
}

// Returns the mean cross-entropy of the characters that follow, `y`, given the last activations x.
Array loss_of(const Model& p, const Array& x, const Array& y) {
  const Array logits = matmul(standardize(x) * p.norm, p.head);
  return -mean(sum(one_hot(y, logits.shape(-1)) * log_softmax(logits), {.axis = -1}));
}

Array loss_fn(const Model& p, const Array& x, const Array& y, const Rows& rows = {}) {
  return loss_of(p, through(p.layers, embed(p, x), rows), y);
}

// --- The pipeline ---

// Returns the loss of a pipeline. Stage i has the i-th part of the layers. In each tick, it applies
// them to what the previous stage computed in the tick before (the first stage: to the next
// microbatch). After kStages - 1 ticks the pipeline is full, and the last stage completes a
// microbatch in every tick.
Array pipelined_loss(const Model& parameters, const Array& x, const Array& y) {
  // Both halves of 'data' have the same parameters, and all stages the same embedding and head.
  // Casting them to varying here makes their gradients be summed once, here. Otherwise they would
  // be summed in every tick, at each use.
  Model p = pcast_varying(parameters, "data");
  for (Array* x : {&p.embedding, &p.position, &p.norm, &p.head}) *x = pcast_varying(*x, "stage");
  const Array stage = axis_index("stage");
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i + 1 < kStages; ++i) next.push_back({i, i + 1});
  const int64_t rows = x.shape(0) / kMicrobatches;
  const Array inputs = reshape(embed(p, x), {kMicrobatches, rows, kLength, kWidth});
  const auto tick = [&](const Array& received, const Array& t) {
    const Array fresh =
        dynamic_index_in_dim(inputs, minimum(t, kMicrobatches - 1), 0, /*keepdims=*/false);
    const Array out = through(p.layers, where(stage == 0, fresh, received));
    return std::pair(ppermute(out, "stage", next), out);
  };
  const Array outs =
      scan(tick, zeros({rows, kLength, kWidth}), arange(kMicrobatches + kStages - 1)).second;
  const Array last = slice_in_dim(outs, kStages - 1, kStages - 1 + kMicrobatches);
  const Array loss = loss_of(p, reshape(last, {x.shape(0), kLength, kWidth}), y);
  // On the other stages, `loss` is computed from results of inner layers and must not count.
  return pmean(psum(where(stage == kStages - 1, loss, 0), "stage"), "data");
}

// --- Training ---

// A layout: specs for the parameters (and so for their gradients and the optimizer's moments) and
// for the batch, and the communication that a step may need. A step that needs more is an error.
struct Layout {
  const char* name;
  Mesh mesh;
  PrefixTree<PartitionSpec> params;
  PartitionSpec batch;
  CommBudget budget;
};

PrefixTree<NamedSharding> on(const Mesh& mesh, const PrefixTree<PartitionSpec>& specs) {
  if (specs.value()) return NamedSharding(mesh, *specs.value());
  std::vector<PrefixTree<NamedSharding>> children;
  for (const auto& child : specs.children()) children.push_back(on(mesh, child));
  return children;
}

void print_plan(const Lowered& step, bool explain) {
  if (explain) std::cout << step.explain();
  // The number of collectives, and the bytes that a device sends by them.
  std::map<std::string, std::pair<int64_t, int64_t>> plan;
  for (const Collective& c : step.collectives()) {
    const int64_t times = std::max<int64_t>(c.times, 1);
    auto& [count, bytes] = plan[fmt::format("{} over {}", c.name, fmt::join(c.axes, ", "))];
    count += times;
    bytes += times * c.bytes_per_device;
  }
  for (const auto& [what, cost] : plan)
    std::cout << fmt::format("  {:<36} {:3} times, {:7.1f} KiB sent by a device\n", what,
                             cost.first, static_cast<double>(cost.second) / 1024);
  std::cout << fmt::format("  in all {:.1f} KiB a step\n",
                           static_cast<double>(step.cost().communication_bytes) / 1024);
}

using Batches = std::vector<std::pair<Array, Array>>;

template <class Loss>
std::vector<double> train(const Layout& layout, const Model& initial, const Batches& batches,
                          const Loss& loss, bool explain) {
  const auto tx = optim::adam(3e-3);
  const NamedSharding batch(layout.mesh, layout.batch), scalar(layout.mesh, P());
  const PrefixTree<NamedSharding> where = on(layout.mesh, layout.params),
                                  state_where{{scalar, where, where}, scalar};

  auto [params, state] = jit([&](const Model& p) { return std::pair(p, tx.init(p)); },
                             {.out_shardings = {where, state_where}})(initial);
  using State = decltype(state);
  auto step = jit(
      [&](const Model& params, const State& state, const Array& x, const Array& y) {
        auto [value, grads] = value_and_grad(loss)(params, x, y);
        auto [updates, next] = tx.update(grads, state, params);
        return std::tuple(optim::apply_updates(params, updates), next, value);
      },
      {.in_shardings = {where, state_where, batch, batch},
       .out_shardings = {where, state_where, scalar},
       .donate_argnums = {0, 1},
       .comm_budget = layout.budget});

  int64_t held = 0;
  for (const Array& x : tree::leaves(params))
    held += x.sharding().shard_shape(x.shape()).elements() * itemsize(x.dtype());
  std::cout << fmt::format("{}: a device holds {} KiB of parameters\n", layout.name, held / 1024);
  print_plan(step.lower(params, state, batches[0].first, batches[0].second), explain);
  std::vector<double> losses;
  for (const auto& [x, y] : batches) {
    Array value;
    std::tie(params, state, value) = step(params, state, x, y);
    losses.push_back(value.item<double>());
    progress("  step", static_cast<int>(losses.size()), static_cast<int>(batches.size()), 10,
             fmt::format("loss {:.4f}", losses.back()));
  }
  return losses;
}

// --- The text ---

struct Text {
  std::vector<int32_t> tokens;  // each character's position in the sorted list of characters
  int64_t characters;
};

Text read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || static_cast<int64_t>(text.size()) <= kLength + 1)
    throw std::runtime_error(fmt::format(
        "cannot read a text of more than {} characters from {}; Debian's base-files package "
        "installs {}, and any other text may be given as the argument",
        kLength + 1, path, kText));
  const std::set<char> characters(text.begin(), text.end());
  std::map<char, int32_t> token;
  for (char c : characters) token.emplace(c, static_cast<int32_t>(token.size()));
  Text out{{}, static_cast<int64_t>(token.size())};
  for (char c : text) out.tokens.push_back(token.at(c));
  return out;
}

// Returns the batches, which are the same for every layout. The target of a character is the next
// one.
Batches make_batches(const Text& text, int64_t steps) {
  const auto count = static_cast<int64_t>(text.tokens.size());
  const std::vector<int32_t> starts = to_vector<int32_t>(
      random::randint(random::key(1), {steps * kBatch}, 0, static_cast<int>(count - kLength)));
  Batches out;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<int32_t> x, y;
    for (int64_t row = 0; row < kBatch; ++row) {
      const auto from = text.tokens.begin() + starts[step * kBatch + row];
      x.insert(x.end(), from, from + kLength);
      y.insert(y.end(), from + 1, from + kLength + 1);
    }
    out.push_back({from_host(x, {kBatch, kLength}), from_host(y, {kBatch, kLength})});
  }
  return out;
}

int run(const std::string& path, int64_t steps, bool explain) {
  initialize({.devices = "cpu:8"});
  const Text text = read_text(path);
  const Batches batches = make_batches(text, steps);
  const Model initial = init(random::key(0), text.characters);

  const Mesh one(std::vector<Device>{devices()[0]}, {"data"}), all(devices(), {"data"}),
      grid(create_device_mesh({2, 4}), {"data", "model"}),
      pipe(create_device_mesh({2, kStages}), {"data", "stage"});
  // Columns of qkv (its heads) and up are sharded over 'model', and rows of out and down. So the
  // values between the two matrices of a pair are sharded, and one all_reduce after each pair
  // completes the sum.
  const Layout single{"one device", one, P(), P(), {.bytes_per_device = 0}};
  const Layout tensor{"data x tensor parallel, 2 x 4",
                      grid,
                      {P(),
                       P(),
                       {P(), P(None, None, None, "model"), P(None, "model"), P(),
                        P(None, None, "model"), P(None, "model")},
                       P(),
                       P()},
                      P("data"),
                      {.bytes_per_device = 4 << 20, .forbid = {"all_gather", "all_to_all"}}};
  // Each device has an eighth of each parameter and of its moments, along the dimension of size
  // kWidth.
  const Layout sharded{"fully sharded parameters, 8",
                       all,
                       {P(None, "data"),
                        P(None, "data"),
                        {P(None, "data"), P(None, "data"), P(None, None, None, "data"),
                         P(None, "data"), P(None, "data"), P(None, None, "data")},
                        P("data"),
                        P("data")},
                       P("data"),
                       {.bytes_per_device = 3 << 20}};
  const Layout pipeline{"data x pipeline parallel, 2 x 4 stages, 4 microbatches",
                        pipe,
                        {P(), P(), P("stage"), P(), P()},
                        P("data"),
                        {.bytes_per_device = 2 << 20, .forbid = {"all_gather", "all_to_all"}}};

  const auto plain = [](const Model& p, const Array& x, const Array& y) {
    return loss_fn(p, x, y);
  };
  // Parameters are sharded along dimensions that activations have, too. So propagation could shard
  // the activations in the same way, and sum them in every layer. If activations are constrained to
  // be sharded by rows, the parameters are communicated instead.
  const auto by_rows = [&](const Model& p, const Array& x, const Array& y) {
    return loss_fn(p, x, y, NamedSharding(all, P("data")));
  };
  const std::vector<double> expected = train(single, initial, batches, plain, explain);
  bool agree = true;
  const auto check = [&](const std::vector<double>& losses) {
    double worst = 0;
    bool ok = true;  // false for NaN
    for (size_t i = 0; i < losses.size(); ++i) {
      const double difference = std::abs(losses[i] - expected[i]);
      worst = std::max(worst, difference);
      ok = ok && difference <= kTolerance;
    }
    agree = agree && ok;
    std::cout << fmt::format("  largest difference from one device {:.1e}{}\n", worst,
                             ok ? "" : fmt::format(": more than {:.0e}", kTolerance));
  };
  check(train(tensor, initial, batches, plain, explain));
  check(train(sharded, initial, batches, by_rows, explain));
  check(train(pipeline, initial, batches,
              shard_map(pipelined_loss, {.mesh = pipe,
                                         .in_specs = {pipeline.params, P("data"), P("data")},
                                         .out_specs = {P()}}),
              explain));
  return agree ? 0 : 1;
}

int main(int argc, char** argv) {
  std::string path = kText;
  int64_t steps = 50;
  bool explain = false;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string arg = argv[i];
      if (arg == "--explain") {
        explain = true;
      } else if (arg == "--steps" && i + 1 < argc) {
        steps = std::atoll(argv[++i]);
        if (steps < 1)
          throw std::runtime_error(fmt::format("--steps: expected 1 at least, got {}", argv[i]));
      } else {
        path = arg;
      }
    }
    return run(path, steps, explain);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
