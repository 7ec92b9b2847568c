// Compares cosine transforms with JAX: golden/make_calls_scipy.py.
#include "tessera/scipy/fft.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::scipy_fft_test {
namespace {

using namespace scipy::fft;
using test::expect_error;
using test::leaves_of;

TEST(CosineTransforms, AsInJax) {
  test::check_calls(
      "calls_scipy", "fft",
      {
          TESSERA_CALL("dct_None", dct(a[0])),
          TESSERA_CALL("dct_ortho", dct(a[0], {.norm = DctNorm::kOrtho})),
          TESSERA_CALL("idct_None", idct(a[0])),
          TESSERA_CALL("idct_ortho", idct(a[0], {.norm = DctNorm::kOrtho})),
          TESSERA_CALL("dct_n", dct(a[0], {.n = 9, .axis = 0})),
          TESSERA_CALL("idct_odd", idct(a[0])),
          TESSERA_CALL("dct_one", dct(a[0]), idct(a[0])),
          TESSERA_CALL("dctn", dctn(a[0])),
          TESSERA_CALL("dctn_s", dctn(a[0], {.s = Dims{5, 6}})),
          TESSERA_CALL("idctn", idctn(a[0], {.axes = {0, 1}, .norm = DctNorm::kOrtho})),
          TESSERA_CALL("dct_complex", dct(a[0])),
      });
}

TEST(CosineTransforms, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f);
  expect_error([&] { dct(v, {.n = 0}); }, "[dct] expected a length of at least 1");
  expect_error([&] { idct(zeros(0)); }, "[idct] expected a length of at least 1");
  expect_error([&] { dctn(v, {.s = Dims{1, 2}}); }, "[dctn] expected at most 1 lengths, got 2");
  expect_error(
      [&] {
        idctn(ones({2, 2}), {.s = Dims{1}, .axes = {0, 1}});
      },
      "[idctn] expected one length for each of 2 axes");
}

}  // namespace
}  // namespace tessera::scipy_fft_test
