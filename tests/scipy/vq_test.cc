// Compares vector quantization with JAX: golden/make_calls_scipy.py.
#include "tessera/scipy/cluster/vq.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::scipy_vq_test {
namespace {

using namespace scipy::cluster::vq;
using test::expect_error;
using test::leaves_of;

TEST(Vq, AsInJax) {
  test::check_calls("calls_scipy", "vq", {
    TESSERA_CALL_MANY("vq", return leaves_of(vq(a[0], a[1]));),
        TESSERA_CALL_MANY("vq_vectors", return leaves_of(vq(a[0], a[1]));),
  });
}

TEST(Vq, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { vq(v, m); }, "[vq] expected observations [n, features] and codes");
  expect_error([&] { vq(astype(v, complex64), v); }, "[vq] expected real numbers");
}

}  // namespace
}  // namespace tessera::scipy_vq_test
