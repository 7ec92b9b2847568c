// Indexing by integers, slices and arrays; values are those of jax.numpy.
#include "tessera/numpy/indexing.h"

#include <cmath>
#include <numeric>

#include "tessera/base/namespaces.h"
#include "tests/compile/devices.h"

namespace tessera::indexing_test {

using namespace runtime;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Indexing : public DevicesTest {};

TEST_F(Indexing, RowsByAnArray) {
  const Array x = iota({4, 3});
  const Array i = array<int32_t>({2, -1, 9});
  EXPECT_THAT(values(index(x, i)), ElementsAre(6, 7, 8, 9, 10, 11, 9, 10, 11));
  EXPECT_THAT(values(index(x, {i, 1})), ElementsAre(7, 10, 10));
  EXPECT_THAT(values(index(x, {Slice(), i})), ElementsAre(2, 2, 2, 5, 5, 5, 8, 8, 8, 11, 11, 11));
  EXPECT_EQ(index(x, {None, i, None}).shape(), (Shape{1, 3, 1, 3}));
}

TEST_F(Indexing, IntegersAndSlices) {
  const Array x = iota({4, 3});
  EXPECT_THAT(values(index(x, {1, Slice(std::nullopt, std::nullopt, -1)})), ElementsAre(5, 4, 3));
  EXPECT_THAT(values(index(x, {Ellipsis, -1})), ElementsAre(2, 5, 8, 11));
  EXPECT_THAT(values(index(x, {Slice(3, 0, -2), 0})), ElementsAre(9, 3));
  EXPECT_EQ(index(x, {Slice(2, 1)}).shape(), (Shape{0, 3}));
}

// If a slice separates index arrays, their dimensions come first.
TEST_F(Indexing, PartedArraysStandFirst) {
  const Array x = iota({2, 3, 4});
  const Array i = array<int32_t>({1, 0});
  EXPECT_EQ(index(x, {i, Slice(0, 2), i}).shape(), (Shape{2, 2}));
  EXPECT_THAT(values(index(x, {i, Slice(0, 2), i})), ElementsAre(13, 17, 0, 4));
  EXPECT_THAT(values(index(x, {Slice(std::nullopt, std::nullopt, 2), i, i})), ElementsAre(5, 0));
}

// Gradients are those of JAX: an array of indices drops the gradients of indices outside of the
// array, whatever value these have. Clipped indices and slices were moved inside before.
TEST_F(Indexing, GradientsOfPlacesOutside) {
  const Array x = iota({5}) + 1, w = iota({8}) + 1;
  const Array i = array<int32_t>({0, 7, -1, -9, 2, 5, -6, 2});
  const auto by = [&](const auto& f) {
    return values(grad([&](const Array& y) { return sum(nan_to_num(f(y)) * w); })(x));
  };
  EXPECT_THAT(by([&](const Array& y) { return index(y, i); }), ElementsAre(1, 0, 13, 0, 3));
  EXPECT_THAT(by([&](const Array& y) { return at(y)[i].get(); }), ElementsAre(1, 0, 13, 0, 3));
  EXPECT_THAT(by([&](const Array& y) { return at(y)[i].get({.mode = IndexMode::kFill}); }),
              ElementsAre(1, 0, 13, 0, 3));
  EXPECT_THAT(by([&](const Array& y) { return at(y)[i].get({.mode = IndexMode::kClip}); }),
              ElementsAre(12, 0, 13, 0, 11));
  EXPECT_THAT(by([&](const Array& y) { return take(y, i); }), ElementsAre(1, 0, 13, 0, 3));
  EXPECT_THAT(by([&](const Array& y) { return take(y, i, {.mode = IndexMode::kClip}); }),
              ElementsAre(15, 0, 13, 0, 8));
  EXPECT_THAT(by([&](const Array& y) { return take(y, i, {.mode = IndexMode::kWrap}); }),
              ElementsAre(7, 4, 15, 0, 10));
  EXPECT_THAT(by([&](const Array& y) { return take_along_axis(y, i, 0); }),
              ElementsAre(1, 0, 13, 0, 3));
  // The gradient of a gradient.
  const auto inner = [&](const Array& y) {
    return sum(grad([&](const Array& z) { return sum(index(z, i) * index(z, i) * w); })(y));
  };
  EXPECT_THAT(values(grad(inner)(x)), ElementsAre(2, 0, 26, 0, 6));
  // A single traced index is a slice, also under vmap.
  const auto one = [](const Array& y, const Array& at) { return index(y, at); };
  EXPECT_THAT(values(jit(grad(one))(x, Array(9))), ElementsAre(0, 0, 0, 0, 1));
  EXPECT_THAT(values(sum(vmap(grad(one), {.in_axes = {None, 0}})(x, i), {.axis = 0})),
              ElementsAre(3, 0, 2, 0, 3));
}

TEST_F(Indexing, GradientsOfWindowsOutside) {
  const Array x = iota({5}) + 1, x2 = iota({4, 3}) + 1,
              i = array<int32_t>({0, 7, -1, -9, 2, 5, -6, 2});
  const Array w = iota({8}) + 1;
  const auto pairs = [&](const Array& y) { return sum(index(y, {i, remainder(i, 3)}) * w); };
  EXPECT_THAT(values(grad(pairs)(x2)), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 3));
  const auto slice = [&](int32_t start) {
    return values(grad([&](const Array& y) {
      return sum(lax::dynamic_slice(y, std::vector{Array(start)}, {3}) * (iota({3}) + 1));
    })(x));
  };
  EXPECT_THAT(slice(4), ElementsAre(0, 0, 1, 2, 3));
  EXPECT_THAT(slice(-9), ElementsAre(1, 2, 3, 0, 0));
  // Indices of a dtype that cannot represent all positions.
  const Array narrow = array<uint8_t>({3, 200});
  const auto some = [&](const Array& y) {
    return sum(
        lax::gather(y, reshape(narrow, {2, 1}), {{}, {0}, {0}}, {1}, IndexMode::kPromiseInBounds));
  };
  const std::vector<float> of_some = values(grad(some)(zeros({600})));
  EXPECT_EQ(std::accumulate(of_some.begin(), of_some.end(), 0.0F), 2);
}

