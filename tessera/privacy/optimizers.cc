#include "tessera/privacy/optimizers.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"

namespace tessera::privacy::internal {
namespace {

constexpr const char* kOptimizersOp = "privacy::scale_then_privatize";

struct ScaleParams {
  double eps, eps_root;
  bool inverse;
};

Array scaled(const Array& update, const Array& moment, const ScaleThenPrivatizeOptions& options,
             bool inverse) {
  return composite("privacy_scale", ScaleParams{options.eps, options.eps_root, inverse},
                   {update, moment}, [](const ScaleParams& p, std::span<const Array> a) {
                     const auto wide = [](const Array& x) {
                       return astype(x, is_half(x.dtype()) ? float32 : x.dtype());
                     };
                     const Array root = sqrt(wide(a[1]) + p.eps_root) + p.eps;
                     return p.inverse ? wide(a[0]) * root : wide(a[0]) / root;
                   });
}

}  // namespace

void expect_scale_options(const ScaleThenPrivatizeOptions& options) {
  const auto& [eps, eps_root] = options;
  if (!(eps >= 0 && eps_root >= 0 && std::isfinite(eps) && std::isfinite(eps_root)))
    value_error(kOptimizersOp, "expected a finite eps and eps_root of at least 0, got {} and {}",
                eps, eps_root);
  if (eps == 0 && eps_root == 0)
    value_error(kOptimizersOp,
                "expected one of eps and eps_root above 0, got 0 for both; the second moments of "
                "the first step are 0, and gradients are divided by their root");
}

void centered_moments() {
  value_error(kOptimizersOp,
              "expected the state of an optimizer that divides by the root of its second moments, "
              "got one of centered RMSProp; give a function of the state that returns the moments "
              "to scale by");
}

std::vector<Array> scaled_by_moments(const std::vector<Array>& leaves,
                                     const std::vector<std::string>& paths,
                                     const optim::LeafList& second_moments,
                                     const ScaleThenPrivatizeOptions& options, bool inverse) {
  std::vector<Array> out = leaves;
  for (size_t m = 0; m < second_moments.leaves.size(); ++m) {
    const std::string& path = second_moments.paths[m];
    const Array& moment = second_moments.leaves[m];
    const auto at = std::find(paths.begin(), paths.end(), path);
    if (at == paths.end())
      value_error(kOptimizersOp,
                  "expected gradients with each leaf that has second moments, but there is no leaf "
                  "{} in them; make a state with init(params) of the parameters",
                  path.empty() ? "(the root)" : path);
    Array& leaf = out[static_cast<size_t>(at - paths.begin())];
    if (leaf.shape() != moment.shape())
      shape_error(kOptimizersOp,
                  "expected second moments of the gradients' shapes, got {} for leaf {} whose "
                  "gradient is {}; make a state with init(params) of the parameters",
                  describe(moment.type()), path.empty() ? "(the root)" : path,
                  describe(leaf.type()));
    leaf = scaled(leaf, moment, options, inverse);
  }
  return out;
}

}  // namespace tessera::privacy::internal
