#include "tessera/runtime/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tessera/base/thread_pool.h"
#include "tests/runtime/schedules.h"

namespace tessera::program_test {

using namespace runtime;

namespace {

void add_one(void* const* buffers, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<float*>(buffers[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
}
void add(void* const* buffers, int64_t begin, int64_t end) {
  const auto *x = static_cast<const float*>(buffers[0]), *y = static_cast<const float*>(buffers[1]);
  auto* z = static_cast<float*>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) z[i] = x[i] + y[i];
}
// Reads only the first element of the other operand.
void add_scalar(void* const* buffers, int64_t begin, int64_t end) {
  const auto *x = static_cast<const float*>(buffers[0]), *y = static_cast<const float*>(buffers[1]);
  auto* z = static_cast<float*>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) z[i] = x[i] + y[0];
}

Literal iota_literal(const Shape& shape, float start = 0) {
  Literal out(float32, shape);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<float>()[i] = start + static_cast<float>(i);
  return out;
}

SingleDeviceSharding one_device() { return SingleDeviceSharding(test_devices(1)[0]); }

std::vector<float> values(const Literal& literal) {
  return {literal.data<float>(), literal.data<float>() + literal.elements()};
}

TEST(Program, OneKernelOnOneDevice) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {8}, {}), y = b.output(float32, {8}, {});
  b.kernel({x, y}, {}, add_one);
  const auto program =
      b.program({{float32, {8}, one_device()}}, {{float32, {8}, one_device(), true}});
  const auto in = device_array(iota_literal({8}), one_device());
  const auto out = program->run({in});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]->to_literal(), iota_literal({8}, 1));
  EXPECT_TRUE(out[0]->type.weak);
  EXPECT_EQ(out[0]->sharding(), Sharding(one_device()));
  EXPECT_EQ(in->to_literal(), iota_literal({8}));
}

TEST(Program, ShardedKernelOnManyDevices) {
  for (int64_t n : {1, 8, 64, 512}) {
    for (int64_t local : {1, 3, 5000}) {
      if (n * local > 50000) continue;
      const Mesh mesh = test_mesh({n}, {"x"});
      ScheduleBuilder b{mesh};
      const int x = b.input(float32, {local}, {0}), y = b.output(float32, {local}, {0});
      b.kernel({x, y}, {0}, add_one);
      const NamedSharding sharding(mesh, P("x"));
      const auto program =
          b.program({{float32, {n * local}, sharding}}, {{float32, {n * local}, sharding}});
      const auto out = program->run({device_array(iota_literal({n * local}), sharding)});
      EXPECT_EQ(out[0]->to_literal(), iota_literal({n * local}, 1));
      EXPECT_EQ(out[0]->type.sharding->spec(), P("x"));
    }
  }
}

TEST(Program, ReplicatedAndConstantOperandsAreReadByAllInstances) {
  const Mesh mesh = test_mesh({2, 4}, {"x", "y"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {2, 2}, {0, 1}), r = b.input(float32, {1}, {1}),
            c = b.constant(Literal::scalar(100.f));
  const int t = b.slot(float32, {2, 2}, {0, 1}), y = b.output(float32, {2, 2}, {0, 1});
  b.kernel({x, r, t}, {0, 1}, add_scalar);
  b.kernel({t, c, y}, {0, 1}, add_scalar);
  const NamedSharding sx(mesh, P("x", "y")), sr(mesh, P("y"));
  const auto program =
      b.program({{float32, {4, 8}, sx}, {float32, {4}, sr}}, {{float32, {4, 8}, sx}});
  const auto out =
      program->run({device_array(iota_literal({4, 8}), sx), device_array(iota_literal({4}), sr)})[0]
          ->to_literal();
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 8; ++j)
      EXPECT_EQ(out.data<float>()[i * 8 + j], static_cast<float>(i * 8 + j + j / 2 + 100));
}

// A chain of temporaries needs two blocks in the arena, not one for each temporary.
TEST(Program, TemporariesShareMemory) {
  ScheduleBuilder b{Mesh()};
  int x = b.input(float32, {1024}, {});
  for (int i = 0; i < 20; ++i) {
    const int y = i == 19 ? b.output(float32, {1024}, {}) : b.slot(float32, {1024}, {});
    b.kernel({x, y}, {}, add_one);
    x = y;
  }
  const auto program =
      b.program({{float32, {1024}, one_device()}}, {{float32, {1024}, one_device()}});
  EXPECT_EQ(program->arena_bytes(), 2 * 4096);
  EXPECT_EQ(program->run({device_array(iota_literal({1024}), one_device())})[0]->to_literal(),
            iota_literal({1024}, 20));
}

TEST(Program, OutputsThatAreInputsConstantsOrTwiceTheSame) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {4}, {}), c = b.constant(iota_literal({4}, 7)),
            y = b.output(float32, {4}, {});
  b.kernel({x, y}, {}, add_one);
  b.schedule.outputs = {x, c, y, y};
  const ArraySpec spec{float32, {4}, one_device()};
  const auto program = b.program({spec}, {spec, spec, spec, spec});
  const auto in = device_array(iota_literal({4}), one_device());
  const auto out = program->run({in});
  EXPECT_EQ(out[0]->buffer(), in->buffer());
  EXPECT_EQ(out[1]->to_literal(), iota_literal({4}, 7));
  EXPECT_EQ(out[2]->to_literal(), iota_literal({4}, 1));
  EXPECT_EQ(out[2]->buffer(), out[3]->buffer());
}

