// The tutorial "Introduction to sharded computation" on eight emulated TPU cores: sharded data,
// three ways to compute with it, and what each of them communicates.
#include <algorithm>
#include <ostream>

#include "tessera/tessera.h"
#include "tools/commands.h"

namespace tessera::tools {
namespace {

void heading(std::ostream& out, std::string_view text) {
  out << "\n" << text << "\n" << std::string(text.size(), '=') << "\n\n";
}

void draw(std::ostream& out, std::string_view caption, const Array& x) {
  out << caption << "\n" << sharding_table(x.shape(), x.sharding()) << "\n";
}

void show_explanation(std::ostream& out, const std::string& text) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out << "  | " << text.substr(begin, end - begin) << "\n";
    begin = end + 1;
  }
  out << "\n";
}

void sharded_data(std::ostream& out, const Mesh& mesh, const Array& readings) {
  heading(out, "1. Data on many devices");
  out << "A mesh names the axes of a grid of devices:\n  " << mesh << "\n"
      << "A partition spec names, for each dimension of an array, the mesh axes that shard it.\n"
      << "Six hours of readings at sixteen stations, float32" << readings.shape() << ":\n\n";
  draw(out, "Sharded along both, P(\"x\", \"y\"): every core holds a block.",
       device_put(readings, NamedSharding(mesh, P("x", "y"))));
  draw(out, "Cut by stations, P(None, \"y\"): both cores of a column hold the same.",
       device_put(readings, NamedSharding(mesh, P(None, "y"))));
  draw(out,
       "Cut by hours, P(\"y\"): six hours do not divide by four, so the last shards are short.",
       device_put(readings, NamedSharding(mesh, P("y"))));
}

void automatic(std::ostream& out, const Array& blocks) {
  heading(out, "2. Automatic: computation follows data");
  out << "A jitted function of a sharded array is partitioned for the devices the array is on. "
         "What is pointwise stays where it is:\n\n";
  const auto to_fahrenheit = jit([](const Array& celsius) { return celsius * 1.8 + 32; });
  draw(out, "celsius * 1.8 + 32", to_fahrenheit(blocks));
  show_explanation(out, to_fahrenheit.lower(blocks).explain());

  out << "A sum along a sharded dimension needs the other cores' parts; the collective is "
         "inserted, and explained:\n\n";
  const auto totals = jit([](const Array& x) { return sum(x, {.axis = 0}); });
  const Array by_station = totals(blocks);
  draw(out, "sum(x, axis 0)", by_station);
  show_explanation(out, totals.lower(blocks).explain());
  out << "totals by station: " << by_station << "\n";
}

void constrained(std::ostream& out, const Mesh& mesh, const Array& blocks) {
  heading(out, "3. Semi-automatic: constraints");
  out << "with_sharding_constraint says how a value inside the function is sharded; the rest "
         "follows. Here the totals are spread over\n"
      << "all cores instead of being copied along \"x\":\n\n";
  const NamedSharding spread(mesh, P(joint("y", "x")));
  const auto totals =
      jit([&](const Array& x) { return with_sharding_constraint(sum(x, {.axis = 0}), spread); });
  draw(out, "with_sharding_constraint(sum(x, axis 0), P((\"y\", \"x\")))", totals(blocks));
  show_explanation(out, totals.lower(blocks).explain());

  out << "A constraint can be expensive; explain() says so. Everything on every core:\n\n";
  const NamedSharding everywhere(mesh, P());
  const auto copied =
      jit([&](const Array& x) { return with_sharding_constraint(x * 2, everywhere); });
  show_explanation(out, copied.lower(blocks).explain());
}

void manual(std::ostream& out, const Mesh& line) {
  heading(out, "4. Manual: the function of one core");
  out << "Under shard_map the function sees its own shard, and says itself what it sends. Each "
         "core adds its left neighbour's mean:\n\n";
  const Array x = arange(32.0f);
  const auto smooth = [](const Array& mine) {
    std::vector<std::pair<int, int>> ring;
    for (int i = 0; i < 8; ++i) ring.emplace_back(i, (i + 1) % 8);
    return mine + ppermute(mean(mine), "x", ring);
  };
  const auto smoothed =
      jit(shard_map(smooth, {.mesh = line, .in_specs = {P("x")}, .out_specs = {P("x")}}));
  out << "smoothed: " << smoothed(x) << "\n\n";
  show_explanation(out, smoothed.lower(x).explain());

  out << "psum adds over the cores. The result is the same on all, which out_specs may then "
         "say:\n\n";
  const auto norm = [](const Array& mine) { return sqrt(psum(sum(mine * mine), "x")); };
  out << "norm: " << shard_map(norm, {.mesh = line, .in_specs = {P("x")}, .out_specs = {P()}})(x)
      << "\n\n";

  out << "Where it is not the same, the claim is refused:\n\n";
  try {
    shard_map([](const Array& mine) { return sum(mine); },
              {.mesh = line, .in_specs = {P("x")}, .out_specs = {P()}})(x);
  } catch (const UserError& e) {
    show_explanation(out, e.what());
  }
}

void layer_three_ways(std::ostream& out, const Mesh& line) {
  heading(out, "5. One layer, three ways");
  const auto layer = [](const Array& x, const Array& w, const Array& b) {
    return tanh(matmul(x, w) + b);
  };
  const Array x = sin(arange(16.0f)), w = reshape(cos(arange(64.0f)), {16, 4}),
              b = arange(4.0f) / 4;
  const NamedSharding cut(line, P("x")), rows(line, P("x", None));

  const auto automatic_layer = jit(layer);
  const Array on_one = automatic_layer(x, w, b),
              followed = automatic_layer(device_put(x, cut), device_put(w, rows), b);
  const Array asked = jit([&](const Array& x, const Array& w, const Array& b) {
    return layer(with_sharding_constraint(x, cut), with_sharding_constraint(w, rows), b);
  })(x, w, b);
  const auto own = [](const Array& x, const Array& w, const Array& b) {
    return tanh(psum(matmul(x, w), "x") + b);
  };
  const Array by_hand = shard_map(
      own, {.mesh = line, .in_specs = {P("x"), P("x", None), P(None)}, .out_specs = {P(None)}})(
      x, w, b);
  out << "on one device:  " << on_one << "\nautomatic:      " << followed
      << "\nsemi-automatic: " << asked << "\nmanual:         " << by_hand << "\n";
}

}  // namespace

void tour(std::ostream& out) {
  initialize({.devices = "tpu_v2:2x2"});
  out << "Eight emulated TPU v2 cores; they execute on this machine's CPU.\n\n";
  for (const Device& device : devices()) out << "  " << device << "\n";
  const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"}), line(create_device_mesh({8}), {"x"});
  const Array readings = reshape(arange(96.0f), {6, 16}) / 4 - 3;
  sharded_data(out, mesh, readings);
  const Array blocks = device_put(readings, NamedSharding(mesh, P("x", "y")));
  automatic(out, blocks);
  constrained(out, mesh, blocks);
  manual(out, line);
  layer_three_ways(out, line);
}

}  // namespace tessera::tools
