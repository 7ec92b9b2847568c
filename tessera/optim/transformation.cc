#include "tessera/optim/transformation.h"

#include <algorithm>
#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::optim::internal {

using namespace ir;

void structures_differ(std::string_view op, std::string_view what,
                       const std::vector<std::string>& gradients,
                       const std::vector<std::string>& other) {
  for (const std::string& path : gradients)
    if (std::find(other.begin(), other.end(), path) == other.end())
      value_error(op,
                  "expected {} to be of the gradients' tree, but there is no leaf {} in it; make a "
                  "state with init(params) of these parameters",
                  what, path.empty() ? "(the root)" : path);
  for (const std::string& path : other)
    if (std::find(gradients.begin(), gradients.end(), path) == gradients.end())
      value_error(op,
                  "expected {} to be of the gradients' tree, but it has a leaf {} that they lack; "
                  "make a state with init(params) of these parameters",
                  what, path.empty() ? "(the root)" : path);
  value_error(op,
              "expected {} to be of the gradients' tree, but static fields differ (sizes, keys, "
              "numbers or strings of the tree); make a state with init(params) of these parameters",
              what);
}

void shapes_differ(std::string_view op, std::string_view what, const std::string& path,
                   const Array& gradient, const Array& other) {
  shape_error(op,
              "expected {} to have the gradients' shapes, got {} for leaf {} whose gradient is {}; "
              "make a state with init(params) of these parameters",
              what, describe(other.type()), path.empty() ? "(the root)" : path,
              describe(gradient.type()));
}

Array zero_count() { return zeros(Shape{}, int32); }

Array next_count(const Array& count) {
  return composite("optim_next_count", {}, {count}, [](const NoParams&, std::span<const Array> a) {
    const int largest = std::numeric_limits<int32_t>::max();
    return where(a[0] < largest, a[0] + 1, a[0]);
  });
}

std::vector<Array> filled_like(const std::vector<Array>& leaves, double value) {
  std::vector<Array> out;
  out.reserve(leaves.size());
  for (const Array& leaf : leaves) out.push_back(full_like(leaf, value));
  return out;
}

Array global_norm(const std::vector<Array>& leaves) {
  if (leaves.empty()) return zeros(Shape{}, float32);
  return composite("optim_global_norm", {}, leaves, [](const NoParams&, std::span<const Array> a) {
    Array total;
    for (const Array& x : a) {
      const Array part = sum(square(abs(x)));
      total = total.defined() ? total + part : part;
    }
    return sqrt(total);
  });
}

std::vector<Array> apply_updates(const std::vector<Array>& params,
                                 const std::vector<Array>& updates) {
  std::vector<Array> out;
  out.reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i)
    out.push_back(composite("optim_apply", {}, {params[i], updates[i]},
                            [](const NoParams&, std::span<const Array> a) {
                              return astype(a[0] + a[1], a[0].dtype());
                            }));
  return out;
}

}  // namespace tessera::optim::internal
