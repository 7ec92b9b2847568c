#include "tessera/fusion/rewrites/simplify_eigenvalues.h"

#include "fusion_testing.h"
#include "tessera/ops/factor/eigh.h"

namespace tessera::fusion_testing::simplify_eigenvalues_test {

using namespace fusion;

namespace {

// Returns the op that computes the decomposition of the simplified function. Compares the results
// with those of the function.
template <class F>
const OpDef* simplified(DType dtype, F body) {
  const Function f = trace({{.dtype = dtype, .shape = {5, 3, 3}}}, body),
                 simple = simplify(remove_dead_ops(f));
  const std::vector<Literal> inputs = random_inputs(f);
  const std::vector<Literal> want = evaluate(f, inputs), got = evaluate(simple, inputs);
  for (size_t k = 0; k < want.size(); ++k) expect_close(got[k], want[k], "eigenvalues");
  for (const Op& op : simple.ops)
    if (op.def == &eigh_op || op.def == &eigh_values_op) return op.def;
  return nullptr;
}

TEST(SimplifyEigenvalues, EigenvectorsThatAreNotReadAreNotComputed) {
  for (const DType dtype : {float32, float64, complex64})
    for (const bool lower : {true, false})
      EXPECT_EQ(simplified(dtype,
                           [&](const Arrays& x) {
                             return Arrays{lax::linalg::eigh(x[0], lower, false).w};
                           }),
                &eigh_values_op);
}

TEST(SimplifyEigenvalues, EigenvectorsThatAreRead) {
  EXPECT_EQ(simplified(float32,
                       [](const Arrays& x) {
                         const auto [v, w] = lax::linalg::eigh(x[0], true, false);
                         return Arrays{lax::mul(v, v), w};
                       }),
            &eigh_op);
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_eigenvalues_test
