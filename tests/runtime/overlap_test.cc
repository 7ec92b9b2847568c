#include "tessera/runtime/overlap.h"

#include <gmock/gmock.h>

#include "tessera/cluster/joined_rounds.h"
#include "tessera/fusion/locality.h"
#include "tests/runtime/schedules.h"

namespace tessera::overlap_test {
namespace {

using ::testing::ElementsAre;

CollectiveStep all_reduce(int in, int out) {
  return {.kind = CollectiveKind::kAllReduce, .over = {0}, .in = in, .out = out};
}

// Returns the slot that each step writes, in the order of the steps.
std::vector<int> written(const Schedule& s) {
  std::vector<int> out;
  for (const Step& step : s.steps) out.push_back(step_slots(step).writes.at(0));
  return out;
}

// Returns x -> g -> s -> w for each of several arrays of n elements: a gradient, its sum, and an
// update that reads the sum.
Schedule updates(int64_t n, int count) {
  ScheduleBuilder b(Mesh::abstract({2}, {"x"}));
  const KernelFn nothing = [](void* const*, int64_t, int64_t) {};
  for (int i = 0; i < count; ++i) {
    const int x = b.input(float32, {n}, {0}), g = b.slot(float32, {n}, {0}),
              s = b.slot(float32, {n}, {}), w = b.output(float32, {n}, {});
    b.kernel({x, g}, {0}, nothing);
    b.schedule.steps.emplace_back(all_reduce(g, s));
    b.kernel({s, w}, {}, nothing);
  }
  return b.schedule;
}
Schedule in_two_processes(const Schedule& s) {
  return localize(s, std::make_shared<Locality>(s.mesh, std::vector<int>{0, 1}, 1));
}

TEST(Overlap, WhatReadsATransferWaitsUntilNothingElseIsLeft) {
  const Schedule s = overlap_transfers(in_two_processes(updates(16, 3)));
  // Slot 4 i + 1 is a gradient, 4 i + 2 its sum, and 4 i + 3 the update.
  EXPECT_THAT(written(s), ElementsAre(1, 2, 5, 6, 9, 10, 3, 7, 11));
  verify(s);
}

// Returns the slots that are written by collectives whose messages are sent together with those of
// the next one.
std::vector<int> sent_with_next(const Schedule& s) {
  std::vector<int> out;
  for (const Step& step : s.steps)
    if (const auto* c = std::get_if<CollectiveStep>(&step); c && c->sends_with_next)
      out.push_back(c->out);
  return out;
}
Schedule joined(Schedule s, int number) {
  for (Step& step : s.steps)
    if (auto* c = std::get_if<CollectiveStep>(&step)) c->collective = number;
  return s;
}

TEST(Overlap, SmallArraysOfOneCollectiveBeginTogether) {
  const Schedule s = overlap_transfers(in_two_processes(joined(updates(16, 3), 5)));
  EXPECT_THAT(written(s), ElementsAre(1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(sent_with_next(s), ElementsAre(2, 6));
  verify(s);
}

// The operand of the third collective is computed from the first one's result.
TEST(Overlap, PartsThatWaitForOthersBeginAfterThem) {
  ScheduleBuilder b(Mesh::abstract({2}, {"x"}));
  const KernelFn nothing = [](void* const*, int64_t, int64_t) {};
  const int x = b.input(float32, {16}, {0}), first = b.slot(float32, {16}, {}),
            second = b.output(float32, {16}, {}), g = b.slot(float32, {16}, {0}),
            third = b.output(float32, {16}, {});
  b.schedule.steps.emplace_back(all_reduce(x, first));
  b.schedule.steps.emplace_back(all_reduce(x, second));
  b.kernel({first, g}, {0}, nothing);
  b.schedule.steps.emplace_back(all_reduce(g, third));
  const Schedule s = overlap_transfers(in_two_processes(joined(b.schedule, 5)));
  EXPECT_THAT(written(s), ElementsAre(first, second, g, third));
  EXPECT_THAT(sent_with_next(s), ElementsAre(first));
  verify(s);
}

TEST(Overlap, LargeArraysOfOneCollectiveBeginEachWhenItIsThere) {
  const Schedule s =
      overlap_transfers(in_two_processes(joined(updates(cluster::kInOneMessage / 4 + 1, 3), 5)));
  EXPECT_THAT(written(s), ElementsAre(1, 2, 5, 6, 9, 10, 3, 7, 11));
  EXPECT_THAT(sent_with_next(s), ElementsAre());
}

TEST(Overlap, TransfersOfSeveralCollectivesAreNotJoined) {
  EXPECT_THAT(sent_with_next(overlap_transfers(in_two_processes(updates(16, 3)))), ElementsAre());
}

TEST(Overlap, ATransferBeginsBeforeWhatIsComputedMeanwhile) {
  ScheduleBuilder b(Mesh::abstract({2}, {"x"}));
  const KernelFn nothing = [](void* const*, int64_t, int64_t) {};
  const int x = b.input(float32, {16}, {0}), y = b.slot(float32, {16}, {0}),
            total = b.output(float32, {16}, {});
  b.kernel({x, y}, {0}, nothing);
  b.schedule.steps.emplace_back(all_reduce(x, total));
  const Schedule s = overlap_transfers(in_two_processes(b.schedule));
  EXPECT_THAT(written(s), ElementsAre(total, y));
}

TEST(Overlap, WhatATransferReadsIsNotWrittenMeanwhile) {
  ScheduleBuilder b(Mesh::abstract({2}, {"x"}));
  const KernelFn nothing = [](void* const*, int64_t, int64_t) {};
  const int x = b.input(float32, {16}, {0}), y = b.slot(float32, {16}, {0}),
            total = b.output(float32, {16}, {}), other = b.output(float32, {16}, {0});
  b.kernel({x, y}, {0}, nothing);
  b.schedule.steps.emplace_back(all_reduce(y, total));
  b.kernel({x, y}, {0}, nothing);
  b.kernel({x, other}, {0}, nothing);
  EXPECT_THAT(written(overlap_transfers(in_two_processes(b.schedule))),
              ElementsAre(y, total, other, y));
}

TEST(Overlap, NoMoreIsOnItsWayThanMayBe) {
  const int64_t n = kMaxBytesInFlight / 4;  // one array at a time
  const Schedule s = overlap_transfers(in_two_processes(updates(n, 3)));
  EXPECT_THAT(written(s), ElementsAre(1, 2, 5, 6, 3, 9, 10, 7, 11));
}

TEST(Overlap, OneProcessKeepsItsOrder) {
  const Schedule whole = updates(16, 2);
  EXPECT_EQ(written(overlap_transfers(whole)), written(whole));
  const Schedule alone =
      localize(whole, std::make_shared<Locality>(whole.mesh, std::vector<int>{0, 0}, 0));
  EXPECT_EQ(written(overlap_transfers(alone)), written(whole));
}

TEST(Overlap, CallsKeepTheirOrder) {
  ScheduleBuilder b(Mesh::abstract({2}, {"x"}));
  const int x = b.input(float32, {16}, {0}), s = b.slot(float32, {16}, {}),
            first = b.output(float32, {16}, {}), second = b.output(float32, {16}, {0});
  b.schedule.steps.emplace_back(all_reduce(x, s));
  b.schedule.steps.emplace_back(CallStep{.name = "a", .in = {s}, .out = {first}, .fn = {}});
  b.schedule.steps.emplace_back(
      CallStep{.name = "b", .in = {x}, .out = {second}, .fn = {}, .axes = {0}});
  EXPECT_THAT(written(overlap_transfers(in_two_processes(b.schedule))),
              ElementsAre(s, first, second));
}

}  // namespace
}  // namespace tessera::overlap_test
