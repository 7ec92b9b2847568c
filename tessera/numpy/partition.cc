#include "tessera/numpy/partition.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/sorting.h"

namespace tessera {

namespace {

struct PartitionParams {
  int64_t kth, axis;
  bool places;
};

Array partitioned(const PartitionParams& p, std::span<const Array> a) {
  const Array x = moveaxis(a[0], p.axis, -1);
  const int64_t n = x.shape().back(), last = x.ndim() - 1;
  const Array place = lax::iota(int32, x.shape(), last);
  const std::vector<Array> sorted = lax::sort(std::vector<Array>{x, place}, last, 1);
  const Array& of = sorted[p.places ? 1 : 0];
  const Array before = slice_in_dim(of, 0, p.kth + 1, last),
              behind = slice_in_dim(of, p.kth + 1, n, last);
  // The rest is as JAX's selection leaves it: values descend, positions ascend.
  const Array rest = p.places ? sort(behind) : flip(behind, last);
  return moveaxis(concatenate({before, rest}, last), -1, p.axis);
}

Array with_kth(const char* name, const Array& x, int64_t kth, int64_t axis, bool places) {
  if (is_complex(x.dtype()))
    type_error(name, "expected real numbers, got {}; sort takes complex ones", describe(x.type()));
  const int64_t along = normalize_axis(name, axis, x.ndim()), n = x.shape()[along];
  if (kth < -n || kth >= n)
    value_error(name, "expected kth in [{}, {}) along axis {}, got {}", -n, n, along, kth);
  return composite(name, PartitionParams{kth < 0 ? kth + n : kth, along, places}, {x}, partitioned);
}

}  // namespace

Array partition(const Array& x, int64_t kth, int64_t axis) {
  return with_kth("partition", x, kth, axis, false);
}
Array argpartition(const Array& x, int64_t kth, int64_t axis) {
  return with_kth("argpartition", x, kth, axis, true);
}

Array sort_complex(const Array& x) {
  const Array sorted = sort(x);
  if (is_complex(x.dtype())) return sorted;
  return astype(sorted, to_inexact(x.dtype()) == float64 ? complex128 : complex64);
}

}  // namespace tessera
