// Compares partially sorted arrays with jax.numpy (golden/make_calls_numpy.py).
#include "tessera/numpy/partition.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::partition_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Partition, AsInJax) {
  test::check_calls("calls_numpy", "partition",
                    {
                        TESSERA_CALL("partition", partition(a[0], 3)),
                        TESSERA_CALL("partition_axis", partition(a[0], -2, 0)),
                        TESSERA_CALL("partition_int", partition(a[0], 1)),
                        TESSERA_CALL("argpartition", argpartition(a[0], 2)),
                        TESSERA_CALL("argpartition_axis", argpartition(a[0], 1, 0)),
                        TESSERA_CALL("argpartition_int", argpartition(a[0], 1)),
                        TESSERA_CALL("sort_complex", sort_complex(a[0])),
                        TESSERA_CALL("sort_complex_int", sort_complex(a[0])),
                    });
}

TEST(Partition, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f);
  expect_error([&] { partition(v, 4); }, "[partition] expected kth in [-4, 4) along axis 0, got 4");
  expect_error([&] { argpartition(v, -5); }, "[argpartition] expected kth in [-4, 4)");
  expect_error([&] { partition(astype(v, complex64), 1); }, "[partition] expected real numbers");
}

}  // namespace
}  // namespace tessera::partition_test
