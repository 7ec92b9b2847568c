// jit: when functions are traced and compiled, which arguments they may have, and errors.
#include "tessera/compile/jit.h"

#include <atomic>
#include <thread>

#include "tests/compile/devices.h"

namespace tessera::jit_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Jit : public DevicesTest {};

int64_t compiled() { return compile_stats().programs_compiled; }

// --- Caching ---

TEST_F(Jit, CompilesOncePerType) {
  int traced = 0;
  const auto f = jit([&](const Array& x) {
    ++traced;
    return sin(x) * 3 + 0.25;
  });
  const Array x = iota({7});
  const int64_t before = compiled();
  for (int i = 0; i < 5; ++i) f(x);
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(compiled() - before, 1);
  f(iota({9}));
  EXPECT_EQ(traced, 2);
  f(astype(iota({7}), float16));
  EXPECT_EQ(traced, 3);
  f(iota({7}));
  EXPECT_EQ(traced, 3);
}

// A loop as in the tutorial, with jit inside.
TEST_F(Jit, EqualProgramsAreCompiledOnceThoughJittedAnew) {
  const Array x = iota({11});
  const auto once = [&] { return jit([](const Array& v) { return cos(v) * 1.5 - 0.125; })(x); };
  once();
  const int64_t before = compiled(), hits = compile_stats().program_cache_hits;
  for (int i = 0; i < 10; ++i) once();
  EXPECT_EQ(compiled(), before);
  EXPECT_EQ(compile_stats().program_cache_hits, hits + 10);
}

TEST_F(Jit, ShardingsArePartOfTheKey) {
  int traced = 0;
  const auto f = jit([&](const Array& x) {
    ++traced;
    return x + 1;
  });
  const Array x = iota({16, 8});
  f(x);
  f(device_put(x, on8(P("x"))));
  f(device_put(x, on8(P("x"))));
  f(device_put(x, on8(P(None, "x"))));
  EXPECT_EQ(traced, 3);
}

TEST_F(Jit, X64IsPartOfTheKey) {
  const auto f = jit([](const Array& x) { return arange(4) + x; });
  EXPECT_EQ(f(Array(1)).dtype(), int32);
  enable_x64(true);
  EXPECT_EQ(f(Array(1)).dtype(), int64);
  enable_x64(false);
  EXPECT_EQ(f(Array(1)).dtype(), int32);
}

TEST_F(Jit, ConcurrentCallsAgree) {
  const auto f = jit([](const Array& x, const Array& y) {
    return matmul(x, y) + sum(x, {.axis = 1, .keepdims = true});
  });
  const Array a = device_put(iota({16, 16}), on8(P("x"))), b = iota({16, 16});
  const std::vector<float> expected = values(f(a, b));
  clear_caches();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (values(f(a, b)) != expected) ++wrong;
        const float c = static_cast<float>(t % 3);
        if (jit([c](const Array& x) { return x * 2 + c; })(Array(1.f)).item<float>() != 2 + c)
          ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// --- Trees ---

struct Layer {
  Array kernel, bias;
  bool use_bias = true;
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> extra;
  std::optional<Array> scale;
  int steps = 1;
};
class Listed {
 public:
  Listed(Array a, Array b) : a_(std::move(a)), b_(std::move(b)) {}
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.a_, self.b_);
  }
  const Array& a() const { return a_; }
  const Array& b() const { return b_; }

 private:
  Array a_, b_;
};

TEST_F(Jit, TakesAndReturnsTrees) {
  const auto f =
      jit([](const std::pair<Array, Array>& p, const std::tuple<Array, std::vector<Array>>& t) {
        return std::map<std::string, std::pair<Array, Array>>{
            {"a", {p.first + p.second, std::get<0>(t)}},
            {"b", {std::get<1>(t)[0], std::get<1>(t)[1] * 2}}};
      });
  const auto out = f(std::pair(Array(1.f), Array(2.f)),
                     std::tuple(Array(3.f), std::vector<Array>{Array(4.f), Array(5.f)}));
  EXPECT_EQ(out.at("a").first.item<float>(), 3);
  EXPECT_EQ(out.at("a").second.item<float>(), 3);
  EXPECT_EQ(out.at("b").first.item<float>(), 4);
  EXPECT_EQ(out.at("b").second.item<float>(), 10);
}