TEST_F(Indexing, Updates) {
  const Array x = zeros({4});
  const Array i = array<int32_t>({1, 1, -1, 9});
  EXPECT_THAT(values(at(x)[i].add(1)), ElementsAre(0, 2, 0, 1));
  EXPECT_THAT(values(at(x)[i].set(arange(4.0f) + 1)), ElementsAre(0, 2, 0, 3));
  EXPECT_THAT(values(at(x + 2)[i].multiply(3)), ElementsAre(2, 18, 2, 6));
  EXPECT_THAT(values(at(x)[i].max(5)), ElementsAre(0, 5, 0, 5));
  EXPECT_THAT(values(at(x)[i].min(-5)), ElementsAre(0, -5, 0, -5));
  EXPECT_THAT(values(at(x)[i].subtract(1)), ElementsAre(0, -2, 0, -1));
  EXPECT_THAT(values(at(x)[Slice(1, 3)].set(7)), ElementsAre(0, 7, 7, 0));
  EXPECT_THAT(values(at(x)[Slice(0, 4, 2)].add(7)), ElementsAre(7, 0, 7, 0));
  EXPECT_THAT(values(at(iota({2, 2}))[{1, 0}].set(9)), ElementsAre(0, 1, 9, 3));
}

// Integers are combined with other numbers in the common dtype, as in JAX. Elements that are not
// updated keep values that this dtype would round.
TEST_F(Indexing, UpdatesOfIntegersByFractions) {
  const auto numbers = [](const Array& x) { return to_vector<int32_t>(x); };
  const Array x = array<int32_t>({5, -5, 16777217, 8});
  const Array i = array<int32_t>({0, 1});
  EXPECT_THAT(numbers(at(x)[i].multiply(0.5)), ElementsAre(2, -2, 16777217, 8));
  EXPECT_THAT(numbers(at(x)[i].add(array({0.75f, -0.75f}))), ElementsAre(5, -5, 16777217, 8));
  EXPECT_THAT(numbers(at(x)[i].subtract(1.5)), ElementsAre(3, -6, 16777217, 8));
  EXPECT_THAT(numbers(at(x)[{Slice(0, 2)}].max(0.5)), ElementsAre(5, 0, 16777217, 8));
  EXPECT_THAT(numbers(at(x)[x < 8].multiply(1.5)), ElementsAre(7, -7, 16777217, 8));
  EXPECT_THAT(numbers(at(x)[i].set(2.75)), ElementsAre(2, 2, 16777217, 8));
  const Array small = astype(array({100, 5}), int8), large = array({300});
  EXPECT_THAT(numbers(at(small)[Slice(0, 1)].add(large)), ElementsAre(-112, 5));
  EXPECT_THAT(numbers(at(small)[Slice(0, 1)].min(large)), ElementsAre(100, 5));
  EXPECT_EQ(at(small)[Slice(0, 1)].min(large).dtype(), int8);
}

