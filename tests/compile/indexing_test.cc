// Indexing by integers, slices and arrays; values as jax.numpy gives them.
#include "tessera/numpy/indexing.h"

#include "tests/compile/devices.h"

namespace tessera {
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

// Arrays that a slice parts stand first.
TEST_F(Indexing, PartedArraysStandFirst) {
  const Array x = iota({2, 3, 4});
  const Array i = array<int32_t>({1, 0});
  EXPECT_EQ(index(x, {i, Slice(0, 2), i}).shape(), (Shape{2, 2}));
  EXPECT_THAT(values(index(x, {i, Slice(0, 2), i})), ElementsAre(13, 17, 0, 4));
  EXPECT_THAT(values(index(x, {Slice(std::nullopt, std::nullopt, 2), i, i})), ElementsAre(5, 0));
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

TEST_F(Indexing, Take) {
  const Array x = iota({2, 3});
  const std::vector<float> got = values(take(x, array<int32_t>({2, 5, 6})));
  EXPECT_EQ(got[0], 2);
  EXPECT_EQ(got[1], 5);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_THAT(values(take(x, array<int32_t>({-1, 0}), {.axis = 1})), ElementsAre(2, 0, 5, 3));
  EXPECT_THAT(values(take_along_axis(x, array<int32_t>({{2}, {0}}), 1)), ElementsAre(2, 3));
}

// What training runs: an embedding and a cross entropy, and their gradients.
TEST_F(Indexing, GradientsOfEmbeddingAndCrossEntropy) {
  const Array table = iota({4, 2}), tokens = array<int32_t>({{3, 1}, {3, 0}});
  const auto f = [&](const Array& t) { return sum(index(t, tokens) * 2); };
  EXPECT_THAT(values(jit(grad(f))(table)), ElementsAre(2, 2, 2, 2, 0, 0, 4, 4));
  const Array labels = array<int32_t>({{1}, {0}, {1}, {1}});
  const auto g = [&](const Array& t) { return sum(take_along_axis(t, labels, 1)); };
  EXPECT_THAT(values(jit(grad(g))(table)), ElementsAre(0, 1, 1, 0, 0, 1, 0, 1));
}

// Tokens over eight devices: nothing is gathered, the table's gradient is reduced once.
TEST_F(Indexing, ShardedTokensGatherNothing) {
  const Array table = iota({4, 2});
  const Array tokens = device_put(astype(arange(16) % 4, int32), on8(P("x")));
  const auto f = jit(grad([](const Array& t, const Array& i) { return sum(index(t, i) * 2); }));
  EXPECT_THAT(values(f(table, tokens)), ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
  const std::string text = f.lower(table, tokens).explain();
  EXPECT_THAT(text, testing::Not(HasSubstr("all_gather"))) << text;
  EXPECT_THAT(text, HasSubstr("all_reduce")) << text;
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
}  // namespace tessera
