// Arrays are moved between shardings over several processes. Also tested: arrays on some of the
// devices, so that processes do not take part, and donation.
#include "tessera/ir/format.h"
#include "tests/cluster/recorded.h"

namespace tessera::reshard_test {
namespace {

const std::vector<int64_t>& mixed() {
  static const auto& order = *new std::vector<int64_t>{5, 0, 3, 6, 1, 2, 7, 4};
  return order;
}

class Reshard : public ClusterTest {
 protected:
  // Returns shardings of an array of this rank: over a (2, 4) mesh, over a part of the devices, and
  // on one device.
  std::vector<Sharding> shardings(int64_t rank) const {
    std::vector<PartitionSpec> specs{P()};
    for (const DimSpec& d : {DimSpec("x"), DimSpec("y"), joint("x", "y"), joint("y", "x")}) {
      specs.push_back(P(d));
      if (rank > 1) specs.push_back(P(None, d));
    }
    if (rank > 1) specs.push_back(P("x", "y")), specs.push_back(P("y", "x"));
    std::vector<Sharding> out;
    for (const PartitionSpec& spec : specs) out.emplace_back(NamedSharding(mesh({2, 4}), spec));
    out.emplace_back(NamedSharding(mesh({2, 4}, mixed()), rank > 1 ? P("y", "x") : P("y")));
    out.emplace_back(NamedSharding(mesh({8}, mixed()), P("x")));
    // Of two processes, one has none of these devices; of four processes, one or two have them.
    out.emplace_back(NamedSharding(mesh({2}, {1, 0}), P("x")));
    out.emplace_back(NamedSharding(mesh({3}, {7, 5, 4}), P("x")));
    out.emplace_back(NamedSharding(mesh({1}, {6}), P()));
    out.emplace_back(SingleDeviceSharding(devices()[0]));
    out.emplace_back(SingleDeviceSharding(devices()[5]));
    return out;
  }
  void all_pairs(const Shape& shape, DType dtype) {
    const std::vector<Sharding> list = shardings(shape.rank());
    for (size_t a = 0; a < list.size(); ++a) {
      const Array x = device_put(Array(numbers(dtype, shape, 9)), list[a]);
      same(fmt::format("{}", a), x);
      for (size_t b = 0; b < list.size(); ++b)
        same(fmt::format("{} {}", a, b), device_put(x, list[b]));
    }
  }
};

TEST_F(Reshard, AllPairsOfMatrices) { all_pairs({16, 24}, float32); }
TEST_F(Reshard, AllPairsOfUnevenMatrices) { all_pairs({13, 7}, bfloat16); }
TEST_F(Reshard, AllPairsOfVectors) { all_pairs({40}, complex128); }
TEST_F(Reshard, AllPairsOfUnevenVectors) { all_pairs({5}, int8); }
TEST_F(Reshard, AllPairsOfArraysWithoutElements) { all_pairs({0, 3}, float32); }
TEST_F(Reshard, AllPairsOfLargeMatrices) { all_pairs({512, 520}, float32); }

TEST_F(Reshard, Numbers) {
  const std::vector<Sharding> list{
      NamedSharding(mesh({2, 4}), P()), NamedSharding(mesh({2}, {1, 0}), P()),
      NamedSharding(mesh({1}, {6}), P()), SingleDeviceSharding(devices()[5])};
  for (size_t a = 0; a < list.size(); ++a)
    for (size_t b = 0; b < list.size(); ++b)
      same(fmt::format("{} {}", a, b), device_put(device_put(Array(1.5f + a), list[a]), list[b]));
}

// Programs on some of the devices. A process without any of these devices has arrays without
// shards.
TEST_F(Reshard, ProgramsOnSomeOfTheDevices) {
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{0, 1}, {1, 6}, {7, 5, 4, 6}, {2, 4, 3}}) {
    const Mesh m = mesh({static_cast<int64_t>(order.size())}, order);
    const std::string which = fmt::format("{}", fmt::join(order, ""));
    const Array x = placed(float32, {24, 12}, 2, NamedSharding(m, P("x")));
    const auto f = jit([](const Array& v) {
      return std::tuple(sum(v), cumsum(v, {.axis = 0}), matmul(transpose(v), v));
    });
    const auto [a, b, c] = f(x);
    same(which + "sum", a), same(which + "cumsum", b), same(which + "product", c);
    same(which + "all", device_put(b, NamedSharding(mesh({2, 4}, mixed()), P("y", "x"))));
    // An eager computation on the results of another program.
    same(which + "eager", exp(b) + sum(x));
  }
}

TEST_F(Reshard, Donation) {
  for (const std::vector<int64_t>& order : {std::vector<int64_t>{}, mixed(), {3, 1}}) {
    const Mesh m = order.size() == 2 ? mesh({1, 2}, order) : mesh({2, 4}, order);
    const std::string which = fmt::format("{}", fmt::join(order, ""));
    const auto f = jit([](const Array& v, const Array& w) { return std::pair(v + sum(w), v * w); },
                       {.donate_argnums = {0}});
    const Array x = placed(float32, {16, 8}, 2, NamedSharding(m, P("x", "y"))),
                w = placed(float32, {16, 8}, 3, NamedSharding(m, P("y", "x")));
    const auto [a, b] = f(x, w);
    same(which + "a", a), same(which + "b", b), same(which + "w", w);
    EXPECT_THROW(x + 1, UserError);
  }
}

TEST_F(Reshard, ArraysMadeShardByShard) {
  const std::vector<Sharding> list = shardings(2);
  for (size_t k = 0; k < list.size(); ++k) {
    const auto x = make_array_from_callback({13, 24}, list[k], int32, [](const ShardIndex& index) {
      Shape shape;
      for (const IndexRange& range : index) shape.push_back(range.size());
      Literal out(int32, shape);
      for (int64_t i = 0; i < out.elements(); ++i)
        out.mutable_data<int32_t>()[i] = static_cast<int32_t>(index[0].start * 1000 + i);
      return out;
    });
    same(fmt::format("{}", k), x);
  }
}

}  // namespace
}  // namespace tessera::reshard_test
