#include "tessera/runtime/device_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/schedules.h"

namespace tessera::device_array_test {

using namespace runtime;

namespace {

SingleDeviceSharding one_device(int64_t id = 0) {
  return SingleDeviceSharding(test_devices(id + 1).back());
}

// Returns every way to shard an array of `rank` dimensions over distinct axes of the mesh,
// including joint axes.
std::vector<P> all_specs(const std::vector<std::string>& axes, int64_t rank) {
  std::vector<std::vector<std::vector<std::string>>> dims(
      1, std::vector<std::vector<std::string>>(static_cast<size_t>(rank)));
  std::vector<P> out;
  // Places each axis of each permutation, major first, on any dimension or on none.
  std::function<void(std::vector<std::vector<std::string>>, std::vector<bool>)> place =
      [&](auto spec, auto used) {
        std::vector<DimSpec> entries;
        for (const auto& names : spec) {
          std::vector<AxisRef> refs;
          for (const auto& name : names) refs.push_back({name});
          entries.emplace_back(std::move(refs));
        }
        P made(std::move(entries));
        if (std::find(out.begin(), out.end(), made) == out.end()) out.push_back(std::move(made));
        for (size_t a = 0; a < axes.size(); ++a) {
          if (used[a]) continue;
          auto next_used = used;
          next_used[a] = true;
          for (size_t d = 0; d < spec.size(); ++d) {
            auto next = spec;
            next[d].push_back(axes[a]);
            place(next, next_used);
          }
        }
      };
  place(dims[0], std::vector<bool>(axes.size(), false));
  return out;
}

void expect_shards(const DeviceArray& array, const Literal& whole, const Sharding& sharding) {
  const auto map = sharding.devices_indices_map(whole.shape());
  const auto shards = array.addressable_shards();
  ASSERT_EQ(shards.size(), map.size());
  const Dims strides = row_major_strides(whole.shape());
  for (size_t p = 0; p < map.size(); ++p) {
    ASSERT_EQ(shards[p].device.id, map[p].device_id);
    ASSERT_EQ(shards[p].index, map[p].index);
    for (int64_t i = 0; i < shards[p].data.elements(); ++i) {
      int64_t rest = i, at = 0;
      for (int64_t d = whole.shape().rank() - 1; d >= 0; --d) {
        const IndexRange& range = map[p].index[static_cast<size_t>(d)];
        at += (range.start + rest % range.size()) * strides[d];
        rest /= range.size();
      }
      ASSERT_EQ(shards[p].data.data<int32_t>()[i], whole.data<int32_t>()[at]);
    }
  }
}

Literal numbered(const Shape& shape) {
  Literal out(int32, shape);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<int32_t>()[i] = static_cast<int32_t>(i + 1);
  return out;
}

TEST(DeviceArray, HostRoundTripUnderEverySharding) {
  for (const auto& [sizes, names] : {std::pair<Shape, std::vector<std::string>>{{8}, {"x"}},
                                     {{2, 4}, {"x", "y"}},
                                     {{2, 2, 2}, {"x", "y", "z"}}}) {
    const Mesh mesh = test_mesh(sizes, names);
    for (const Shape& shape : {Shape{}, Shape{16}, Shape{10}, Shape{3}, Shape{0}, Shape{8, 8},
                               Shape{5, 9}, Shape{4, 8, 2}, Shape{3, 5, 7}}) {
      const Literal whole = numbered(shape);
      for (const P& spec : all_specs(names, shape.rank())) {
        SCOPED_TRACE(fmt::format("{} {} {}", mesh, shape, spec));
        const NamedSharding sharding(mesh, spec);
        const auto array = device_array(whole, sharding, true);
        ASSERT_EQ(array->to_literal(), whole);
        ASSERT_EQ(array->sharding(), Sharding(sharding));
        ASSERT_TRUE(array->type.weak);
        expect_shards(*array, whole, sharding);
      }
    }
  }
}

// Tests all pairs of shardings, even and uneven.
TEST(DeviceArray, ReshardFromAnyToAny) {
  // Counts ordered lists of distinct axes that are divided among the dimensions: k! * C(k + 2, 2)
  // for each choice of k axes.
  ASSERT_EQ(all_specs({"x", "y", "z"}, 3).size(), 1u + 3 * 3 + 3 * 12 + 60);
  for (const auto& [sizes, names] : {std::pair<Shape, std::vector<std::string>>{{8}, {"x"}},
                                     {{2, 4}, {"x", "y"}},
                                     {{2, 2, 2}, {"x", "y", "z"}}}) {
    const Mesh mesh = test_mesh(sizes, names);
    for (const Shape& shape :
         {Shape{16}, Shape{11}, Shape{8, 8}, Shape{5, 9}, Shape{4, 4, 2}, Shape{3, 5, 2}}) {
      const Literal whole = numbered(shape);
      std::vector<Sharding> shardings{one_device()};
      const std::vector<P> specs = all_specs(names, shape.rank());
      // Every third of the about 100 specs of rank 3 is enough: there are still a thousand pairs of
      // them.
      for (size_t i = 0; i<specs.size(); i += specs.size()> 40 ? 3 : 1)
        shardings.push_back(NamedSharding(mesh, specs[i]));
      for (const Sharding& from : shardings) {
        const auto source = device_array(whole, from);
        for (const Sharding& to : shardings) {
          const auto moved = reshard(source, to);
          ASSERT_EQ(moved->to_literal(), whole) << from << " to " << to;
          ASSERT_EQ(moved->sharding(), to);
          // The array is resharded again, so there are views of views.
          ASSERT_EQ(reshard(moved, from)->to_literal(), whole)
              << from << " to " << to << " and back";
        }
      }
    }
  }
}

TEST(DeviceArray, ReshardThatNeedsNoCopy) {
  const Mesh line = test_mesh({8}, {"x"}), grid = test_mesh({2, 4}, {"x", "y"});
  std::vector<Device> reversed = test_devices(8);
  std::reverse(reversed.begin(), reversed.end());
  const Mesh backwards(reversed, {"x"});
  const auto array = device_array(numbered({16, 4}), NamedSharding(line, P("x")));
  for (const Sharding& to :
       {Sharding(NamedSharding(backwards, P("x"))), Sharding(NamedSharding(line, P())),
        Sharding(one_device(3)), Sharding(NamedSharding(grid, P("y"))),
        Sharding(NamedSharding(grid, P(joint("y", "x"))))}) {
    const auto moved = reshard(array, to);
    EXPECT_EQ(moved->buffer(), array->buffer()) << to;
    EXPECT_EQ(moved->to_literal(), array->to_literal());
    expect_shards(*moved, numbered({16, 4}), to);
  }
  EXPECT_EQ(reshard(array, array->sharding()), array);
  // A sharding of columns is not one of rows.
  EXPECT_FALSE(reshard(array, NamedSharding(grid, P(None, "y")))->buffer() == array->buffer());
}

TEST(DeviceArray, PaddingIsFinite) {
  const Mesh mesh = test_mesh({8}, {"x"});
  Literal whole(float32, {10});
  for (int i = 0; i < 10; ++i) whole.mutable_data<float>()[i] = 1;
  for (const auto& array :
       {device_array(whole, NamedSharding(mesh, P("x"))),
        reshard(device_array(whole, one_device()), NamedSharding(mesh, P("x")))}) {
    for (int64_t i = 0; i < 8; ++i)
      for (int j = 0; j < 2; ++j)
        EXPECT_EQ(reinterpret_cast<const float*>(array->instance(i))[j],
                  i * 2 + j < 10 ? 1.f : 0.f);
  }
}

TEST(DeviceArray, FromCallback) {
  const Mesh mesh = test_mesh({2, 4}, {"x", "y"});
  const NamedSharding sharding(mesh, P("y"));
  int calls = 0;
  const auto array =
      device_array_from_callback(int32, {10, 3}, sharding, [&](const ShardIndex& index) {
        ++calls;
        Literal out(int32, {index[0].size(), index[1].size()});
        for (int64_t i = 0; i < out.elements(); ++i)
          out.mutable_data<int32_t>()[i] = static_cast<int32_t>(index[0].start * 3 + i + 1);
        return out;
      });
  EXPECT_EQ(calls, 4);  // once for each distinct shard
  EXPECT_EQ(array->to_literal(), numbered({10, 3}));
  try {
    device_array_from_callback(int32, {10, 3}, sharding, [&](const ShardIndex&) {
      return Literal(int32, {1, 1});
    });
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(),
                 "[make_array_from_callback] expected int32(3, 3) from the callback for index "
                 "[0:3, 0:3], got int32(1, 1)");
  }
}

TEST(DeviceArray, LayoutsAreShared) {
  const Mesh mesh = test_mesh({8}, {"x"});
  const auto a = array_layout(float32, {16}, NamedSharding(mesh, P("x")));
  EXPECT_EQ(a, array_layout(float32, {16}, NamedSharding(test_mesh({8}, {"x"}), P("x"))));
  // The placement is the same, but it is printed in another way.
  const auto b = array_layout(float32, {16, 1}, NamedSharding(mesh, P("x"))),
             c = array_layout(float32, {16, 1}, NamedSharding(mesh, P("x", None)));
  EXPECT_NE(b, c);
  EXPECT_TRUE(same_placement(*b, *c));
  EXPECT_FALSE(same_placement(*a, *b));
}

TEST(DeviceArray, WrongShardings) {
  try {
    device_array(numbered({4}), NamedSharding(test_mesh({8}, {"x"}), P(None, "x")));
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::StartsWith("[device_put] expected a spec of at most 1 entry"));
  }
  try {
    device_array(numbered({4}), NamedSharding(Mesh::abstract({8}, {"x"}), P("x")));
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::StartsWith(
                              "[device_put] expected a mesh of devices, got AbstractMesh('x': 8)"));
  }
}

}  // namespace
}  // namespace tessera::device_array_test
