// Programs that a plugin compiles and runs.
#include "tessera/engine/client_program.h"

#include <map>

#include "tessera/compile/compiled.h"
#include "tests/engine/plugin_test.h"

namespace tessera::client_program_test {
namespace {

using namespace test;
using engine::ClientArray;
using ::testing::HasSubstr;
using ::testing::Not;

bool is_deleted(const Array& x) { return dynamic_cast<const ClientArray&>(*x.data()).is_deleted(); }

const engine::ClientProgram& client_program(const Compiled& compiled) {
  return dynamic_cast<const engine::ClientProgram&>(compiled.program());
}

// --- XLA's optimized program: the opcodes of all instructions, from protobuf's wire format ---

using Bytes = std::string_view;
uint64_t varint(Bytes& in) {
  uint64_t out = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in[0]);
    in.remove_prefix(1);
    out |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return out;
  }
}
void each_field(Bytes in, uint64_t wanted, const std::function<void(Bytes)>& f) {
  while (!in.empty()) {
    const uint64_t key = varint(in);
    switch (key & 7) {
      case 0:
        varint(in);
        break;
      case 1:
        in.remove_prefix(8);
        break;
      case 5:
        in.remove_prefix(4);
        break;
      default: {
        const size_t size = varint(in);
        if (key >> 3 == wanted) f(in.substr(0, size));
        in.remove_prefix(size);
      }
    }
  }
}
// HloModuleProtoWithConfig { 1 HloModuleProto { 3 computations { 2 instructions { 2 opcode } } } }
std::map<std::string, int> opcodes(const std::string& program) {
  std::map<std::string, int> out;
  each_field(program, 1, [&](Bytes module) {
    each_field(module, 3, [&](Bytes computation) {
      each_field(computation, 2, [&](Bytes instruction) {
        each_field(instruction, 2, [&](Bytes opcode) { ++out[std::string(opcode)]; });
      });
    });
  });
  return out;
}
std::map<std::string, int> collectives_of(const CompiledRef& compiled) {
  static const std::map<std::string, std::string> kNames = {
      {"all-reduce", "all_reduce"},
      {"all-gather", "all_gather"},
      {"reduce-scatter", "reduce_scatter"},
      {"all-to-all", "all_to_all"},
      {"collective-permute", "collective_permute"}};
  std::map<std::string, int> out;
  for (const auto& [opcode, count] : opcodes(client_program(*compiled).optimized_program()))
    if (const auto found = kNames.find(opcode); found != kNames.end()) out[found->second] = count;
  return out;
}

class ClientPrograms : public PluginTest {
 protected:
  // Expects that the plugin runs the collectives that explain() names, and no others. Returns them.
  template <class F, class... Args>
  static std::map<std::string, int> expect_planned_collectives(const F& f, const Args&... args) {
    const Lowered lowered = f.lower(args...);
    std::map<std::string, int> planned;
    for (const Collective& c : lowered.collectives()) ++planned[c.name];
    EXPECT_EQ(collectives_of(lowered.compile()), planned) << lowered.explain();
    return planned;
  }
};

TEST_F(ClientPrograms, ComputeOpByOp) {
  const Array x = arange(4.0);
  EXPECT_TRUE(dynamic_cast<const ClientArray*>(x.data().get()));
  EXPECT_EQ(values(2 * x + 1), (std::vector<float>{1, 3, 5, 7}));
  EXPECT_EQ(values(sin(x))[1], std::sin(1.f));
  EXPECT_EQ(sum(x).item<float>(), 6);
}

TEST_F(ClientPrograms, ComputeWhatEmulatedDevicesDo) {
  const auto f = [](const Array& x, const Array& w) {
    const auto step = [&](const Array& h, const Array& row) {
      return std::pair(tanh(matmul(h, w) + row), sum(h));
    };
    const auto [h, sums] = scan(step, zeros({8}), x);
    return sum(where(h > 0, h, exp(h))) + sum(sums * sums);
  };
  const Array x = iota({16, 8}) / 100.f, w = sin(iota({8, 8}));
  const auto run = [&] {
    return jit(value_and_grad(f))(device_put(x, on24(P("x", "y"))), device_put(w, on24(P())));
  };
  const auto [value, gradient] = run();
  initialize({.devices = "cpu:8"});
  const auto [expected, expected_gradient] = run();
  EXPECT_NEAR(value.item<float>(), expected.item<float>(), 1e-4);
  EXPECT_THAT(values(gradient),
              ::testing::Pointwise(::testing::FloatNear(1e-4f), values(expected_gradient)));
}

TEST_F(ClientPrograms, RunTheCollectivesOfThePlan) {
  const Array x = device_put(iota({16, 16}), on24(P("x", "y")));
  EXPECT_EQ(expect_planned_collectives(jit([](const Array& a) { return sum(a, {.axis = 1}); }), x),
            (std::map<std::string, int>{{"all_reduce", 1}}));
  expect_planned_collectives(jit([](const Array& a) { return matmul(a, a); }), x);
  expect_planned_collectives(
      jit([](const Array& a) { return a.dtype() == float32 ? transpose(a) : a; },
          {.out_shardings = {on24(P("x", "y"))}}),
      x);
  expect_planned_collectives(
      jit([](const Array& a) { return a * 2; }, {.out_shardings = {on24(P("y", "x"))}}), x);
  expect_planned_collectives(
      jit([](const Array& a) { return a * 2; }, {.out_shardings = {on24(P())}}), x);
  EXPECT_TRUE(expect_planned_collectives(jit([](const Array& a) { return sin(a); }), x).empty());
}

