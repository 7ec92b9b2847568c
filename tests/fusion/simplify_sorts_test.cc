#include "tessera/fusion/rewrites/simplify_sorts.h"

#include "fusion_testing.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::fusion_testing::simplify_sorts_test {

using namespace fusion;

namespace {

// Returns the params of the first_sorted op that simplify makes of the function, if it makes one.
// Compares the results of both.
template <class F>
std::optional<FirstSortedParams> simplified(const std::vector<Type>& types, F body) {
  const Function f = trace(types, body), simple = simplify(f);
  const std::vector<Literal> inputs = random_inputs(f);
  const std::vector<Literal> want = evaluate(f, inputs), got = evaluate(simple, inputs);
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k], want[k]);
  std::optional<FirstSortedParams> out;
  for (const Op& op : simple.ops) {
    EXPECT_FALSE(as_sort(op) && out);
    if (op.def == &first_sorted_op) out = op.params.as<FirstSortedParams>();
  }
  return out;
}

TEST(SimplifySorts, TopKIsSelected) {
  const std::optional<FirstSortedParams> p = simplified({f32({3, 40})}, [](const Arrays& x) {
    const auto [values, places] = lax::top_k(x[0], 5);
    return Arrays{values, places};
  });
  ASSERT_TRUE(p);
  EXPECT_EQ(p->dimension, 1);
  EXPECT_EQ(p->count, 5);
  EXPECT_TRUE(p->descending && p->total_order && p->index);
  EXPECT_EQ(p->index_dtype, int32);
}

TEST(SimplifySorts, SlicesOfSeveralLengths) {
  const std::optional<FirstSortedParams> p = simplified({f32({40, 3})}, [](const Arrays& x) {
    const std::vector<Array> sorted = lax::sort(Arrays{x[0], lax::add(x[0], x[0])}, 0);
    return Arrays{lax::slice(sorted[0], {1, 0}, {7, 2}), lax::slice(sorted[1], {0, 1}, {3, 3})};
  });
  ASSERT_TRUE(p);
  EXPECT_EQ(p->dimension, 0);
  EXPECT_EQ(p->count, 7);
  EXPECT_FALSE(p->index);
}

TEST(SimplifySorts, WhatIsReadOtherwiseIsSorted) {
  const auto sorted = [](const Arrays& x) { return lax::sort(Arrays{x[0]}, 0)[0]; };
  EXPECT_FALSE(simplified({f32({40})}, [&](const Arrays& x) {
    const Array all = sorted(x);
    return Arrays{lax::slice(all, {0}, {3}), all};
  }));
  EXPECT_FALSE(simplified({f32({40})}, [&](const Arrays& x) {
    const Array all = sorted(x);
    return Arrays{lax::slice(all, {0}, {3}), lax::exp(all)};
  }));
  EXPECT_FALSE(simplified(
      {f32({40})}, [&](const Arrays& x) { return Arrays{lax::slice(sorted(x), {0}, {11})}; }));
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_sorts_test
