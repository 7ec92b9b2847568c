// Pi by throwing darts. Random numbers are a function of the key, so the estimate is the same on
// one device and on 64.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

using namespace tessera;

int main() {
  initialize({.devices = "cpu:64"});
  Mesh mesh = make_mesh({64}, {"darts"});
  auto estimate = [](const random::Key& key) {
    Array xy = random::uniform(key, {2, 1 << 20});
    Array inside = sum(square(xy), {.axis = 0}) < 1;
    return 4 * mean(astype(inside, float32));
  };
  auto sharded = jit([&](const random::Key& key) {
    Array xy = with_sharding_constraint(random::uniform(key, {2, 1 << 20}),
                                        NamedSharding(mesh, P(None, "darts")));
    Array inside = sum(square(xy), {.axis = 0}) < 1;
    return 4 * mean(astype(inside, float32));
  });
  const random::Key key = random::key(7);
  Array one = jit(estimate)(key), many = sharded(key);
  std::cout << "on one device " << one << ", on 64 " << many << "\n";
  return std::abs(one.item<float>() - many.item<float>()) < 1e-6f ? 0 : 1;
}