TEST_F(Jit, StructsAndTheirStaticFields) {
  int traced = 0;
  const auto f = jit([&](const Model& m, const Array& x) {
    ++traced;
    Array h = x;
    for (int i = 0; i < m.steps; ++i)
      for (const Layer& l : m.layers) {
        h = matmul(h, l.kernel);
        if (l.use_bias) h = h + l.bias;
      }
    if (m.scale) h = h * *m.scale;
    for (const auto& [name, v] : m.extra) h = h + v;
    return h;
  });
  Model m{.layers = {{iota({2, 2}), ones({2}), true}}};
  const Array x = iota({1, 2});  // [0, 1] @ [[0, 1], [2, 3]] = [2, 3]
  EXPECT_THAT(values(f(m, x)), ElementsAre(3, 4));
  EXPECT_EQ(traced, 1);
  m.layers[0].kernel = iota({2, 2}) + 1;  // other data need no new trace
  EXPECT_THAT(values(f(m, x)), ElementsAre(4, 5));
  EXPECT_EQ(traced, 1);
  m.layers[0].use_bias = false;  // another static value is a new trace
  EXPECT_THAT(values(f(m, x)), ElementsAre(3, 4));
  EXPECT_EQ(traced, 2);
  m.scale = Array(2.f);  // whether an optional is present is structure
  EXPECT_THAT(values(f(m, x)), ElementsAre(6, 8));
  m.extra["z"] = Array(1.f);
  EXPECT_THAT(values(f(m, x)), ElementsAre(7, 9));
  m.steps = 2;
  f(m, x);
  EXPECT_EQ(traced, 5);
}

TEST_F(Jit, ClassesThatListTheirFields) {
  const auto f = jit([](const Listed& l) { return Listed(l.a() + l.b(), l.a() * l.b()); });
  const Listed out = f(Listed(Array(3.f), Array(4.f)));
  EXPECT_EQ(out.a().item<float>(), 7);
  EXPECT_EQ(out.b().item<float>(), 12);
}

TEST_F(Jit, NumbersAreTracedWhereArraysAreTaken) {
  int traced = 0;
  const auto f = jit([&](const Array& x, const Array& y) {
    ++traced;
    return x * y;
  });
  EXPECT_EQ(f(2.0, 3.0).item<float>(), 6);
  EXPECT_EQ(f(4.0, 5.0).item<float>(), 20);
  EXPECT_EQ(traced, 1);
  EXPECT_TRUE(f(2.0, 3.0).weak_type());
  // A parameter that is a C++ int is static.
  const auto power = jit([&](const Array& x, int n) {
    ++traced;
    Array y = x;
    for (int i = 1; i < n; ++i) y = y * x;
    return y;
  });
  EXPECT_EQ(power(Array(2.f), 3).item<float>(), 8);
  EXPECT_EQ(power(Array(2.f), 4).item<float>(), 16);
  EXPECT_EQ(traced, 3);
}

TEST_F(Jit, EmptyTreesAndConstantResults) {
  EXPECT_TRUE(jit([](const std::vector<Array>& v) { return v; })(std::vector<Array>{}).empty());
  EXPECT_THAT(values(jit([] { return ones({3}); })()), ElementsAre(1, 1, 1));
  const Array x = iota({3});
  EXPECT_THAT(values(jit([](const Array& v) { return std::pair(v, v); })(x).second),
              ElementsAre(0, 1, 2));
}

// Each result has memory of its own size, in whatever order results are computed.
TEST_F(Jit, ResultsInAnotherOrderThanComputed) {
  const auto f = jit([](const Array& x) {
    const Array small = sum(x, {.axis = 0});
    return std::pair(matmul(reshape(small, {64, 1}), reshape(small, {1, 64})), small);
  });
  for (int i = 0; i < 3; ++i) {
    const auto [large, small] = f(iota({2, 64}));
    EXPECT_EQ(values(large)[65], 66 * 66);
    EXPECT_EQ(values(small)[1], 66);
  }
}

// --- Closures and nesting ---

TEST_F(Jit, ClosesOverArrays) {
  const Array big = iota({100}), small = Array(2.f);
  const auto f = jit([&](const Array& x) { return sum(big) * small + x; });
  EXPECT_EQ(f(Array(1.f)).item<float>(), 4950 * 2 + 1);
  EXPECT_EQ(f(Array(2.f)).item<float>(), 4950 * 2 + 2);
}

TEST_F(Jit, NestedJitIsInlined) {
  const auto inner = jit([](const Array& x) { return x * 2; });
  const auto outer = jit([&](const Array& x) {
    const Array scale = x + 1;  // a tracer of the outer trace
    return jit([&](const Array& y) { return inner(y) * scale; })(x);
  });
  EXPECT_EQ(outer(Array(3.f)).item<float>(), 24);
}

TEST_F(Jit, NestedShardingsAreConstraints) {
  const auto inner = jit([](const Array& x) { return x * 2; },
                         {.in_shardings = {on8(P("x"))}, .out_shardings = {on8(P(None, "x"))}});
  const auto outer = jit([&](const Array& x) { return inner(x + 1); });
  const Array y = outer(device_put(iota({8, 8}), on8(P())));
  EXPECT_EQ(y.sharding().named().spec(), P(None, "x"));
}

