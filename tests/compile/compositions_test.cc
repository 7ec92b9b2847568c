// Every composition of jit, grad, vmap, scan, checkpoint and shard_map, two and three deep. Applied
// to an elementwise function, each transform returns the function itself, except grad, which
// returns its derivative. So the expected values are those of the derivative whose order is the
// number of grads.
#include <cmath>
#include <functional>

#include "tessera/ir/format.h"
#include "tests/compile/devices.h"

namespace tessera::compositions_test {
namespace {

using F = std::function<Array(const Array&)>;

// A function and its first three derivatives.
struct Known {
  const char* name;
  F f;
  double (*derivatives[4])(double);
};

const Known kFunctions[] = {
    {"sin",
     [](const Array& x) { return sin(x); },
     {[](double x) { return std::sin(x); }, [](double x) { return std::cos(x); },
      [](double x) { return -std::sin(x); }, [](double x) { return -std::cos(x); }}},
    {"cubic",
     [](const Array& x) { return x * x * x - 2 * x; },
     {[](double x) { return x * x * x - 2 * x; }, [](double x) { return 3 * x * x - 2; },
      [](double x) { return 6 * x; }, [](double) { return 6.0; }}},
    {"exp_minus",
     [](const Array& x) { return where(x > 10, 0, exp(-x)); },
     {[](double x) { return std::exp(-x); }, [](double x) { return -std::exp(-x); },
      [](double x) { return std::exp(-x); }, [](double x) { return -std::exp(-x); }}}};

enum Transform { kJit, kGrad, kVmap, kScan, kCheckpoint, kShardMap, kCount };
constexpr const char* kNames[] = {"jit", "grad", "vmap", "scan", "checkpoint", "shard_map"};

// Applies a transform. A shard_map is manual over `mesh_axis`.
F apply(Transform transform, const F& f, const char* mesh_axis) {
  switch (transform) {
    case kJit:
      return jit(f);
    case kGrad:
      return grad([f](const Array& x) { return sum(f(x)); });
    case kVmap:
      return vmap(f);
    case kScan:
      return [f](const Array& xs) {
        const auto step = [f](const Array& count, const Array& x) {
          return std::pair(count + 1, f(x));
        };
        return scan(step, Array(0), xs).second;
      };
    case kCheckpoint:
      return checkpoint(f);
    case kShardMap:
      return [f, mesh_axis](const Array& x) {
        const PartitionSpec spec = x.ndim() > 0 ? P(mesh_axis) : P();
        return shard_map(
            f,
            {.mesh = mesh24(), .in_specs = {spec}, .out_specs = {spec}, .axis_names = {mesh_axis}})(
            x);
      };
    case kCount:
      break;
  }
  return f;
}

class Compositions : public DevicesTest {
 protected:
  // `transforms` begins with the outermost one.
  static void check(const Known& known, const std::vector<Transform>& transforms) {
    std::string name = known.name;
    F f = known.f;
    int order = 0, maps = 0;
    for (size_t i = transforms.size(); i-- > 0;) {
      name = fmt::format("{}({})", kNames[transforms[i]], name);
      maps += transforms[i] == kShardMap;
      order += transforms[i] == kGrad;
      // An inner shard_map is manual over another axis than the one around it.
      f = apply(transforms[i], f, maps % 2 == 1 ? "x" : "y");
    }
    if (maps > 2) return;  // the mesh has two axes
    SCOPED_TRACE(name);
    const Array x = sin(reshape(arange(512.f), {8, 8, 8})) * 2;
    Array y;
    ASSERT_NO_THROW(y = f(x)) << name;
    ASSERT_EQ(y.shape(), x.shape());
    const std::vector<float> in = values(x), out = values(y);
    for (size_t i = 0; i < in.size(); ++i) {
      const double want = known.derivatives[order](in[i]);
      ASSERT_NEAR(out[i], want, 2e-5 * (1 + std::abs(want))) << "element " << i;
    }
  }
};

TEST_F(Compositions, TwoDeep) {
  for (const Known& known : kFunctions)
    for (int a = 0; a < kCount; ++a)
      for (int b = 0; b < kCount; ++b)
        check(known, {static_cast<Transform>(a), static_cast<Transform>(b)});
}

TEST_F(Compositions, ThreeDeep) {
  for (int a = 0; a < kCount; ++a)
    for (int b = 0; b < kCount; ++b)
      for (int c = 0; c < kCount; ++c)
        check(kFunctions[(a + b + c) % 3],
              {static_cast<Transform>(a), static_cast<Transform>(b), static_cast<Transform>(c)});
}

}  // namespace
}  // namespace tessera::compositions_test
