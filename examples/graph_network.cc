// A graph network learns to which community each node of a graph belongs. Nodes send messages along
// edges, and each node adds up those that arrive, so the graph may have any shape.
#include <tessera/tessera.h>

#include <iostream>

#include "examples/timed.h"

using namespace tessera;

struct Graph {
  Array senders, receivers;  // (edges): the nodes at the two ends of each edge
};

struct Layer {
  Array own, message, bias;
};
struct Network {
  std::vector<Layer> layers;
};

Network random_network(random::Key key, const std::vector<int64_t>& widths) {
  Network out;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    const auto [a, b, rest] = random::split<3>(key);
    const Shape shape{widths[i], widths[i + 1]};
    const auto init = initializers::glorot_normal();
    out.layers.push_back({init(a, shape, float32), init(b, shape, float32), zeros(widths[i + 1])});
    key = rest;
  }
  return out;
}

// Returns the logits (nodes, classes). In each layer, a node gets the mean of its neighbours'
// messages.
Array apply(const Network& network, const Graph& graph, const Array& features) {
  const int64_t nodes = features.shape(0);
  const Array degree = segment_sum(ones(graph.receivers.size()), graph.receivers, nodes);
  Array x = features;
  for (const Layer& layer : network.layers) {
    const Array sent = take(matmul(x, layer.message), graph.senders, {.axis = 0});
    const Array heard =
        segment_sum(sent, graph.receivers, nodes) / expand_dims(maximum(degree, 1), 1);
    x = matmul(x, layer.own) + heard + layer.bias;
    if (&layer != &network.layers.back()) x = relu(x);
  }
  return x;
}

Array loss(const Network& network, const Graph& graph, const Array& features, const Array& labels) {
  const Array scores = log_softmax(apply(network, graph, features));
  return -mean(take_along_axis(scores, expand_dims(labels, 1), 1));
}

int main(int argc, char** argv) {
  // The nodes belong to four communities. Three of four edges stay within a community.
  const int64_t nodes = 2000, edges = 20'000, classes = 4, width = 32;
  const auto [a, b, c, d, e] = random::split<5>(random::key(0));
  const Array labels = remainder(arange(nodes), classes);
  const Array senders = random::randint(a, {edges}, 0, nodes);
  const Array within =
      classes * random::randint(b, {edges}, 0, nodes / classes) + remainder(senders, classes);
  const Graph graph{senders, where(random::bernoulli(c, 0.75, Shape{edges}), within,
                                   random::randint(d, {edges}, 0, nodes))};
  const Array features = one_hot(labels, classes) + 2 * random::normal(e, {nodes, classes});

  Network network = random_network(random::key(1), {classes, width, width, classes});
  const auto optimizer = optim::adam(1e-2);
  auto state = optimizer.init(network);
  const auto step = jit([&](const Network& n, const auto& s) {
    const auto [value, gradient] = value_and_grad(loss)(n, graph, features, labels);
    const auto [updates, next] = optimizer.update(gradient, s, n);
    return std::tuple(optim::apply_updates(n, updates), next, value);
  });
  const auto accuracy = [&](const Array& logits) {
    return mean(astype(argmax(logits, {.axis = -1}) == labels, float32)).item<double>();
  };
  const Network start = network;
  Array value;
  for (int i = 0; i < 100; ++i) std::tie(network, state, value) = step(network, state);
  const double by_features = accuracy(features),
               learned = accuracy(apply(network, graph, features));
  std::cout << "accuracy by the features alone " << by_features << ", by the network " << learned
            << "\n";

  // The check: with nodes and edges in another order, the logits are the same, in that order.
  const Array order = random::permutation(random::key(2), nodes), place = argsort(order);
  const Array edge_order = random::permutation(random::key(3), edges);
  const Graph moved{take(place, take(graph.senders, edge_order)),
                    take(place, take(graph.receivers, edge_order))};
  const Array logits = apply(network, graph, features);
  const Array others = apply(network, moved, take(features, order, {.axis = 0}));
  const double off = max(abs(take(logits, order, {.axis = 0}) - others)).item<double>();
  std::cout << "in another order the logits differ by " << off << "\n";
  const auto gradients = jit([](const Network& n, const Graph& g, const Array& x, const Array& y) {
    return value_and_grad(loss)(n, g, x, y);
  });
  const double first = gradients(start, graph, features, labels).first.item<double>();
  print_times(argc, argv, first, [&] { gradients(start, graph, features, labels); });
  return off < 1e-3 && learned > 0.9 && by_features < 0.6 ? 0 : 1;
}