// --- Shardings and donation ---

TEST_F(Jit, InAndOutShardings) {
  const auto f = jit([](const Array& x, const Array& y) { return std::pair(x + 1, y * 2); },
                     {.in_shardings = {on24(P("x")), on24(P())},
                      .out_shardings = {on24(P(None, "y")), on24(P("x", "y"))}});
  const auto [a, b] = f(iota({8, 8}), device_put(iota({8, 8}), on24(P("y"))));
  EXPECT_EQ(a.sharding().named(), on24(P(None, "y")));
  EXPECT_EQ(b.sharding().named(), on24(P("x", "y")));
  EXPECT_EQ(values(a)[9], 10);
  EXPECT_EQ(values(b)[9], 18);
}

TEST_F(Jit, ShardingsOfTrees) {
  const auto f =
      jit([](const std::pair<Array, Array>& p) { return p; },
          {.in_shardings = {{on8(P("x")), on8(P())}}, .out_shardings = {{on8(P()), on8(P("x"))}}});
  const auto out = f(std::pair(iota({8}), iota({16})));
  EXPECT_TRUE(is_fully_replicated(out.first));
  EXPECT_EQ(out.second.sharding().named(), on8(P("x")));
}

TEST_F(Jit, BadShardingsAreErrors) {
  const auto one = [](const Array& x) { return x + 1; };
  EXPECT_THAT(error_of([&] {
                jit(one, {.in_shardings = {on8(P("x")), on8(P())}})(iota({8}));
              }),
              HasSubstr("in_shardings"));
  EXPECT_THAT(error_of([&] {
                jit(one, {.out_shardings = {on8(P()), on8(P())}})(iota({8}));
              }),
              HasSubstr("out_shardings"));
  EXPECT_THAT(error_of([&] { jit(one, {.in_shardings = {on8(P(None, "x"))}})(iota({8})); }),
              HasSubstr("at most 1 entry"));
  EXPECT_THAT(error_of([&] { jit(one, {.out_shardings = {on8(P(None, "x"))}})(iota({8})); }),
              AllOf(HasSubstr("out_shardings"), HasSubstr("at most 1 entry")));
}

TEST_F(Jit, DonatedArraysAreDeleted) {
  const auto f =
      jit([](const Array& x, const Array& y) { return x * 2 + y; }, {.donate_argnums = {0}});
  const Array x = device_put(iota({1024}), on8(P("x"))), y = device_put(iota({1024}), on8(P("x")));
  EXPECT_EQ(values(f(x, y))[3], 9);
  EXPECT_THAT(error_of([&] { x.to_host(); }), HasSubstr("donated"));
  EXPECT_EQ(values(y)[3], 3);
  EXPECT_THAT(error_of([&] { jit([](const Array& v) { return v; }, {.donate_argnums = {1}})(y); }),
              HasSubstr("donate_argnums"));
}

// --- What is refused ---

TEST_F(Jit, ATracerIsNoBoolAndNoNumber) {
  EXPECT_THAT(error_of([] {
                jit([](const Array& x) {
                  if (x > 0) return x;
                  return -x;
                })(Array(1.f));
              }),
              HasSubstr("bool"));
  EXPECT_THAT(error_of([] { jit([](const Array& x) { return x * x.item<float>(); })(Array(1.f)); }),
              HasSubstr("traced"));
  EXPECT_THAT(error_of([] {
                jit([](const Array& x) {
                  x.to_host();
                  return x;
                })(Array(1.f));
              }),
              HasSubstr("traced"));
}

TEST_F(Jit, ATracerInAnotherThreadIsAnError) {
  std::string op, call, capture;
  jit([&](const Array& x) {
    std::thread([&] {
      op = error_of([&] { x + 1; });
      call = error_of([&] { jit([](const Array& y) { return y; })(x); });
      capture = error_of([&] { jit([&](const Array& y) { return y + x; })(Array(1.f)); });
    }).join();
    return x;
  })(Array(1.f));
  for (const std::string& error : {op, call, capture})
    EXPECT_THAT(error, HasSubstr("float32[] of another thread, in which its function is being "
                                 "traced; compute with it in that thread"));
}

