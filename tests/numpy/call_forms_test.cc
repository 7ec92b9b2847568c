// The forms in which users write axes, shapes and shifts: numbers, braces, vectors and None. A call
// that is ambiguous does not compile, with one compiler or with both.
#include "../errors.h"
#include "tessera/tessera.h"

namespace tessera::call_forms_test {
namespace {

using test::expect_error;
using testing::ElementsAre;

std::vector<int> ints(const Array& x) { return to_vector<int>(x); }

TEST(CallForms, RollTakesShiftsAndAxesInAnyForm) {
  const Array x = arange(4), m = reshape(arange(6), {2, 3});
  const int one = 1;
  const std::vector<int> shifts = {1, 1}, axes = {0, 1};
  EXPECT_THAT(ints(roll(x, 1)), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(ints(roll(x, -1, None)), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(ints(roll(x, one, {0})), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(ints(roll(x, {1}, {0})), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(ints(roll(x, {1}, {-1})), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(ints(roll(m, 1, {1})), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(ints(roll(m, array(1), {1})), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(ints(roll(m, 1, {0, 1})), ElementsAre(5, 3, 4, 2, 0, 1));
  EXPECT_THAT(ints(roll(m, {1, 1}, {0, 1})), ElementsAre(5, 3, 4, 2, 0, 1));
  EXPECT_THAT(ints(roll(m, shifts, axes)), ElementsAre(5, 3, 4, 2, 0, 1));
  EXPECT_THAT(ints(roll(m, shifts, {0, 1})), ElementsAre(5, 3, 4, 2, 0, 1));
  // Several shifts of one axis, or of the flattened array, are added, as in NumPy.
  EXPECT_THAT(ints(roll(m, {1, -2, 3}, 1)), ElementsAre(1, 2, 0, 4, 5, 3));
  EXPECT_THAT(ints(roll(m, {1, 1})), ElementsAre(4, 5, 0, 1, 2, 3));
  EXPECT_THAT(ints(roll(m, array(2))), ElementsAre(4, 5, 0, 1, 2, 3));
  expect_error(
      [&] {
        roll(m, {1, 1, 1}, {0, 1});
      },
      "[roll] expected one shift, or one for each axis, got the shifts (1, 1, 1)");
}

TEST(CallForms, BracesOfDeleteAreIndices) {
  const Array x = arange(5);
  EXPECT_THAT(ints(delete_(x, {1, 3})), ElementsAre(0, 2, 4));
  EXPECT_THAT(ints(delete_(x, {1, 3, 2})), ElementsAre(0, 4));
  EXPECT_THAT(ints(delete_(x, {-1})), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ints(delete_(x, std::vector<int>{0, 0})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ints(delete_(x, Slice(1, 3))), ElementsAre(0, 3, 4));
  EXPECT_THAT(ints(delete_(x, array({0, 4}))), ElementsAre(1, 2, 3));
  expect_error([&] { delete_(x, {1, 5}); }, "[delete_] expected indices in [-5, 5) along axis 0");
}

TEST(CallForms, AxesAreVectorsToo) {
  const Array x = ones({2, 3, 4});
  const std::vector<int> axes = {0, -1};
  const std::vector<int64_t> first = {0};
  EXPECT_EQ(sum(x, {.axis = axes}).shape(), (Shape{3}));
  EXPECT_EQ(flip(x, first).shape(), x.shape());
  EXPECT_EQ(moveaxis(x, axes, std::vector<int>{1, 0}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(sum(x, {.axis = size_t{1}}).shape(), (Shape{2, 4}));
}

// Sizes, which are unsigned, beside other integers in one list.
TEST(CallForms, BracesTakeIntegersOfAnyType) {
  const std::vector<double> v(3);
  const int i = 2;
  const int64_t k = 1;
  const unsigned u = 4;
  const random::Key key = random::key(0);
  EXPECT_EQ(zeros({v.size(), 3}).shape(), (Shape{3, 3}));
  EXPECT_EQ(zeros({v.size()}).shape(), (Shape{3}));
  EXPECT_EQ(ones({i, k, u, v.size()}, int32).shape(), (Shape{2, 1, 4, 3}));
  EXPECT_EQ(full({v.size(), i}, 1.5).shape(), (Shape{3, 2}));
  EXPECT_EQ(reshape(arange(6), {v.size(), -1}).shape(), (Shape{3, 2}));
  EXPECT_EQ(broadcast_to(ones(3), {u, v.size()}).shape(), (Shape{4, 3}));
  EXPECT_EQ(random::normal(key, {v.size(), 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(random::gamma(key, 2.0, {v.size(), i}).shape(), (Shape{3, 2}));
  EXPECT_EQ(sum(ones({2, 3, 4}), {.axis = {0, v.size() - 1}}).shape(), (Shape{3}));
  EXPECT_EQ(transpose(ones({2, 3, 4}), {2u, 0, k}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(tile(ones(2), {i, v.size()}).shape(), (Shape{2, 6}));
  EXPECT_EQ(lax::slice(ones({4, 4}), {0, k}, {v.size(), i}).shape(), (Shape{3, 1}));
  EXPECT_EQ(zeros_like(ones(3), {.shape = {v.size(), 2}}).shape(), (Shape{3, 2}));
  const bool flag = true;
  EXPECT_EQ((Shape{flag, 3, flag}), (Shape{1, 3, 1}));
  EXPECT_EQ((Shape{flag, 3}), (Shape{1, 3}));  // not three once
  const auto of_template = []<class T>(T n) { return Shape{n}; };
  EXPECT_EQ(of_template(v.size()), (Shape{3}));
}

TEST(CallForms, OptionalShapesAndRangesInBraces) {
  const random::Key key = random::key(0);
  EXPECT_EQ(random::gamma(key, 2.0, {2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(random::gamma(key, 2.0, {3}, float32).shape(), (Shape{3}));
  EXPECT_EQ(random::gamma(key, ones(4), {}).shape(), (Shape{4}));
  EXPECT_EQ(random::gamma(key, ones(4), None).shape(), (Shape{4}));
  EXPECT_EQ(random::gamma(key, 2.0, Shape{}).shape(), (Shape{}));
  EXPECT_EQ(random::bernoulli(key, 0.5, {3}).shape(), (Shape{3}));
  EXPECT_EQ(random::poisson(key, 3.0, std::vector<int>{2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(random::categorical(key, zeros(3), {.shape = {5}}).shape(), (Shape{5}));
  EXPECT_EQ(zeros_like(ones(3), {.shape = {2, 2}}).shape(), (Shape{2, 2}));
  EXPECT_EQ(fft::fft2(ones({4, 4}), {.s = {2, 2}}).shape(), (Shape{2, 2}));
  EXPECT_THAT(to_vector<float>(histogram(arange(4), {.bins = 2, .range = {0, 4}}).second),
              ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace tessera::call_forms_test
