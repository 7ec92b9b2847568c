#include "tessera/scipy/cluster/vq.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"

namespace tessera::scipy::cluster::vq {

std::pair<Array, Array> vq(const Array& obs, const Array& code_book) {
  const int64_t rank = obs.ndim();
  if ((rank != 1 && rank != 2) || code_book.ndim() != rank ||
      (rank == 2 && obs.shape()[1] != code_book.shape()[1]) || code_book.size() == 0)
    shape_error("vq",
                "expected observations [n, features] and codes [codes, features], or two vectors, "
                "got {} and {}",
                describe(obs.type()), describe(code_book.type()));
  if (is_complex(obs.dtype()) || is_complex(code_book.dtype()))
    type_error("vq", "expected real numbers, got {} and {}", describe(obs.type()),
               describe(code_book.type()));
  const std::vector<Array> out =
      composite("vq", {}, {obs, code_book}, [](const NoParams&, std::span<const Array> a) {
        std::vector<Array> same = promote_dtypes(a, Promotion::kInexact);
        if (same[0].ndim() == 1)
          for (Array& x : same) x = expand_dims(x, 1);
        const Array distances =
            tessera::linalg::norm(expand_dims(same[0], 1) - expand_dims(same[1], 0), {.axis = -1});
        return std::vector<Array>{argmin(distances, {.axis = 1}), min(distances, {.axis = 1})};
      });
  return {out[0], out[1]};
}

}  // namespace tessera::scipy::cluster::vq
