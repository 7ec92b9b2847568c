// Programs that the partitioner shards over several processes. Whatever collectives it chooses, the
// results must have the bits of a run with one process.
#include "tessera/ir/format.h"
#include "tests/cluster/recorded.h"

namespace tessera::programs_test {
namespace {

// The parameter selects a mesh in which the devices of a process are a box, or one in which they
// are not.
class Programs : public ClusterTest, public testing::WithParamInterface<int> {
 protected:
  Mesh m() const { return GetParam() == 0 ? mesh({2, 4}) : mesh({2, 4}, {5, 0, 3, 6, 1, 2, 7, 4}); }
  NamedSharding on(PartitionSpec spec) const { return NamedSharding(m(), std::move(spec)); }
  Array array(const Shape& shape, uint64_t seed, PartitionSpec spec, DType dtype = float32) const {
    return placed(dtype, shape, seed, on(std::move(spec)));
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, Programs, testing::Values(0, 1));

TEST_P(Programs, Products) {
  const std::vector<PartitionSpec> specs{P(),
                                         P("x"),
                                         P("y"),
                                         P(None, "x"),
                                         P(None, "y"),
                                         P("x", "y"),
                                         P("y", "x"),
                                         P(joint("x", "y")),
                                         P(None, joint("x", "y"))};
  for (size_t a = 0; a < specs.size(); ++a)
    for (size_t b = 0; b < specs.size(); b += 1 + a % 2) {
      const auto f = jit([](const Array& u, const Array& v) { return matmul(u, v); },
                         {.out_shardings = {on(specs[(a + b) % specs.size()])}});
      same(fmt::format("{} {}", a, b),
           f(array({64, 72}, 1, specs[a]), array({72, 40}, 2, specs[b])));
    }
  for (DType dtype : {bfloat16, float16, float64, complex64, int32}) {
    const auto f = jit([](const Array& u, const Array& v) { return matmul(u, v); });
    same(fmt::format("{}", dtype),
         f(array({64, 96}, 1, P("x", "y"), dtype), array({96, 32}, 2, P("y"), dtype)));
  }
  const auto batched = jit([](const Array& u, const Array& v) {
    return einsum("bij,bjk->bik", {u, v});
  });
  same("batched", batched(array({8, 24, 32}, 1, P("x", None, "y")), array({8, 32, 16}, 2, P("x"))));
  // A long sum that is computed in parts, and a matrix of many rows.
  const auto dot = jit([](const Array& u, const Array& v) { return matmul(u, v); });
  same("long", dot(array({3, 262144}, 1, P(None, "y")), array({262144, 2}, 2, P("y"))));
  same("tall", dot(array({4096, 64}, 1, P(joint("x", "y"))), array({64, 48}, 2, P())));
  const auto biased = jit([](const Array& u, const Array& v, const Array& c) {
    return maximum(matmul(u, v) + c, 0.f);
  });
  same("biased",
       biased(array({64, 96}, 1, P("x", "y")), array({96, 32}, 2, P("y")), array({32}, 3, P())));
}

TEST_P(Programs, LayersOfNetworks) {
  const Array x = array({16, 24, 32}, 1, P("x", None, "y"));
  same("softmax", jit([](const Array& v) { return softmax(v); })(x));
  same("softmax0", jit([](const Array& v) { return softmax(v, 0); })(x));
  same("norm", jit([](const Array& v) {
         const Array mu = mean(v, {.axis = -1, .keepdims = true}), d = v - mu;
         return d * lax::rsqrt(mean(d * d, {.axis = -1, .keepdims = true}) + 1e-5f);
       })(x));
  same("logsumexp", jit([](const Array& v) { return logsumexp(v, {.axis = {0, 2}}); })(x));
  const Array image = array({8, 3, 20, 20}, 2, P("x", None, "y")),
              kernel = array({6, 3, 3, 3}, 3, P());
  const auto convolved = [](const Array& i, const Array& k) {
    return lax::conv(i, k, {1, 1}, "SAME");
  };
  same("conv", jit(convolved)(image, kernel));
  const auto loss = [=](const Array& i, const Array& k) {
    const Array y = convolved(i, k);
    return sum(y * y);
  };
  const auto [di, dk] = jit(grad<0, 1>(loss))(image, kernel);
  same("conv di", di), same("conv dk", dk);
  const Array q = array({4, 16, 4, 8}, 5, P("x", None, "y"));
  same("attention", jit([](const Array& v) { return dot_product_attention(v, v, v); })(q));
}

TEST_P(Programs, Structure) {
  const Array x = array({24, 20}, 1, P("x", "y")), y = array({17, 9}, 2, P("y", "x"));
  const auto check = [&](const std::string& name, const std::function<Array(const Array&)>& f) {
    for (const auto& [which, v] : {std::pair("even", x), std::pair("uneven", y)}) {
      same(name + ' ' + which, jit(f)(v));
      same(name + " whole " + which, jit(f, {.out_shardings = {on(P())}})(v));
    }
  };
  check("roll", [](const Array& v) { return roll(v, 3, 0); });
  check("roll1", [](const Array& v) { return roll(v, -5, 1); });
  check("concatenate", [](const Array& v) { return concatenate({v, 2 * v, v}, 0); });
  check("concatenate1", [](const Array& v) { return concatenate({v, 2 * v}, 1); });
  check("pad", [](const Array& v) { return pad(v, {{3, 2}, {1, 0}}); });
  check("transpose", [](const Array& v) { return transpose(v); });
  check("reshape", [](const Array& v) { return reshape(v, {-1}); });
  check("flip", [](const Array& v) { return flip(v, 0); });
  check("cumsum", [](const Array& v) { return cumsum(v, {.axis = 0}); });
  check("cumsum1", [](const Array& v) { return cumsum(v, {.axis = 1}); });
  check("sort", [](const Array& v) { return sort(v, {.axis = 0}); });
  check("argsort", [](const Array& v) { return argsort(v, {.axis = 1}); });
  check("top_k", [](const Array& v) { return top_k(v, 4).first; });
  check("sums", [](const Array& v) { return sum(v); });
  check("mean0", [](const Array& v) { return mean(v, {.axis = 0}); });
  check("max1", [](const Array& v) { return max(v, {.axis = 1}); });
  check("argmax", [](const Array& v) { return argmax(v, {.axis = 0}); });
  check("std", [](const Array& v) { return std(v); });
  check("slice", [](const Array& v) { return lax::slice(v, {2, 1}, {15, 8}); });
  check("fft", [](const Array& v) { return fft::fft(v); });
  check("fft2", [](const Array& v) { return fft::fft2(v); });
}

TEST_P(Programs, GathersAndScatters) {
  const Array x = array({24, 20}, 1, P("x", "y")), i = array({13}, 2, P("y"), int32) % 24,
              u = array({13, 20}, 3, P("x", "y"));
  same("take", jit([](const Array& v, const Array& at) { return take(v, at, {.axis = 0}); })(x, i));
  same("take1",
       jit([](const Array& v, const Array& at) { return take(v, at % 20, {.axis = 1}); })(x, i));
  same("segment_sum", jit([](const Array& v, const Array& at) { return segment_sum(v, at, 24); })(
                          array({13, 5}, 4, P("y")), i));
  same("added", jit([](const Array& v, const Array& rows, const Array& w) {
         return at(v)[{rows}].add(w);
       })(x, i, u));
  same("dynamic", jit([](const Array& v, const Array& at) {
         return lax::dynamic_slice(
             v, std::array{index_in_dim(at, 0, 0, false), index_in_dim(at, 1, 0, false)}, {7, 6});
       })(x, i));
}

// The sums of all gradients are one collective. Its small arrays are sent as one message, and the
// large one separately. The same happens in loops, and for weights that are stored in parts and
// gathered.
TEST_P(Programs, StepsOfManySmallWeights) {
  const auto loss = [](const std::vector<Array>& w, const Array& rows) {
    Array h = matmul(rows, w[0]);
    for (size_t k = 1; k < w.size(); ++k) h = tanh(h * (1 + w[k]) + w[k]);
    return mean(square(h));
  };
  const auto step = [&](const std::vector<Array>& w, const Array& rows) {
    const std::vector<Array> gradients = grad(loss)(w, rows);
    std::vector<Array> out;
    for (size_t k = 0; k < w.size(); ++k) out.push_back(w[k] - 0.1f * gradients[k]);
    return out;
  };
  const auto steps = [&](const std::vector<Array>& w, const Array& rows) {
    return fori_loop(
        0, 3, [&](const Array&, const std::vector<Array>& v) { return step(v, rows); }, w);
  };
  const Array rows = array({32, 96}, 1, P(joint("x", "y")));
  for (const auto& [name, spec] : {std::pair("data", P()), std::pair("stored in parts", P("y"))}) {
    std::vector<Array> w{array({96, 256}, 2, P())};
    for (uint64_t k = 0; k < 5; ++k) w.push_back(array({256}, 3 + k, spec));
    const std::vector<Array> once = jit(step)(w, rows), thrice = jit(steps)(w, rows);
    for (size_t k = 0; k < w.size(); ++k) {
      same(fmt::format("{} once {}", name, k), once[k]);
      same(fmt::format("{} thrice {}", name, k), thrice[k]);
    }
  }
}

// Libraries with threads of their own compute one matrix for each device: on all devices, and on
// two devices of different processes.
TEST_P(Programs, Factorizations) {
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, {3, 4}}) {
    const auto n = static_cast<int64_t>(order.size());
    const NamedSharding cut(mesh({n}, order), P("x"));
    const Array a = placed(float32, {n, 400, 400}, 5, cut);
    const auto f = jit([](const Array& v) {
      const Array s = matmul(v, swapaxes(v, 1, 2)) + 10 * eye(400);
      return std::tuple(linalg::cholesky(s), linalg::solve(s, v), linalg::inv(s), linalg::qr(v).r,
                        linalg::eigh(s).eigenvalues);
    });
    const auto [factor, solution, inverse, r, eigenvalues] = f(a);
    same(fmt::format("qr {}", n), r);
    same(fmt::format("eigh {}", n), eigenvalues);
    same(fmt::format("cholesky {}", n), factor);
    same(fmt::format("solve {}", n), solution);
    same(fmt::format("inv {}", n), inverse);
  }
}

TEST_P(Programs, RandomNumbers) {
  const auto key = random::key(3);
  const auto f = jit(
      [&] {
        return random::normal(key, {48, 20});
      },
      {.out_shardings = {on(P("x", "y"))}});
  same("normal", f());
  same("bits", jit([&] { return random::bits(key, {17, 8}); }, {.out_shardings = {on(P("y"))}})());
  same("permutation", jit([&] { return random::permutation(key, 40); })());
}

}  // namespace
}  // namespace tessera::programs_test
