#include "tessera/runtime/donors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tessera/runtime/program.h"
#include "tests/runtime/schedules.h"

namespace tessera::donors_test {

using namespace runtime;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

void add_one(void* const* buffers, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<float*>(buffers[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
}

Donors donors_of(const ScheduleBuilder& b) {
  return find_donors(b.schedule, plan_storages(b.schedule),
                     std::vector<bool>(b.schedule.inputs.size()));
}

// Returns a program in which result to(i) is input i, plus one, for each i below `count`.
ScheduleBuilder leaves(int count, const std::function<int(int)>& to) {
  ScheduleBuilder b{Mesh()};
  std::vector<int> x, y;
  for (int i = 0; i < count; ++i) x.push_back(b.input(float32, {64}, {}));
  for (int i = 0; i < count; ++i) y.push_back(b.output(float32, {64}, {}));
  for (int i = 0; i < count; ++i)
    b.kernel({x[static_cast<size_t>(i)], y[static_cast<size_t>(to(i))]}, {}, add_one);
  return b;
}

TEST(Donors, AreListedOnceForAllResultsOfASize) {
  constexpr int kLeaves = 2000;
  ScheduleBuilder b = leaves(kLeaves, [](int i) { return i; });
  const Donors donors = donors_of(b);
  ASSERT_EQ(donors.groups.size(), 1u);
  EXPECT_EQ(donors.groups[0].size(), size_t{kLeaves});
  ASSERT_EQ(donors.outputs.size(), size_t{kLeaves});
  for (int i = 0; i < kLeaves; ++i) {
    const Donors::Output& out = donors.outputs[static_cast<size_t>(i)];
    EXPECT_EQ(out.group, 0);
    ASSERT_THAT(out.updated, ElementsAre(i));
  }
}

// y = x + 1, then z = y + 1, where x is a result too; an input of another size is not used.
TEST(Donors, AreOfTheSameSizeAndNotResults) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {8}, {}), other = b.input(float32, {9}, {}),
            y = b.output(float32, {8}, {}), z = b.output(float32, {7}, {});
  b.kernel({x, y}, {}, add_one);
  b.kernel({y, z}, {}, add_one);
  b.schedule.outputs.push_back(x);
  const Donors donors = donors_of(b);
  ASSERT_EQ(donors.groups.size(), 2u);
  ASSERT_EQ(donors.groups[0].size(), 1u);
  EXPECT_TRUE(donors.groups[0][0].holds_result);
  EXPECT_FALSE(donors.groups[1][0].holds_result);
  EXPECT_EQ(donors.groups[1][0].input, 1);
  EXPECT_EQ(donors.outputs[0].group, 0);
  EXPECT_THAT(donors.outputs[0].updated, IsEmpty());
  EXPECT_EQ(donors.outputs[1].group, -1);
  EXPECT_EQ(b.schedule.inputs[1], other);
}

// Of these kernels, only the first reads each element before it writes it, and nothing else.
TEST(Donors, AreOverwrittenByKernelsThatReadEachElementBefore) {
  const auto updated = [](const std::function<void(KernelStep&)>& change) {
    ScheduleBuilder b{Mesh()};
    const int x = b.input(float32, {8}, {}), y = b.output(float32, {8}, {});
    b.kernel({x, y}, {}, add_one);
    change(std::get<KernelStep>(b.schedule.steps.back()));
    return donors_of(b).outputs[0].updated;
  };
  EXPECT_THAT(updated([](KernelStep&) {}), ElementsAre(0));
  EXPECT_THAT(updated([](KernelStep& s) {
                s.kernel.nodes[0].address = Affine{7, {-1}, {}};
              }),
              IsEmpty());
  EXPECT_THAT(updated([](KernelStep& s) { s.kernel.nodes[0].guard = 0; }), IsEmpty());
  EXPECT_THAT(updated([](KernelStep& s) { s.kernel.loops[0].stores[0].guard = 0; }), IsEmpty());
  EXPECT_THAT(updated([](KernelStep& s) { s.kernel.loops[0].extents = {1}; }), IsEmpty());
  EXPECT_THAT(updated([](KernelStep& s) {
                KernelStore again = s.kernel.loops[0].stores[0];
                again.address.offset = 1;
                s.kernel.loops[0].stores.push_back(again);
              }),
              IsEmpty());
  EXPECT_THAT(updated([](KernelStep& s) {
                KernelNode other = s.kernel.nodes[0];
                other.address.offset = 1;
                s.kernel.nodes.push_back(other);
              }),
              IsEmpty());
}

// The kernel reads x twice, the second time backwards.
TEST(Donors, AreNotOverwrittenIfAKernelReadsThemTwice) {
  for (const bool backwards : {false, true}) {
    ScheduleBuilder b{Mesh()};
    const int x = b.input(float32, {8}, {}), y = b.output(float32, {8}, {});
    b.kernel({x, x, y}, {}, add_one);
    auto& step = std::get<KernelStep>(b.schedule.steps.back());
    if (backwards) step.kernel.nodes[1].address = Affine{7, {-1}, {}};
    EXPECT_THAT(donors_of(b).outputs[0].updated, IsEmpty());
  }
}

// Permuting shards is no step but another order of the instances. Then each device would overwrite
// a shard that another one still reads.
TEST(Donors, AreNotOverwrittenByOtherShards) {
  for (const bool permuted : {false, true}) {
    ScheduleBuilder b{test_mesh({4}, {"x"})};
    const int x = b.input(float32, {8}, {0}), y = b.output(float32, {8}, {0});
    int read = x;
    if (permuted) {
      read = b.slot(float32, {8}, {0});
      CollectiveStep permute{.kind = CollectiveKind::kPermute, .over = {0}, .in = x, .out = read};
      for (int64_t r = 0; r < 4; ++r) permute.pairs.push_back({r, (r + 1) % 4});
      b.add(permute);
    }
    b.kernel({read, y}, {0}, add_one);
    EXPECT_EQ(donors_of(b).outputs[0].updated.empty(), permuted);
  }
}

// Donated arrays become the results that are computed from them, and those that are left become
// the results that cannot be.
TEST(Donors, AllGiveTheirMemory) {
  constexpr size_t kLeaves = 300;
  ScheduleBuilder b = leaves(kLeaves, [](int i) { return int{kLeaves} - 1 - i; });
  const SingleDeviceSharding device(test_devices(1)[0]);
  const std::vector<ArraySpec> specs(kLeaves, {float32, {64}, device});
  const auto program = b.program(specs, specs);
  std::vector<DeviceArrayRef> in;
  for (size_t i = 0; i < kLeaves; ++i) {
    Literal value(float32, {64});
    std::fill_n(value.mutable_data<float>(), 64, static_cast<float>(i));
    in.push_back(device_array(value, device));
  }
  std::vector<const std::byte*> memory;
  for (const DeviceArrayRef& array : in) memory.push_back(array->buffer().data());
  const auto out = program->run(in, std::vector<uint8_t>(kLeaves, 1));
  for (size_t i = 0; i < kLeaves; ++i) {
    EXPECT_EQ(out[kLeaves - 1 - i]->buffer().data(), memory[i]);
    EXPECT_EQ(out[kLeaves - 1 - i]->to_literal().data<float>()[63], static_cast<float>(i + 1));
    EXPECT_TRUE(in[i]->is_deleted());
  }
}

}  // namespace
}  // namespace tessera::donors_test