// A dimension without elements that is not indexed, or a result without elements, is no error.
TEST_F(Indexing, DimensionsWithoutElements) {
  const Array x = zeros({2, 0, 3}), i = array<int32_t>({1, 0});
  EXPECT_EQ(index(x, {i, Slice(), i}).shape(), (Shape{2, 0}));
  EXPECT_EQ(index(x, {Slice(), Slice(), i}).shape(), (Shape{2, 0, 2}));
  EXPECT_EQ(index(x, {array<int32_t>({-2}), zeros({0}, int32), Slice(0, 1, 2)}).shape(),
            (Shape{0, 1}));
  EXPECT_EQ(take(x, i, {.axis = 2}).shape(), (Shape{2, 0, 2}));
  EXPECT_EQ(take(x, zeros({0, 4}, int32), {.axis = 1}).shape(), (Shape{2, 0, 4, 3}));
  EXPECT_EQ(take_along_axis(x, zeros({2, 0, 4}, int32), 2).shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(take_along_axis(x, zeros({2, 1, 3}, int32), 1).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(nanmedian(x, {.axis = 0}).shape(), (Shape{0, 3}));
  EXPECT_EQ(grad([&](const Array& y) { return sum(take(y, i, {.axis = 2})); })(x).shape(),
            x.shape());
}

TEST_F(Indexing, Take) {
  const Array x = iota({2, 3});
  const std::vector<float> got = values(take(x, array<int32_t>({2, 5, 6})));
  EXPECT_EQ(got[0], 2);
  EXPECT_EQ(got[1], 5);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_THAT(values(take(x, array<int32_t>({-1, 0}), {.axis = 1})), ElementsAre(2, 0, 5, 3));
  EXPECT_THAT(values(take_along_axis(x, array<int32_t>({{2}, {0}}), 1)), ElementsAre(2, 3));
}

// The indexing of training: an embedding and a cross entropy, and their gradients.
TEST_F(Indexing, GradientsOfEmbeddingAndCrossEntropy) {
  const Array table = iota({4, 2}), tokens = array<int32_t>({{3, 1}, {3, 0}});
  const auto f = [&](const Array& t) { return sum(index(t, tokens) * 2); };
  EXPECT_THAT(values(jit(grad(f))(table)), ElementsAre(2, 2, 2, 2, 0, 0, 4, 4));
  const Array labels = array<int32_t>({{1}, {0}, {1}, {1}});
  const auto g = [&](const Array& t) { return sum(take_along_axis(t, labels, 1)); };
  EXPECT_THAT(values(jit(grad(g))(table)), ElementsAre(0, 1, 1, 0, 0, 1, 0, 1));
}

// Tokens are sharded over eight devices. Nothing is gathered, and the table's gradient is reduced
// once.
TEST_F(Indexing, ShardedTokensGatherNothing) {
  const Array table = iota({4, 2});
  const Array tokens = device_put(astype(arange(16) % 4, int32), on8(P("x")));
  const auto f = jit(grad([](const Array& t, const Array& i) { return sum(index(t, i) * 2); }));
  EXPECT_THAT(values(f(table, tokens)), ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
  const std::string text = f.lower(table, tokens).explain();
  EXPECT_THAT(text, testing::Not(HasSubstr("all_gather"))) << text;
  EXPECT_THAT(text, HasSubstr("all_reduce")) << text;
}

// Rows that are gathered and summed are read in lists. On any number of devices, whether these make
// lists or not, elements are added in the order of the entries.
TEST_F(Indexing, SumsOfGatheredRowsHaveTheSameBitsOnAllDevices) {
  const int64_t entries = 3000, rows = 300, width = 64;
  const auto [a, b, c] = random::split<3>(random::key(5));
  const Array x = random::normal(c, {rows, width});
  const Array senders = random::randint(a, {entries}, 0, rows),
              receivers = random::randint(b, {entries}, 0, rows);
  const auto summed = [&](const Array& x, const Array& s, const Array& r) {
    return segment_sum(take(x, s, {.axis = 0}), r, rows);
  };
  const auto both = [&](const Array& x, const Array& s, const Array& r) {
    const auto total = [&](const Array& y) { return sum(square(summed(y, s, r))); };
    return std::pair(summed(x, s, r), grad(total)(x));
  };
  const auto f = jit(both);
  EXPECT_THAT(f.lower(x, senders, receivers).text("fused"), HasSubstr("call fold_lists"));
  std::vector<float> want(static_cast<size_t>(rows * width));
  const std::vector<float> from = values(x);
  const std::vector<int> s = to_vector<int>(senders), r = to_vector<int>(receivers);
  for (size_t e = 0; e < s.size(); ++e)
    for (size_t k = 0; k < width; ++k)
      want[static_cast<size_t>(r[e]) * width + k] += from[static_cast<size_t>(s[e]) * width + k];
  const auto [sums, gradient] = f(x, senders, receivers);
  EXPECT_EQ(values(sums), want);
  for (const NamedSharding& sharding :
       {on8(P(None, "x")), on24(P(None, "x")), on24(P(None, joint("y", "x")))}) {
    const auto [other, slope] = f(device_put(x, sharding), senders, receivers);
    EXPECT_EQ(values(other), want);
    EXPECT_EQ(values(slope), values(gradient));
  }
}

TEST_F(Indexing, Errors) {
  const Array x = iota({4, 3});
  EXPECT_THAT(error_of([&] { index(x, {1, 1, 1}); }), HasSubstr("[index] expected at most 2"));
  EXPECT_THAT(error_of([&] { index(x, 4); }),
              HasSubstr("expected an index in [-4, 4) along axis 0"));
  EXPECT_THAT(error_of([&] { index(x, x); }), HasSubstr("expected integer indices"));
  EXPECT_THAT(error_of([&] { index(x, x > 1); }), HasSubstr("use where()"));
  EXPECT_THAT(error_of([&] { take(x, x); }), HasSubstr("[take] expected integer indices"));
  EXPECT_THAT(error_of([&] { take_along_axis(x, array<int32_t>({1}), 0); }),
              HasSubstr("[take_along_axis] expected indices of rank 2"));
}

}  // namespace
}  // namespace tessera::indexing_test
