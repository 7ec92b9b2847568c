// Lesson 8: shard_map, and collectives by hand.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  initialize({.devices = "cpu:4"});
  const Mesh mesh(devices(), {"x"});
  const Array numbers = arange(8.0f);

  const auto local_sums = shard_map([](const Array& part) { return expand_dims(sum(part), 0); },
                                    {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}});
  std::cout << local_sums(numbers) << "\n";

  const auto total = shard_map([](const Array& part) { return psum(sum(part), "x"); },
                               {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
  std::cout << total(numbers) << "\n";

  const auto forgotten = shard_map([](const Array& part) { return sum(part); },
                                   {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}});
  try {
    forgotten(numbers);
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }

  const std::vector<std::pair<int, int>> to_the_right{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const auto shifted =
      shard_map([&](const Array& part) { return ppermute(part, "x", to_the_right); },
                {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}});
  std::cout << shifted(numbers) << "\n";

  const auto gathered = shard_map(
      [](const Array& part) {
        const Array all = all_gather(part, "x", {.tiled = true});
        return expand_dims(max(all) - part, 0);
      },
      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}});
  std::cout << gathered(numbers) << "\n";

  const auto ring_sum = shard_map(
      [&](const Array& part) {
        const auto hop = [&](const std::pair<Array, Array>& state, NoneType) {
          const Array arrived = ppermute(state.second, "x", to_the_right);
          return std::pair(std::pair(state.first + arrived, arrived), None);
        };
        return scan(hop, std::pair(part, part), None, {.length = 3}).first.first;
      },
      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}});
  std::cout << ring_sum(numbers) << "\n";

  const Array w = array(2.0f), x = array({1.0f, 2.0f, 3.0f, 4.0f});
  const auto loss = [](const Array& w, const Array& x) { return mean(square(w * x)); };
  const auto own =
      shard_map([&](const Array& w, const Array& x) { return expand_dims(grad(loss)(w, x), 0); },
                {.mesh = mesh, .in_specs = {P(), P("x")}, .out_specs = {P("x")}});
  std::cout << own(w, x) << "\n";

  const auto averaged =
      shard_map([&](const Array& w, const Array& x) { return pmean(grad(loss)(w, x), "x"); },
                {.mesh = mesh, .in_specs = {P(), P("x")}, .out_specs = {P()}});
  std::cout << averaged(w, x) << " " << grad(loss)(w, x) << "\n";

  const auto of_the_mean = shard_map(
      [&](const Array& w, const Array& x) {
        const auto shared_loss = [&](const Array& w) { return pmean(loss(w, x), "x"); };
        return grad(shared_loss)(w);
      },
      {.mesh = mesh, .in_specs = {P(), P("x")}, .out_specs = {P()}});
  std::cout << of_the_mean(w, x) << "\n";
}
