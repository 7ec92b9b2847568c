// Host data between processes: they are gathered, broadcast and compared, and arrays are made from
// the data of each process. Names of barriers are tested too. An error of one process is an error
// of all, and all can go on afterwards.
#include <unistd.h>

#include <sstream>

#include "tessera/cluster/joint_step.h"
#include "tessera/cluster/processes.h"
#include "tessera/ir/format.h"
#include "tests/cluster/recorded.h"
#include "tests/errors.h"

namespace tessera::data_test {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

Array floats(const Shape& shape) { return ones(shape, float32); }

class Data : public ClusterTest {
 protected:
  const int64_t count_ = process_count(), me_ = process_index();
  // Returns values that differ from process to process.
  Array mine(const Shape& shape, int64_t process) const {
    return Array(numbers(float32, shape, 100 + static_cast<uint64_t>(process)));
  }
  Array mine(const Shape& shape) const { return mine(shape, me_); }
  NamedSharding line(const PartitionSpec& spec) const { return {mesh({8}), spec}; }
};

template <class T>
Literal slice_rows(const Literal& x, int64_t begin, int64_t end) {
  Shape shape = x.shape();
  const int64_t row = x.elements() / shape[0];
  shape[0] = end - begin;
  return Literal::from<T>(std::span(x.data<T>() + begin * row, x.data<T>() + end * row), shape);
}

TEST_F(Data, GatherStacksWhatEachHas) {
  struct Tree {
    Array matrix, on_device, number, empty;
    int64_t fixed = 3;
  };
  const Tree tree{mine({3, 2}), device_put(mine({4}), devices()[5]), Array(me_ + 1),
                  floats({0, 2})};
  const Tree stacked = process_allgather(tree);
  EXPECT_EQ(stacked.fixed, 3);
  EXPECT_EQ(stacked.matrix.shape(), (Shape{count_, 3, 2}));
  EXPECT_EQ(stacked.on_device.shape(), (Shape{count_, 4}));
  EXPECT_EQ(stacked.number.shape(), (Shape{count_}));
  EXPECT_EQ(stacked.number.dtype(), tree.number.dtype());
  EXPECT_FALSE(stacked.number.weak_type());
  EXPECT_EQ(stacked.empty.shape(), (Shape{count_, 0, 2}));
  const Tree tiled = process_allgather(tree, /*tiled=*/true);
  EXPECT_EQ(tiled.matrix.shape(), (Shape{3 * count_, 2}));
  EXPECT_EQ(tiled.number.shape(), count_ == 1 ? Shape{} : (Shape{count_}));
  EXPECT_EQ(tiled.empty.shape(), (Shape{0, 2}));
  for (int64_t p = 0; p < count_; ++p) {
    const Literal matrix = mine({3, 2}, p).to_host();
    EXPECT_EQ(slice_rows<float>(stacked.matrix.to_host(), p, p + 1), matrix.reshaped({1, 3, 2}));
    EXPECT_EQ(slice_rows<float>(tiled.matrix.to_host(), 3 * p, 3 * p + 3), matrix);
    EXPECT_EQ(slice_rows<float>(stacked.on_device.to_host(), p, p + 1),
              mine({4}, p).to_host().reshaped({1, 4}));
    EXPECT_EQ(stacked.number.to_host().data<int64_t>()[p], p + 1);
  }
}

TEST_F(Data, GatherOfArraysOverProcesses) {
  const Literal data = numbers(bfloat16, {13, 6}, 1);
  const std::vector<NamedSharding> places{
      line(P("x")), line(P()), line(P(None, "x")), NamedSharding(mesh({2, 4}), P("y", "x")),
      NamedSharding(mesh({4, 2}, {5, 0, 3, 6, 1, 2, 7, 4}), P(None, "x"))};
  std::vector<Array> arrays;
  for (const NamedSharding& place : places) arrays.push_back(device_put(Array(data), place));
  for (const Array& whole : process_allgather(arrays, /*tiled=*/true)) {
    EXPECT_EQ(whole.to_host(), data);
    EXPECT_TRUE(is_fully_addressable(whole));
  }
  // A result of a program is gathered, too.
  const Array doubled = jit([](const Array& x) { return x + x; })(arrays[0]);
  EXPECT_EQ(process_allgather(doubled, true).to_host(), (Array(data) + Array(data)).to_host());
}

// Each process has an array on its own devices: several arrays under one name.
TEST_F(Data, ArraysOnAMeshOfOneProcess) {
  const NamedSharding own(Mesh(local_devices(), {"x"}), P("x"));
  const Array x = device_put(mine({9, 2}), own);
  EXPECT_TRUE(is_fully_addressable(x));
  const Array all = process_allgather(x, /*tiled=*/true);
  for (int64_t p = 0; p < count_; ++p)
    EXPECT_EQ(slice_rows<float>(all.to_host(), 9 * p, 9 * p + 9), mine({9, 2}, p).to_host());
}

TEST_F(Data, WhatIsNotHereIsAnError) {
  const Array x = placed(float32, {8, 2}, 1, line(P("x")));
  const Array one = device_put(x, NamedSharding(mesh({1}, {7}), P()));
  const Array replicated = device_put(x, line(P()));
  EXPECT_EQ(replicated.to_host(), numbers(float32, {8, 2}, 1));
  EXPECT_EQ(is_fully_addressable(x), count_ == 1);
  EXPECT_EQ(is_fully_addressable(replicated), count_ == 1);
  EXPECT_EQ(is_fully_addressable(one), me_ == count_ - 1);
  EXPECT_TRUE(is_fully_addressable(Array(1.0f)));
  EXPECT_TRUE(is_fully_addressable(device_put(x, devices()[7])));
  if (count_ == 1) return;
  const auto text = AllOf(HasSubstr("expected an array that is in this process as a whole"),
                          HasSubstr("process_allgather"));
  EXPECT_THAT(error_of([&] { x.to_host(); }), text);
  EXPECT_THAT(error_of([&] { std::ostringstream() << x; }), text);
  const Array number = device_put(Array(2.0f), NamedSharding(mesh({1}, {7}), P()));
  if (me_ == count_ - 1) {
    EXPECT_EQ(number.item<float>(), 2.0f);
  } else {
    EXPECT_THAT(error_of([&] { number.item<float>(); }), text);
  }
  EXPECT_THAT(
      error_of([&] { process_allgather(x); }),
      AllOf(HasSubstr("[process_allgather] expected tiled = true for the array, got false for "
                      "float32[8,2]"),
            HasSubstr("process_allgather(x, /*tiled=*/true)")));
}

TEST_F(Data, GatherErrorsAreInAllProcesses) {
  const std::map<std::string, Array> tree{{"a", floats({2})}, {"b", floats({3 + me_})}};
  if (count_ > 1) {
    EXPECT_THAT(error_of([&] { process_allgather(tree); }),
                HasSubstr("[process_allgather] expected the same arrays in all processes, got leaf "
                          "'[b]' float32[3] of its own in process 0 and leaf '[b]' float32[4] of "
                          "its own in process 1; "));
  }
  std::vector<Array> more{floats({2})};
  if (me_ == count_ - 1 && count_ > 1) more.push_back(floats({5}));
  if (count_ > 1) {
    EXPECT_THAT(error_of([&] { process_allgather(more); }),
                HasSubstr("got nothing more in process 0 and leaf '[1]' float32[5]"));
  }
  // In the last process the array has no data.
  const Array x = me_ == count_ - 1 ? abstract_array({2}, float32) : floats({2});
  EXPECT_THAT(error_of([&] { process_allgather(x); }), HasSubstr("abstract"));
  jit([&](const Array& traced) {
    EXPECT_THAT(error_of([&] { process_allgather(traced); }),
                HasSubstr("[process_allgather] expected the array to have data, got the traced "
                          "float32[2]; call it outside of jit"));
    return traced;
  })(floats({2}));
  // Afterwards it works.
  EXPECT_EQ(process_allgather(floats({2})).shape(), (Shape{count_, 2}));
}

TEST_F(Data, Broadcast) {
  const std::map<std::string, Array> tree{{"m", mine({3, 2})}, {"n", Array(me_)}};
  const auto first = broadcast_one_to_all(tree);
  EXPECT_EQ(first.at("m").to_host(), mine({3, 2}, 0).to_host());
  EXPECT_EQ(first.at("n").item<int64_t>(), 0);
  const auto last = broadcast_one_to_all(tree, me_ == count_ - 1);
  EXPECT_EQ(last.at("m").to_host(), mine({3, 2}, count_ - 1).to_host());
  EXPECT_EQ(broadcast_one_to_all(Array(me_ == 0)).item<bool>(), true);
  const Array replicated = placed(float32, {4}, 1, line(P()));
  EXPECT_EQ(broadcast_one_to_all(replicated).to_host(), numbers(float32, {4}, 1));
}

TEST_F(Data, BroadcastErrorsAreInAllProcesses) {
  EXPECT_THAT(error_of([&] { broadcast_one_to_all(floats({2}), false); }),
              HasSubstr("[broadcast_one_to_all] expected one process to be the source, got none; "
                        "pass is_source = true in one process, or nothing in all of them"));
  if (count_ == 1) return;
  EXPECT_THAT(error_of([&] { broadcast_one_to_all(floats({2}), me_ < 2); }),
              HasSubstr("expected one process to be the source, got processes 0, 1; "));
  EXPECT_THAT(error_of([&] { broadcast_one_to_all(floats({2 + me_})); }),
              HasSubstr("got the array float32[2] in process 0 and the array float32[3] in "
                        "process 1"));
  const Array x = placed(float32, {8}, 1, line(P("x")));
  EXPECT_THAT(error_of([&] { broadcast_one_to_all(x); }),
              HasSubstr("expected the array to be of each process itself, got float32[8] over "
                        "several processes"));
}

TEST_F(Data, Barriers) {
  sync_global_devices("here");
  if (count_ > 1) {
    EXPECT_THAT(error_of([&] { sync_global_devices(me_ == 1 ? "there" : "here"); }),
                HasSubstr("[sync_global_devices] expected one name in all processes, got 'here' in "
                          "process 0 and 'there' in process 1; "));
  }
  sync_global_devices("here again");
}

TEST_F(Data, Equal) {
  assert_equal(floats({3}));
  assert_equal(std::vector<Array>{floats({3}), placed(float32, {4}, 1, line(P()))}, "replicated");
  if (count_ == 1) return;
  const std::vector<Array> tree{floats({3}), Array(me_)};
  EXPECT_THAT(error_of([&] { assert_equal(tree, "the seeds"); }),
              HasSubstr("[assert_equal] expected leaf '[1]' to be the same in all processes, got "
                        "other values of int64[] in process 1 than in process 0: the seeds; "));
  EXPECT_THAT(error_of([&] { assert_equal(placed(float32, {8}, 1, line(P("x")))); }),
              HasSubstr("expected the array to be in each process as a whole"));
}

// A joint step in which one process takes longer than a round, and one in which processes fail.
TEST_F(Data, JointSteps) {
  const auto what = [] { return std::string("a joint step"); };
  const std::vector<std::string> told = cluster::joint_step(what, [&] {
    if (me_ == 0) ::usleep(700'000);
    return fmt::format("of {}", me_);
  });
  ASSERT_EQ(told.size(), static_cast<size_t>(count_));
  for (int64_t p = 0; p < count_; ++p)
    EXPECT_EQ(told[static_cast<size_t>(p)], fmt::format("of {}", p));
  if (count_ == 1) return;
  // All processes get the error of the first one that fails.
  const auto fails = [&](int64_t from) {
    return [this, what, from] {
      cluster::joint_step(what, [&]() -> std::string {
        if (me_ == 0) ::usleep(400'000);
        if (me_ >= from) io_error("test", "expected luck, got {}; try again", from);
        return "";
      });
    };
  };
  EXPECT_EQ(error_of(fails(0)), "[test] expected luck, got 0; try again");
  EXPECT_EQ(error_of(fails(1)), me_ == 0 ? "[test] expected luck, got 1; try again (in process 1)"
                                         : "[test] expected luck, got 1; try again");
  try {
    cluster::joint_step(what, [&]() -> std::string {
      if (me_ == 1) throw std::bad_alloc();
      return "";
    });
    ADD_FAILURE() << "no error";
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(me_, 1);
  } catch (const RuntimeError& error) {
    EXPECT_NE(me_, 1);
    EXPECT_THAT(error.what(), HasSubstr("(in process 1)"));
  }
}

// ---- Arrays that are made from the data of each process.

// Returns the rows of `all` that this process holds, as it would read them.
Literal rows_here(const Literal& all, const Sharding& sharding) {
  Shape shape = all.shape();
  shape[0] = 0;
  std::vector<float> values;
  const int64_t row = all.elements() / all.shape()[0];
  for (const IndexRange& range : process_local_rows(sharding, all.shape()[0])) {
    values.insert(values.end(), all.data<float>() + range.start * row,
                  all.data<float>() + range.stop * row);
    shape[0] += range.size();
  }
  return Literal::from<float>(values, shape);
}

TEST_F(Data, BatchesOfWhatEachProcessReads) {
  const std::vector<int64_t> order{5, 0, 3, 6, 1, 2, 7, 4};
  for (const NamedSharding& sharding :
       {line(P("x")), NamedSharding(mesh({2, 4}), P("x")), NamedSharding(mesh({2, 4}), P("y")),
        NamedSharding(mesh({2, 4}), P(joint("y", "x"))), NamedSharding(mesh({8}, order), P("x")),
        NamedSharding(mesh({2, 2, 2}), P("z", "x")), line(P()), line(P(None, "x"))}) {
    const Literal batch = numbers(float32, {24, 8}, 3), local = rows_here(batch, sharding);
    const std::string name = fmt::format("{}", sharding);
    const Array expected = device_put(Array(batch), sharding);
    // The local data have all columns, so the global shape is given.
    const Array x = make_array_from_process_local_data(sharding, Array(local), Shape{24, 8});
    EXPECT_EQ(x.sharding(), Sharding(sharding));
    const std::vector<Shard> a = addressable_shards(x), b = addressable_shards(expected);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].data, b[i].data) << name;
  }
}

TEST_F(Data, TheGlobalShapeFollows) {
  // Each process has its own rows, or its own columns, because "x" is over all processes.
  const Array x = make_array_from_process_local_data(line(P("x")), mine({16, 3}));
  EXPECT_EQ(x.shape(), (Shape{16 * count_, 3}));
  const Literal all = process_allgather(x, true).to_host();
  for (int64_t p = 0; p < count_; ++p)
    EXPECT_EQ(slice_rows<float>(all, 16 * p, 16 * p + 16), mine({16, 3}, p).to_host());
  EXPECT_EQ(make_array_from_process_local_data(line(P(None, "x")), mine({3, 16})).shape(),
            (Shape{3, 16 * count_}));
  EXPECT_EQ(make_array_from_process_local_data(line(P()), floats({5, 3})).shape(), (Shape{5, 3}));
  // With two processes each has one row of the mesh; with four each has half a row.
  const NamedSharding grid(mesh({2, 4}), P("x", "y"));
  EXPECT_EQ(make_array_from_process_local_data(grid, mine({4, 8})).shape(),
            count_ == 4 ? (Shape{8, 16}) : (Shape{4 * std::min<int64_t>(count_, 2), 8}));
  // A tree of arrays.
  struct Batch {
    Array images, labels;
  };
  const Batch batch =
      make_array_from_process_local_data(line(P("x")), Batch{mine({8, 2, 2}), mine({8})});
  EXPECT_EQ(batch.images.shape(), (Shape{8 * count_, 2, 2}));
  EXPECT_EQ(batch.labels.shape(), (Shape{8 * count_}));
  // On one device each process passes its own array.
  EXPECT_EQ(
      make_array_from_process_local_data(Sharding(SingleDeviceSharding(devices()[3])), mine({5}))
          .shape(),
      (Shape{5}));
  // Each process passes all of the data, though the array is sharded.
  const Literal batch8 = numbers(float32, {8, 2}, 5);
  const Array same_everywhere =
      make_array_from_process_local_data(line(P("x")), Array(batch8), Shape{8, 2});
  EXPECT_EQ(process_allgather(same_everywhere, true).to_host(), batch8);
}

TEST_F(Data, UnevenBatches) {
  const Literal batch = numbers(float32, {13, 2}, 3);
  const Array x = make_array_from_process_local_data(
      line(P("x")), Array(rows_here(batch, line(P("x")))), Shape{13, 2});
  EXPECT_EQ(process_allgather(x, true).to_host(), batch);
}

TEST_F(Data, ErrorsOfLocalData) {
  const auto make = [&](const Sharding& sharding, const Array& data,
                        const std::optional<Shape>& shape = {}) {
    return [=] { make_array_from_process_local_data(sharding, data, shape); };
  };
  EXPECT_THAT(error_of(make(line(P(None, None, "x")), floats({8, 2}))), HasSubstr("(8, 2)"));
  if (count_ == 1) {
    EXPECT_THAT(error_of(make(line(P("x")), floats({8, 2}), Shape{16, 2})),
                HasSubstr("[make_array_from_process_local_data] expected a global shape equal to "
                          "that of the data, (8, 2), all of which one process has, got (16, 2); "
                          "leave it out"));
    return;
  }
  EXPECT_THAT(error_of(make(line(P("x")), floats({8, 2}), Shape{24, 2})),
              HasSubstr(fmt::format("expected data with {} elements in dimension 0, as the devices "
                                    "of process {} hold of the global shape (24, 2) on",
                                    24 / count_, me_)));
  EXPECT_THAT(error_of(make(line(P("x")), floats({8, 2}), Shape{24})),
              HasSubstr("expected a global shape of 2 dimensions, as the data (8, 2), got (24,)"));
  EXPECT_THAT(error_of(make(line(P("x")), placed(float32, {8}, 1, line(P("x"))))),
              HasSubstr("expected data of this process, got float32[8] over several processes"));
  // Of the three devices, two belong to process 0 and one to process 1.
  const int64_t each = 8 / count_;
  const Mesh three = mesh({3}, {0, 1, each});
  const std::string error = error_of(make(NamedSharding(three, P("x")), floats({2, 2})));
  if (me_ < 2) {
    EXPECT_THAT(error,
                AllOf(HasSubstr("expected processes that hold disjoint parts of dimension 0"),
                      HasSubstr("give the global shape")));
    EXPECT_EQ(
        error_of(make(NamedSharding(three, P("x")), floats({me_ == 0 ? 2 : 1, 2}), Shape{3, 2})),
        "");
  } else {
    EXPECT_THAT(error, HasSubstr(fmt::format("expected a mesh with devices of process {}", me_)));
  }
}

TEST_F(Data, RowsOfThisProcess) {
  const int64_t each = 24 / count_;
  using Ranges = std::vector<IndexRange>;
  EXPECT_EQ(process_local_rows(line(P("x")), 24), (Ranges{{each * me_, each * me_ + each}}));
  EXPECT_EQ(process_local_rows(line(P()), 24), (Ranges{{0, 24}}));
  EXPECT_EQ(process_local_rows(SingleDeviceSharding(devices()[0]), 24), (Ranges{{0, 24}}));
  if (count_ == 2) {
    EXPECT_EQ(process_local_rows(NamedSharding(mesh({8}, {0, 4, 1, 5, 2, 6, 3, 7}), P("x")), 16),
              me_ == 0 ? (Ranges{{0, 2}, {4, 6}, {8, 10}, {12, 14}})
                       : (Ranges{{2, 4}, {6, 8}, {10, 12}, {14, 16}}));
  }
  if (count_ > 1) {
    EXPECT_EQ(process_local_rows(NamedSharding(mesh({2}, {0, 1}), P("x")), 24),
              me_ == 0 ? (Ranges{{0, 24}}) : Ranges{});
  }
}

// The shards of other processes are not made, asked for or kept.
TEST_F(Data, OnlyShardsOfThisProcessAreMade) {
  const auto place = line(P("x"));
  std::vector<int64_t> asked;
  const Array x = make_array_from_callback({16, 2}, place, float32, [&](const ShardIndex& index) {
    asked.push_back(index[0].start);
    Literal out(float32, {2, 2});
    for (int i = 0; i < 4; ++i)
      out.mutable_data<float>()[i] = static_cast<float>(index[0].start * 2 + i);
    return out;
  });
  const int64_t each = 8 / count_;
  ASSERT_EQ(static_cast<int64_t>(asked.size()), each);
  EXPECT_EQ(asked.front(), 2 * each * me_);
  EXPECT_EQ(process_allgather(x, true).to_host(), reshape(arange(32, float32), {16, 2}).to_host());
  if (count_ == 1) return;
  const Array large = device_put(Array(Literal(float32, {8, 1 << 18})), place);
  EXPECT_LT(static_cast<const runtime::DeviceArray&>(*large.data()).buffer().capacity(),
            large.size() * 4);
}

}  // namespace
}  // namespace tessera::data_test