TEST(Program, ViewsNeedNoStep) {
  const Mesh mesh = test_mesh({2, 4}, {"x", "y"});
  ScheduleBuilder b{mesh};
  // The schedule numbers the instances of this result by (y, x), and its sharding by (x, y).
  const int x = b.input(float32, {2, 2}, {0, 1}), t = b.slot(float32, {2, 2}, {0, 1}),
            v = b.output(float32, {4}, {1, 0});
  b.kernel({x, t}, {0, 1}, add_one);
  b.add(ViewStep{t, v});
  const NamedSharding s(mesh, P("x", "y")), flat(mesh, P(joint("x", "y")));
  const auto program = b.program({{float32, {4, 8}, s}}, {{float32, {32}, flat}});
  const auto out = program->run({device_array(iota_literal({4, 8}), s)});
  std::vector<float> expected;
  for (int device = 0; device < 8; ++device)
    for (int e = 0; e < 4; ++e)
      expected.push_back(
          static_cast<float>((device / 4 * 2 + e / 2) * 8 + device % 4 * 2 + e % 2 + 1));
  EXPECT_EQ(values(out[0]->to_literal()), expected);
}

TEST(Program, DonatedMemoryBecomesTheResult) {
  for (bool keep_a_copy : {false, true}) {
    ScheduleBuilder b{Mesh()};
    const int x = b.input(float32, {1000}, {}), y = b.output(float32, {1000}, {});
    b.kernel({x, y}, {}, add_one);
    const ArraySpec spec{float32, {1000}, one_device()};
    const auto program = b.program({spec}, {spec});
    const auto in = device_array(iota_literal({1000}), one_device());
    const std::byte* memory = in->buffer().data();
    const Buffer held = keep_a_copy ? in->buffer() : Buffer();
    const uint8_t donate[] = {1};
    const auto out = program->run({in}, donate);
    EXPECT_EQ(out[0]->to_literal(), iota_literal({1000}, 1));
    EXPECT_EQ(out[0]->buffer().data() == memory, !keep_a_copy);
    if (keep_a_copy) {
      EXPECT_EQ(reinterpret_cast<const float*>(held.data())[5], 5.f);
    }
    EXPECT_TRUE(in->is_deleted());
    try {
      in->to_literal();
      FAIL() << "no error";
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(),
                  testing::StartsWith("[array] expected a live array, got float32[1000]"));
    }
    EXPECT_THROW(program->run({in}), UserError);
  }
}

// y = x + 1, then z = x + y: the memory of x is needed until z is done. z may be computed in it,
// element by element, but y may not.
TEST(Program, DonationWaitsForTheLastUse) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {64}, {}), y = b.output(float32, {64}, {}),
            z = b.output(float32, {64}, {});
  b.kernel({x, y}, {}, add_one);
  b.kernel({x, y, z}, {}, add);
  const ArraySpec spec{float32, {64}, one_device()};
  const auto program = b.program({spec}, {spec, spec});
  const auto in = device_array(iota_literal({64}), one_device());
  const std::byte* memory = in->buffer().data();
  const uint8_t donate[] = {1};
  const auto out = program->run({in}, donate);
  EXPECT_NE(out[0]->buffer().data(), memory);
  EXPECT_EQ(out[1]->buffer().data(), memory);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(values(out[1]->to_literal())[static_cast<size_t>(i)], static_cast<float>(2 * i + 1));
}

// Every element of y depends on the first element of x, so y cannot be computed in x's memory and
// is copied there in the end. An input that is a result itself keeps its memory.
TEST(Program, ResultsThatCannotBeComputedInPlaceAreCopied) {
  for (bool is_a_result : {false, true}) {
    ScheduleBuilder b{Mesh()};
    const int x = b.input(float32, {100}, {}), first = b.slot(float32, {1}, {}),
              y = b.output(float32, {100}, {});
    if (is_a_result) b.schedule.outputs.push_back(x);
    b.kernel({x, first}, {}, add_one);  // reads one element
    b.kernel({x, first, y}, {}, [](void* const* buffers, int64_t begin, int64_t end) {
      const auto* in = static_cast<const float*>(buffers[0]);
      auto* out = static_cast<float*>(buffers[2]);
      for (int64_t i = begin; i < end; ++i) out[i] = in[99 - i];
    });
    auto& step = std::get<KernelStep>(b.schedule.steps.back());
    step.kernel.nodes[0].address = Affine{99, {-1}, {}};
    const ArraySpec spec{float32, {100}, one_device()};
    const auto program =
        b.program({spec}, is_a_result ? std::vector{spec, spec} : std::vector{spec});
    const auto in = device_array(iota_literal({100}), one_device());
    const std::byte* memory = in->buffer().data();
    const uint8_t donate[] = {1};
    const auto out = program->run({in}, donate);
    EXPECT_EQ(out[0]->buffer().data() == memory, !is_a_result);
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(values(out[0]->to_literal())[static_cast<size_t>(i)], static_cast<float>(99 - i));
    if (is_a_result) {
      EXPECT_EQ(out[1]->buffer().data(), memory);
      EXPECT_EQ(out[1]->to_literal(), iota_literal({100}));
    }
  }
}