TEST_F(Jit, ALeakedTracerIsAnError) {
  Array leaked;
  jit([&](const Array& x) {
    leaked = x + 1;
    return x;
  })(Array(1.f));
  EXPECT_THAT(error_of([&] { leaked + 1; }), HasSubstr("leaked"));
  EXPECT_THAT(error_of([&] { jit([](const Array& x) { return x; })(leaked); }),
              HasSubstr("leaked"));
  EXPECT_THAT(error_of([&] { jit([&](const Array& x) { return x + leaked; })(Array(1.f)); }),
              HasSubstr("leaked"));
  EXPECT_THAT(error_of([&] { leaked.to_host(); }), HasSubstr("traced"));
  // If the function returns it, the error is that of the transformation.
  const auto give = [&](const Array&) { return leaked; };
  EXPECT_THAT(error_of([&] { jit(give)(Array(1.f)); }),
              HasSubstr("[jit] expected an array of this trace"));
  EXPECT_THAT(error_of([&] { vmap(give)(ones({2})); }),
              HasSubstr("[vmap] expected an array of this trace"));
}

TEST_F(Jit, AFunctionThatThrowsLeavesNoTraceBehind) {
  const auto f = jit([](const Array& x) -> Array {
    if (x.ndim() == 1) throw std::runtime_error("mine");
    return x;
  });
  EXPECT_THROW(f(iota({3})), std::runtime_error);
  EXPECT_EQ(ir::Trace::current(), nullptr);
  EXPECT_EQ(values(f(iota({1, 1})))[0], 0);
}

TEST_F(Jit, ErrorsNameThePlaceOfTheCallOfJit) {
  const auto place = [](uint32_t line) {
    return fmt::format("; in the function that was jitted at {}:{}", __FILE__, line);
  };
  const Array x = iota({2, 3});
  uint32_t line = __LINE__ + 1;
  const auto wrong = jit([](const Array& v) { return matmul(v, v); });
  const std::string text = error_of([&] { wrong(x); });
  EXPECT_THAT(text, StartsWith("[matmul] expected"));
  EXPECT_THAT(text, EndsWith(place(line)));
  EXPECT_EQ(error_of([&] { wrong.lower(x); }), text);
  // An error while a program runs names its innermost jitted function.
  const auto call = [&](const Array& v) { return wrong(v); };
  const auto calls = jit([&](const Array& v) { return pure_callback(call, v, v); });
  EXPECT_EQ(error_of([&] { calls(x); }), text);
  const auto fail = [](const Array&) -> Array { throw std::runtime_error("no file"); };
  line = __LINE__ + 1;
  const auto fails = jit([&](const Array& v) { return pure_callback(fail, v, v); });
  EXPECT_THAT(error_of([&] { fails(x); }), AllOf(HasSubstr("no file"), EndsWith(place(line))));
  // A jitted function that is called while another one is traced is a part of the other one.
  line = __LINE__ + 1;
  const auto outer = jit([&](const Array& v) { return wrong(v) + v; });
  EXPECT_THAT(error_of([&] { outer(x); }), EndsWith(place(line)));
  EXPECT_THAT(error_of([&] { matmul(x, x); }), Not(HasSubstr("jitted")));
}

TEST_F(Jit, ArraysOnTwoMeshesAreRefused) {
  const Mesh four(create_device_mesh({4}, {.devices = std::vector<Device>(devices().begin(),
                                                                          devices().begin() + 4)}),
                  {"x"});
  const Array a = device_put(iota({8}), on8(P("x"))),
              b = device_put(iota({8}), NamedSharding(four, P("x")));
  EXPECT_THAT(error_of([&] { jit([](const Array& x, const Array& y) { return x + y; })(a, b); }),
              HasSubstr("same devices"));
  const Array c = device_put(iota({8}), devices()[1]), d = device_put(iota({8}), devices()[2]);
  EXPECT_THAT(error_of([&] { c + d; }), HasSubstr("one device"));
}

TEST_F(Jit, EvalShapeComputesNothing) {
  const auto out =
      eval_shape([](const Array& x, const Array& y) { return std::pair(matmul(x, y), sum(x)); },
                 iota({3, 4}), abstract_array({4, 5}, float32));
  EXPECT_EQ(out.first.shape(), Shape({3, 5}));
  EXPECT_EQ(out.second.shape(), Shape({}));
}

// What comes of an integer array and a C++ number takes another array's dtype. eval_shape tells.
TEST_F(Jit, EvalShapeKeepsWeakTypes) {
  const auto half = [](const Array& x) { return x + 0.5; };
  const Array small = astype(iota({3}), int8);
  EXPECT_TRUE(half(small).weak_type());
  EXPECT_TRUE(eval_shape(half, small).weak_type());
  EXPECT_FALSE(eval_shape(half, iota({3})).weak_type());
  EXPECT_EQ(
      (eval_shape([&](const Array& x) { return half(x) + astype(x, bfloat16); }, small)).dtype(),
      bfloat16);
}

}  // namespace
}  // namespace tessera::jit_test
