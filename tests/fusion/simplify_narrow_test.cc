#include "tessera/fusion/rewrites/simplify_narrow.h"

#include "fusion_testing.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::fusion_testing::simplify_narrow_test {

using namespace fusion;

namespace {

// Returns the dtype of the fold that simplify leaves. Compares the results of both.
template <class F>
DType folded_in(const std::vector<Type>& types, F body) {
  const Function f = trace(types, body), simple = simplify(f);
  const std::vector<Literal> inputs = random_inputs(f);
  const std::vector<Literal> want = evaluate(f, inputs), got = evaluate(simple, inputs);
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k], want[k]);
  DType found = complex128;
  for (const Op& op : simple.ops)
    if (op.def == &reduce_op) found = simple.type(op.operands[0]).dtype;
  return found;
}

Array wide_sum(const Array& x, DType wide, DType result) {
  return lax::convert_element_type(lax::reduce_sum(lax::convert_element_type(x, wide), {1}),
                                   result);
}

TEST(SimplifyNarrow, SumsOfBytes) {
  for (DType from : {uint8, int8, bool_}) {
    const std::vector<Type> types = {array_type(from, {50, 40})};
    EXPECT_EQ(
        folded_in(types, [](const Arrays& x) { return Arrays{wide_sum(x[0], uint32, uint8)}; }),
        uint8);
    EXPECT_EQ(
        folded_in(types, [](const Arrays& x) { return Arrays{wide_sum(x[0], int32, int16)}; }),
        int16);
  }
}

TEST(SimplifyNarrow, OtherFolds) {
  const auto with = [](Array (*fold)(const Array&, const Dims&)) {
    return folded_in({array_type(uint8, {7, 9})}, [&](const Arrays& x) {
      const Array wide = lax::convert_element_type(x[0], int32);
      return Arrays{lax::convert_element_type(fold(wide, {1}), uint8)};
    });
  };
  EXPECT_EQ(with([](const Array& x, const Dims& d) { return lax::reduce_prod(x, d); }), uint8);
  EXPECT_EQ(with([](const Array& x, const Dims& d) { return lax::reduce_and(x, d); }), uint8);
  EXPECT_EQ(with([](const Array& x, const Dims& d) { return lax::reduce_or(x, d); }), uint8);
  // The largest of wide integers need not have the largest low bits.
  EXPECT_EQ(with([](const Array& x, const Dims& d) { return lax::reduce_max(x, d); }), int32);
}

TEST(SimplifyNarrow, FoldsThatStayWide) {
  const std::vector<Type> types = {array_type(int16, {7, 9})};
  // The elements have more bits than the result.
  EXPECT_EQ(folded_in(types, [](const Arrays& x) { return Arrays{wide_sum(x[0], int32, uint8)}; }),
            int32);
  // The result is wider.
  EXPECT_EQ(folded_in(types, [](const Arrays& x) { return Arrays{wide_sum(x[0], int32, int64)}; }),
            int32);
  // The wide sum is read, too.
  EXPECT_EQ(folded_in(types,
                      [](const Arrays& x) {
                        const Array wide =
                            lax::reduce_sum(lax::convert_element_type(x[0], int32), {1});
                        return Arrays{wide, lax::convert_element_type(wide, int16)};
                      }),
            int32);
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_narrow_test
