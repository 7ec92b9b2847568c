#include "tessera/scipy/pointwise.h"

#include <limits>

#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/promotion.h"

namespace tessera::scipy::internal {
namespace {

struct PointwiseParams {
  std::string name;
  Body body;
};
struct PairParams {
  std::string name;
  PairBody body;
};

// The arguments in the dtype of the computation, and the dtype of the results.
struct Arguments {
  std::vector<Array> arrays;
  DType dtype;
  bool weak;
};

Arguments prepare(const std::string& name, std::span<const Array> arguments) {
  std::vector<Array> arrays = promote_and_broadcast(name, arguments, Promotion::kInexact);
  elementwise::expect_real(name, arrays[0]);
  Arguments out{{}, arrays[0].dtype(), arrays[0].weak_type()};
  for (const Array& x : arrays)
    out.arrays.push_back(is_half(out.dtype) ? as_dtype(x, float32, out.weak) : x);
  return out;
}

Array finish(const Arguments& arguments, const Array& result) {
  return is_half(arguments.dtype) ? as_dtype(result, arguments.dtype, arguments.weak) : result;
}

}  // namespace

Array pointwise(const char* name, std::initializer_list<Array> arguments, Body body) {
  return composite(name, PointwiseParams{name, body}, arguments,
                   [](const PointwiseParams& p, std::span<const Array> a) {
                     const Arguments x = prepare(p.name, a);
                     return finish(x, p.body(x.arrays));
                   });
}

std::pair<Array, Array> pointwise_pair(const char* name, std::initializer_list<Array> arguments,
                                       PairBody body) {
  const std::vector<Array> out =
      composite(name, PairParams{name, body}, arguments,
                [](const PairParams& p, std::span<const Array> a) -> std::vector<Array> {
                  const Arguments x = prepare(p.name, a);
                  const auto [first, second] = p.body(x.arrays);
                  return {finish(x, first), finish(x, second)};
                });
  return {out[0], out[1]};
}

Array nan_like(const Array& x) {
  return elementwise::like(x, std::numeric_limits<double>::quiet_NaN());
}
Array inf_like(const Array& x) {
  return elementwise::like(x, std::numeric_limits<double>::infinity());
}

}  // namespace tessera::scipy::internal
