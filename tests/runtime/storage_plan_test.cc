#include "tessera/runtime/storage_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::storage_plan_test {

using namespace runtime;

namespace {

// Storages of the arena with random sizes and lifetimes. Every step has a workspace, too.
struct Arena {
  Arena(int storages, int steps, uint32_t seed) : random(seed) {
    schedule.steps.resize(static_cast<size_t>(steps));
    for (int k = 0; k < storages; ++k) {
      Storage s;
      s.bytes = pick(20) == 0 ? 1 + pick(1 << 20) : 1 + pick(4096);
      s.instances = 1 + pick(3);
      s.first = pick(steps);
      s.last = std::min(steps - 1, s.first + pick(pick(10) == 0 ? steps : 8));
      plan.storages.push_back(std::move(s));
    }
    for (int k = 0; k < steps; ++k) workspaces.push_back(pick(3) == 0 ? 1 + pick(10000) : 0);
    plan_arena(plan, schedule, workspaces);
  }
  int pick(int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

  struct Block {
    int64_t offset, bytes;
    int first, last;
  };
  std::vector<Block> blocks() const {
    std::vector<Block> out;
    for (const Storage& s : plan.storages) out.push_back({s.offset, s.total(), s.first, s.last});
    for (size_t i = 0; i < workspaces.size(); ++i)
      if (workspaces[i] > 0)
        out.push_back(
            {plan.workspaces[i], workspaces[i], static_cast<int>(i), static_cast<int>(i)});
    return out;
  }
  // Returns the most bytes that are in use at a step, a lower bound for every plan.
  int64_t needed() const {
    std::vector<int64_t> change(schedule.steps.size() + 1, 0);
    for (const Block& b : blocks()) {
      change[static_cast<size_t>(b.first)] += b.bytes;
      change[static_cast<size_t>(b.last) + 1] -= b.bytes;
    }
    int64_t most = 0, now = 0;
    for (int64_t c : change) most = std::max(most, now += c);
    return most;
  }

  std::mt19937 random;
  Schedule schedule;
  StoragePlan plan;
  std::vector<int64_t> workspaces;
};

// 9,000 blocks are more than the planner places by size: it places the small ones by time.
TEST(StoragePlan, BlocksInUseAtOnceDoNotOverlap) {
  for (const auto& [storages, steps] : {std::pair{40, 12}, {3000, 900}, {9000, 3000}}) {
    SCOPED_TRACE(storages);
    const Arena arena(storages, steps, 7);
    std::vector<Arena::Block> blocks = arena.blocks();
    std::sort(blocks.begin(), blocks.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Arena::Block& a = blocks[i];
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_LE(a.offset + a.bytes, arena.plan.arena_bytes);
      for (size_t j = i + 1; j < blocks.size() && blocks[j].offset < a.offset + a.bytes; ++j)
        ASSERT_TRUE(a.last < blocks[j].first || blocks[j].last < a.first)
            << "steps " << a.first << " to " << a.last << " and " << blocks[j].first << " to "
            << blocks[j].last << " at " << blocks[j].offset;
    }
    EXPECT_LE(arena.plan.arena_bytes, 3 * arena.needed() / 2);
  }
}

// Returns the storage of a plan that has one constant, filled with the literals.
Storage filled_constant(const std::vector<Literal>& literals) {
  StoragePlan plan;
  Storage s;
  s.kind = Storage::Kind::kConstant;
  s.bytes = literals[0].bytes();
  s.instances = static_cast<int64_t>(literals.size());
  s.literals = literals;
  plan.storages.push_back(std::move(s));
  fill_constants(plan);
  return plan.storages[0];
}

TEST(StoragePlan, AConstantSharesTheMemoryOfItsLiteral) {
  const Literal literal = Literal::scalar(2.5F);
  EXPECT_EQ(filled_constant({literal}).constant, literal.buffer());
}

TEST(StoragePlan, AConstantOfEachInstanceIsInOneMemory) {
  const Storage s = filled_constant({Literal::scalar(2.5F), Literal::scalar(3.5F)});
  EXPECT_EQ(reinterpret_cast<const float*>(s.constant.data())[0], 2.5F);
  EXPECT_EQ(reinterpret_cast<const float*>(s.constant.data())[1], 3.5F);
}

TEST(StoragePlan, MemoryOfAnotherOwnerIsCopied) {
  alignas(64) float theirs[16] = {2.5F};
  const Literal literal = Literal::view(
      float32, Shape{16},
      Buffer::borrow(reinterpret_cast<const std::byte*>(theirs), sizeof(theirs), [] {}));
  const Storage s = filled_constant({literal});
  theirs[0] = 0;
  EXPECT_EQ(reinterpret_cast<const float*>(s.constant.data())[0], 2.5F);
}

TEST(StoragePlan, APartOfALiteralsMemoryIsCopied) {
  const Literal whole = Literal::from<float>(std::vector<float>{1, 2}, Shape{2});
  const Literal part = Literal::view(float32, Shape{}, whole.buffer(), 4);
  const Storage s = filled_constant({part});
  EXPECT_EQ(reinterpret_cast<const float*>(s.constant.data())[0], 2);
}

}  // namespace
}  // namespace tessera::storage_plan_test