TEST(Program, OneArrayDonatedTwice) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {64}, {}), y = b.input(float32, {64}, {}),
            z = b.output(float32, {64}, {});
  b.kernel({x, y, z}, {}, add);
  const ArraySpec spec{float32, {64}, one_device()};
  const auto program = b.program({spec, spec}, {spec});
  const auto in = device_array(iota_literal({64}), one_device());
  const uint8_t donate[] = {1, 1};
  EXPECT_EQ(values(program->run({in, in}, donate)[0]->to_literal())[9], 18.f);
  EXPECT_TRUE(in->is_deleted());
}

TEST(Program, InputsMustLieAsStated) {
  const Mesh mesh = test_mesh({2}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {4}, {0}), y = b.output(float32, {4}, {0});
  b.kernel({x, y}, {0}, add_one);
  const NamedSharding s(mesh, P("x"));
  const auto program = b.program({{float32, {8}, s}}, {{float32, {8}, s}});
  EXPECT_THROW(program->run({device_array(iota_literal({8}), one_device())}), InternalError);
  EXPECT_THROW(program->run({device_array(iota_literal({10}), s)}), InternalError);
  // The same placement with other names is accepted.
  const NamedSharding renamed(test_mesh({2}, {"rows"}), P("rows"));
  EXPECT_EQ(program->run({device_array(iota_literal({8}), renamed)})[0]->to_literal(),
            iota_literal({8}, 1));
}

TEST(Program, MemoryStaysBounded) {
  const Mesh mesh = test_mesh({8}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {1}, {0}), t = b.slot(float32, {1}, {0}),
            y = b.output(float32, {1}, {});
  b.kernel({x, t}, {0}, add_one);
  b.add(CollectiveStep{.kind = CollectiveKind::kAllReduce, .over = {0}, .in = t, .out = y});
  const NamedSharding s(mesh, P("x")), r(mesh, P());
  const auto program = b.program({{float32, {8}, s}}, {{float32, {1}, r}});
  const auto in = device_array(iota_literal({8}), s);
  program->run({in});
  const MemoryStats before = memory_stats();
  DeviceArrayRef last;
  for (int i = 0; i < 100000; ++i) last = program->run({in})[0];
  EXPECT_EQ(values(last->to_literal())[0], 36.f);
  last.reset();
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_LE(after.cached_bytes, before.cached_bytes + (1 << 16));
}

TEST(Program, SeveralThreadsRunOneProgram) {
  const Mesh mesh = test_mesh({8}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {20000}, {0}), t = b.slot(float32, {20000}, {0}),
            y = b.output(float32, {20000}, {0});
  b.kernel({x, t}, {0}, add_one);
  b.kernel({t, y}, {0}, add_one);
  const NamedSharding s(mesh, P("x"));
  const auto program = b.program({{float32, {160000}, s}}, {{float32, {160000}, s}});
  std::vector<std::thread> threads;
  for (int u = 0; u < 4; ++u) {
    threads.emplace_back([&, u] {
      const auto in = device_array(iota_literal({160000}, static_cast<float>(u)), s);
      for (int round = 0; round < 10; ++round)
        EXPECT_EQ(program->run({in})[0]->to_literal(),
                  iota_literal({160000}, static_cast<float>(u + 2)));
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Program, TablesGiveEachInstanceItsValue) {
  const Mesh mesh = test_mesh({3}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {2}, {0}), t = b.slot(float32, {}, {0}),
            y = b.output(float32, {2}, {0});
  b.add(
      InstanceTableStep{t, {Literal::scalar(10.f), Literal::scalar(20.f), Literal::scalar(30.f)}});
  b.kernel({x, t, y}, {0}, add_scalar);
  const NamedSharding s(mesh, P("x"));
  const auto program = b.program({{float32, {6}, s}}, {{float32, {6}, s}});
  EXPECT_THAT(values(program->run({device_array(iota_literal({6}), s)})[0]->to_literal()),
              testing::ElementsAre(10, 11, 22, 23, 34, 35));
}

TEST(Program, EmptyArrays) {
  const Mesh mesh = test_mesh({8}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {0, 3}, {0}), y = b.output(float32, {0, 3}, {0});
  b.kernel({x, y}, {0}, add_one);
  const NamedSharding s(mesh, P("x"));
  const auto program = b.program({{float32, {0, 3}, s}}, {{float32, {0, 3}, s}});
  EXPECT_EQ(program->run({device_array(Literal(float32, {0, 3}), s)})[0]->to_literal().elements(),
            0);
}

}  // namespace
}  // namespace tessera::program_test
