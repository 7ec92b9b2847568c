// Attention scores, with queries and keys sharded along the sequence. Keys travel around a ring of
// devices, so that no device ever has all of them.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  initialize({.devices = "cpu:8"});
  Mesh ring(devices(), {"seq"});
  const int n = static_cast<int>(device_count());
  Array q = random::normal(random::key(0), {256, 64}),
        k = random::normal(random::key(1), {256, 64});

  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < n; ++i) next.push_back({i, (i + 1) % n});
  auto scores = shard_map(
      [&](const Array& q, const Array& k) {
        // After step s, a device has the keys of the device s positions before it in the ring.
        Array block = k, me = axis_index("seq");
        Array out = zeros({q.shape(0), q.shape(0) * n});
        for (int s = 0; s < n; ++s) {
          Array source = remainder(me - s + n, n);
          out = dynamic_update_slice(out, matmul(q, transpose(block)),
                                     {Array(0), source * int(q.shape(0))});
          if (s + 1 < n) block = ppermute(block, "seq", next);
        }
        return out;
      },
      {.mesh = ring, .in_specs = {P("seq"), P("seq")}, .out_specs = {P("seq")}});

  auto program = jit(scores);
  Array ours = program(q, k), expected = matmul(q, transpose(k));
  std::cout << program.lower(q, k).explain();
  std::cout << "largest difference from q k^T on one device: " << max(abs(ours - expected)) << "\n";
  return allclose(ours, expected, {.rtol = 1e-4, .atol = 1e-3}) ? 0 : 1;
}
