// Memory of the caller in arrays, and arrays as memory of the caller. Released memory is freed at
// once, so that the address sanitizer finds later uses.
#include "tessera/numpy/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tessera/compile/jit.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/mesh/scoped_devices.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tests/errors.h"

namespace tessera::host_memory_test {
namespace {

using test::expect_error;
using ::testing::Each;
using ::testing::ElementsAre;

// Memory with 0, 1, 2, ... that is freed when it is released.
struct Lent {
  explicit Lent(size_t count) : data(new float[count]), count(count) {
    std::iota(data, data + count, 0.f);
  }
  ~Lent() { EXPECT_EQ(releases, 1) << "released once, and before this ends"; }
  std::function<void()> release() {
    return [this] {
      ++releases;
      delete[] data;
      data = nullptr;
    };
  }
  std::span<const float> span() const { return {data, count}; }
  float* data;
  size_t count;
  int releases = 0;
};

std::vector<float> counted(size_t count, float first = 0) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST(HostMemory, BorrowedMemoryIsNotCopied) {
  Lent lent(100);
  const float* data = lent.data;
  {
    const Array x = borrow(lent.span(), {10, 10}, lent.release());
    EXPECT_EQ(x.shape(), (Shape{10, 10}));
    EXPECT_EQ(x.dtype(), float32);
    const HostView<float> seen = view<float>(x);
    EXPECT_EQ(seen.data(), data);
    EXPECT_EQ(sum(x).item<float>(), 4950);
    EXPECT_EQ(lent.releases, 0);
  }
}

TEST(HostMemory, SmallArraysAreBorrowedToo) {
  Lent lent(2);
  const auto f = jit([](const Array& x) { return x * 2.0; });
  {
    const Array x = borrow(lent.span(), {2}, lent.release());
    EXPECT_EQ(view<float>(x).data(), lent.data);
    EXPECT_THAT(to_vector<float>(f(x)), ElementsAre(0, 2));
  }
  EXPECT_EQ(lent.releases, 1) << "the compiled program does not keep it";
}

TEST(HostMemory, EveryUserKeepsIt) {
  Lent lent(100);
  std::optional<Array> x = borrow(lent.data, {100}, lent.release());
  std::optional<Literal> literal = to_host(*x);
  std::optional<HostView<float>> seen = view<float>(*x);
  x.reset();
  EXPECT_EQ(lent.releases, 0);
  EXPECT_EQ(literal->values<float>()[99], 99);
  literal.reset();
  EXPECT_EQ(lent.releases, 0);
  EXPECT_EQ((*seen)[7], 7);
  const HostView<float> copy = *seen;
  seen.reset();
  EXPECT_EQ(std::accumulate(copy.begin(), copy.end(), 0.f), 4950);
  EXPECT_EQ(lent.releases, 0);
}

TEST(HostMemory, DonationDoesNotWriteToIt) {
  Lent lent(100);
  const auto f = jit([](const Array& x) { return x + 1.0; }, {.donate_argnums = {0}});
  {
    const Array x = borrow(lent.data, {100}, lent.release());
    const HostView<float> before = view<float>(x);
    const Array y = f(x);
    EXPECT_NE(view<float>(y).data(), before.data());
    EXPECT_EQ(to_vector<float>(y), counted(100, 1));
    EXPECT_EQ(std::vector<float>(before.begin(), before.end()), counted(100));
    expect_error([&] { view<float>(x); }, "[array] expected a live array");
  }
}

TEST(HostMemory, DonationReleasesItAsSoonAsNobodyElseUsesIt) {
  Lent lent(100);
  const auto f = jit([](const Array& x) { return x + 1.0; }, {.donate_argnums = {0}});
  const Array x = borrow(lent.data, {100}, lent.release());
  const Array y = f(x);
  EXPECT_EQ(lent.releases, 1);
  EXPECT_EQ(to_vector<float>(y), counted(100, 1));
}

TEST(HostMemory, LiteralsOfItAreCopiedBeforeTheyAreWritten) {
  Lent lent(100);
  {
    Literal literal = to_host(borrow(lent.data, {100}, lent.release()));
    const float* borrowed = literal.data<float>();
    EXPECT_EQ(borrowed, lent.data);
    const std::vector<float> before(borrowed, borrowed + 100);
    EXPECT_EQ(before, counted(100));
    literal.mutable_data<float>()[0] = 5;
    EXPECT_NE(literal.data<float>(), borrowed);
    EXPECT_EQ(literal.data<float>()[99], 99);
  }
}

TEST(HostMemory, AnArrayThatIsReshapedKeepsIt) {
  Lent lent(100);
  {
    std::optional<Array> x = borrow(lent.data, {100}, lent.release());
    const Array y = reshape(*x, {4, 25});
    x.reset();
    EXPECT_EQ(to_vector<float>(y), counted(100));
  }
}

TEST(HostMemory, AdoptedVectorsAreNotCopied) {
  std::vector<float> values = counted(96);
  const float* data = values.data();
  const Array x = adopt(std::move(values), {8, 12});
  EXPECT_EQ(view<float>(x).data(), data);
  EXPECT_EQ(to_vector<float>(x), counted(96));
  EXPECT_EQ(adopt(counted(3)).shape(), Shape{3});
  EXPECT_EQ(adopt(std::vector<int32_t>{}).size(), 0);
}

TEST(HostMemory, ReleaseIsCalledForNoElements) {
  Lent lent(1);
  const Array x = borrow(lent.data, {3, 0}, lent.release());
  EXPECT_EQ(lent.releases, 1);
  EXPECT_EQ(x.shape(), (Shape{3, 0}));
}

TEST(HostMemory, Strides) {
  Lent lent(12);
  const Array rows = borrow(lent.data, {3, 4}, lent.release(), {.strides = Dims{4, 1}});
  EXPECT_EQ(view<float>(rows).data(), lent.data);
  const std::vector<float> columns = counted(12);
  const Array x = borrow(columns.data(), {4, 3}, [] {}, {.strides = Dims{1, 4}, .copy = true});
  EXPECT_THAT(to_vector<float>(x), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  const Array backwards =
      borrow(columns.data() + 11, {4}, [] {}, {.strides = Dims{-3}, .copy = true});
  EXPECT_THAT(to_vector<float>(backwards), ElementsAre(11, 8, 5, 2));
  const Array repeated =
      borrow(columns.data(), {2, 2}, [] {}, {.strides = Dims{0, 1}, .copy = true});
  EXPECT_THAT(to_vector<float>(repeated), ElementsAre(0, 1, 0, 1));
  // The stride of a dimension of one element is not used.
  EXPECT_EQ(view<float>(borrow(columns.data(), {1, 12}, [] {}, {.strides = Dims{7, 1}})).data(),
            columns.data());
}

TEST(HostMemory, CopiesAreReleasedAtOnce) {
  int releases = 0;
  const std::vector<double> values{1, 2, 3};
  const Array x = borrow(values.data(), {3}, [&] { ++releases; }, {.copy = true});
  EXPECT_EQ(releases, 1);
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_THAT(to_vector<float>(x), ElementsAre(1, 2, 3));
}

TEST(HostMemory, BorrowErrors) {
  const std::vector<float> values = counted(12);
  const std::vector<double> wide{1, 2};
  int releases = 0;
  const auto release = [&] { ++releases; };
  expect_error([&] { borrow(std::span<const float>(values), {5}, release); },
               "[borrow] expected 5 elements for the shape (5,), got 12");
  expect_error(
      [&] {
        borrow(values.data(), {3, 4}, release, {.strides = Dims{1, 3}});
      },
      "[borrow] expected dense memory in row-major order, whose strides are");
  // Elements that overlap: those of the rows, and all of one row.
  for (const Dims& strides : {Dims{1, 1}, Dims{0, 1}})
    expect_error(
        [&] {
          borrow(values.data(), {3, 4}, release, {.strides = strides});
        },
        "[borrow] expected dense memory in row-major order, whose strides are");
  expect_error(
      [&] {
        borrow(values.data(), {3, 4}, release, {.strides = Dims{1}});
      },
      "[borrow] expected a stride for each dimension of (3, 4)");
  expect_error([&] { borrow(values.data(), {-3}, release); },
               "[borrow] expected a shape with sizes >= 0");
  expect_error([&] { borrow(static_cast<const float*>(nullptr), {3}, release); },
               "[borrow] expected memory with 3 elements of float32, got a null pointer");
  expect_error([&] { borrow(values.data(), {3}, nullptr); },
               "[borrow] expected a function that releases the memory, got none");
  expect_error([&] { borrow(wide.data(), {2}, release); },
               "[borrow] expected elements of at most 32 bits while x64 is disabled, got float64");
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  expect_error([&] { borrow(bytes + 1, float32, {3}, release); },
               "[borrow] expected memory aligned to 4 bytes, as float32 is");
  EXPECT_EQ(releases, 0);
  std::vector<float> kept = counted(12);
  expect_error([&] { adopt(std::move(kept), {5}); }, "[borrow] expected 5 elements");
  EXPECT_EQ(kept, counted(12));
}

TEST(HostMemory, MisalignedMemoryIsCopiedIfThatIsAllowed) {
  const std::vector<float> values = counted(12);
  std::vector<std::byte> bytes(13);
  std::memcpy(bytes.data() + 1, values.data() + 3, 12);
  const Array x = borrow(bytes.data() + 1, float32, {3}, [] {}, {.copy = true});
  EXPECT_THAT(to_vector<float>(x), ElementsAre(3, 4, 5));
}

TEST(HostMemory, WideElementsWithX64) {
  enable_x64(true);
  const std::vector<double> wide{1, 2};
  const Array x = borrow(wide.data(), {2}, [] {});
  EXPECT_EQ(view<double>(x).data(), wide.data());
  enable_x64(false);
}

TEST(HostMemory, ViewsOfSeveralDevices) {
  const ScopedDevices devices("cpu:4");
  const Mesh mesh = make_mesh({2, 2}, {"x", "y"});
  const Array host = from_host(counted(96), {8, 12});
  // The shards, one after the other, are the array.
  const Array rows = device_put(host, NamedSharding(mesh, P("x")));
  const HostView<float> whole = view<float>(rows);
  EXPECT_EQ(std::vector<float>(whole.begin(), whole.end()), counted(96));
  std::vector<float> seen;
  for (const HostView<float>& shard : shard_views<float>(rows)) {
    EXPECT_EQ(shard.shape(), (Shape{4, 12}));
    const bool inside = shard.data() >= whole.data() && shard.data() < whole.data() + 96;
    EXPECT_TRUE(inside) << "a view of the array's own memory";
    seen.push_back(shard[0]);
  }
  EXPECT_THAT(seen, ElementsAre(0, 0, 48, 48));
  // These shards, one after the other, are not the array.
  const Array tiles = device_put(host, NamedSharding(mesh, P("x", "y")));
  expect_error([&] { view<float>(tiles); }, "view its addressable_shards one by one");
  EXPECT_EQ(to_vector<float>(tiles), counted(96));
  seen.clear();
  for (const Shard& shard : addressable_shards(tiles)) seen.push_back(view<float>(shard)[1]);
  EXPECT_THAT(seen, ElementsAre(1, 7, 49, 55));
}

TEST(HostMemory, ViewsOfPaddedShards) {
  const ScopedDevices devices("cpu:4");
  const Mesh mesh = make_mesh({4}, {"x"});
  const Array x = device_put(from_host(counted(70), {7, 10}), NamedSharding(mesh, P("x")));
  EXPECT_EQ(view<float>(x).size(), 70u);
  std::vector<int64_t> rows;
  for (const HostView<float>& shard : shard_views<float>(x)) rows.push_back(shard.shape()[0]);
  EXPECT_THAT(rows, ElementsAre(2, 2, 2, 1));
  EXPECT_EQ(shard_views<float>(x)[3][9], 69);
}

TEST(HostMemory, ViewErrors) {
  const Array x = ones({4});
  expect_error(
      [&] { view<int32_t>(x); },
      "[view] expected the C++ type of the elements, which are float32, got that of int32");
  expect_error([&] { view<int32_t>(addressable_shards(x)[0]); }, "[view] expected the C++ type");
  const Literal literal = to_host(x);
  expect_error([&] { literal.values<int32_t>(); },
               "[values] expected the C++ type of the elements, which are float32");
  expect_error(
      [&] {
        jit([](const Array& y) {
          view<float>(y);
          return y;
        })(x);
      },
      "[view] expected a concrete array, got the traced");
}

TEST(HostMemory, ToHostAndFromHostShareMemory) {
  const Literal literal = Literal::from<float>(counted(1000), {10, 100});
  const Array x = from_host(literal);
  EXPECT_EQ(view<float>(x).data(), literal.data<float>());
  EXPECT_EQ(to_host(x).raw(), literal.raw());
  // A write does not change memory that others read.
  Literal mine = to_host(x);
  mine.mutable_data<float>()[0] = 7;
  EXPECT_EQ(literal.data<float>()[0], 0);
  EXPECT_EQ(view<float>(x)[0], 0);
  const auto f = jit([](const Array& y) { return y * 2.0; }, {.donate_argnums = {0}});
  EXPECT_EQ(view<float>(f(x))[1], 2);
  EXPECT_EQ(literal.data<float>()[1], 1);
}

TEST(HostMemory, MemoryOfALiteralThatHasEndedIsDonated) {
  const auto f = jit([](const Array& y) { return y * 2.0; }, {.donate_argnums = {0}});
  const Array x = from_host(counted(1000), {10, 100});
  const float* before = view<float>(x).data();
  const Array y = f(x);
  EXPECT_EQ(view<float>(y).data(), before);
}

TEST(HostMemory, LargeArraysAreCopiedWhole) {
  // The copy has several whole tasks and a part of one.
  const std::vector<float> values = counted((int64_t{20} << 20) / 4 + 3);
  const Array x = from_host(values);
  EXPECT_EQ(to_vector<float>(x), values);
  EXPECT_THAT(to_vector<float>(from_host(Literal(float32, {1 << 19}))), Each(0.f));
}

}  // namespace
}  // namespace tessera::host_memory_test