TEST_F(ClientPrograms, AskWhereTheyAre) {
  const Mesh mesh = mesh24();
  const auto where = [](const Array& x) {
    return x + (10 * axis_index("x") + axis_index("y")) + psum(x, "y");
  };
  const Array x = ones({2, 4});
  const auto f =
      shard_map(where, {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}});
  EXPECT_EQ(values(jit(f)(x)), (std::vector<float>{5, 6, 7, 8, 15, 16, 17, 18}));
  // Partitions are numbered by device; a mesh may have another order.
  const Mesh turned(std::vector<Device>(devices().rbegin(), devices().rend()), {"x"});
  const auto g = shard_map([](const Array& a) { return a + axis_index("x"); },
                           {.mesh = turned, .in_specs = {P("x")}, .out_specs = {P("x")}});
  EXPECT_EQ(values(jit(g)(zeros({8}))), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(ClientPrograms, EveryCollective) {
  const auto f = [](const Array& x) {
    const Array gathered = all_gather(x, "x");
    return psum_scatter(gathered, "x", {.tiled = true}) +
           ppermute(x, "x", {{0, 1}, {1, 2}, {7, 0}}) +
           sum(all_to_all(gathered, "x", 0, 0, {.tiled = true})) + pmax(x, "x");
  };
  const auto run = [&] {
    const ShardMapOptions options{.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}};
    return values(jit(shard_map(f, options))(iota({8})));
  };
  const std::vector<float> on_plugin = run();
  initialize({.devices = "cpu:8"});
  EXPECT_EQ(on_plugin, run());
}

// --- Donation ---

TEST_F(ClientPrograms, TakeTheMemoryOfDonatedArguments) {
  const auto f = jit([](const Array& x) { return x + 1; }, {.donate_argnums = {0}});
  for (int round = 0; round < 2; ++round) {
    const Array x = device_put(iota({16, 8}), on8(P("x")));
    const Array y = f(x);
    EXPECT_TRUE(is_deleted(x));
    EXPECT_EQ(values(y), values(iota({16, 8}) + 1));
    EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("[array] expected a live array"));
    EXPECT_THAT(error_of([&] { x.to_host(); }), HasSubstr("[array] expected a live array"));
  }
  const CompiledRef compiled = f.lower(device_put(iota({16, 8}), on8(P("x")))).compile();
  EXPECT_THAT(client_program(*compiled).text({0}), HasSubstr("tf.aliasing_output = 0 : i32"));
  EXPECT_THAT(client_program(*compiled).text(), Not(HasSubstr("tf.aliasing_output")));
}

TEST_F(ClientPrograms, DonateWhatIsMovedOrFitsNoResult) {
  const auto f = jit([](const Array& x) { return sum(x); },
                     {.in_shardings = {on8(P("x"))}, .donate_argnums = {0}});
  const Array single = iota({16});
  EXPECT_EQ(f(single).item<float>(), 120);
  EXPECT_TRUE(is_deleted(single));
  const auto g = jit([](const Array& x, const Array& y) { return x + y; }, {.donate_argnums = {0}});
  const Array x = device_put(iota({16}), on8(P("x")));
  EXPECT_EQ(sum(g(x, x)).item<float>(), 240);
  EXPECT_TRUE(is_deleted(x));
}

// An array is copied between engines, and the caller's array is deleted.
TEST_F(ClientPrograms, DonateToProgramsOfAnotherEngine) {
  const NamedSharding emulated(Mesh(parse_devices("cpu:8"), {"x"}), P("x"));
  const auto on_emulated = jit([](const Array& x) { return x + 1; },
                               {.in_shardings = {emulated}, .donate_argnums = {0}});
  const Array x = device_put(iota({16}), on8(P("x")));
  const Array y = on_emulated(x);
  EXPECT_TRUE(is_deleted(x));
  EXPECT_FALSE(dynamic_cast<const ClientArray*>(y.data().get()));
  EXPECT_EQ(values(y), values(iota({16}) + 1));
  EXPECT_THAT(error_of([&] { on_emulated(x); }), HasSubstr("[array] expected a live array"));
  const auto on_plugin = jit([](const Array& a) { return a * 2; },
                             {.in_shardings = {on8(P("x"))}, .donate_argnums = {0}});
  EXPECT_EQ(sum(on_plugin(y)).item<float>(), 272);
  EXPECT_TRUE(runtime::device_data(*y.data())->is_deleted());
}

// --- What is refused ---

TEST_F(ClientPrograms, NameOpsThatOnlyTesseraHas) {
  EXPECT_THAT(error_of([] { linalg::eigh(eye(4)); }),
              AllOf(HasSubstr("] expected an op that StableHLO has, for the devices of '"),
                    HasSubstr("which only Tessera has"), HasSubstr("initialize, cpu:N")));
}

TEST_F(ClientPrograms, SayThatThereIsNoMemory) {
  try {
    jit([] { return full({1 << 20, 1 << 22}, 1.0); })();
    FAIL() << "expected an error";
  } catch (const RuntimeError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("[jit] the devices of '"), HasSubstr("have no memory")));
  }
  EXPECT_EQ(sum(arange(4.0)).item<float>(), 6);
}

TEST_F(ClientPrograms, TheModuleIsStableHloAlone) {
  const Array x = device_put(iota({16}), on8(P("x")));
  const std::string text =
      client_program(*jit([](const Array& a) { return sum(a) + a; }).lower(x).compile()).text();
  EXPECT_THAT(text, HasSubstr("mhlo.num_replicas = 8 : i32"));
  EXPECT_THAT(text, HasSubstr("stablehlo.all_reduce"));
  for (const char* ours : {"tessera.", "sdy.", "channel_handle"})
    EXPECT_THAT(text, Not(HasSubstr(ours))) << text;
}

}  // namespace
}  // namespace tessera::client_program_test
