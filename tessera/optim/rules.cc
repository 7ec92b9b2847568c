#include "tessera/optim/rules.h"

#include <type_traits>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::optim::internal {

using namespace ir;

namespace {

// Returns body(the i-th leaf of each list, then the scalars), for all i.
template <class P = NoParams>
std::vector<Array> each_leaf(const char* name, const P& params,
                             std::initializer_list<const std::vector<Array>*> lists,
                             std::initializer_list<Array> scalars,
                             Array (*body)(const std::type_identity_t<P>&,
                                           std::span<const Array>)) {
  const size_t n = (*lists.begin())->size();
  std::vector<Array> out;
  out.reserve(n);
  std::vector<Array> args;
  for (size_t i = 0; i < n; ++i) {
    args.clear();
    for (const std::vector<Array>* list : lists) args.push_back((*list)[i]);
    args.insert(args.end(), scalars);
    out.push_back(composite(name, params, std::span<const Array>(args), body));
  }
  return out;
}

struct DecayParams {
  double decay;
};
struct EpsParams {
  double eps;
};

Array abs_squared(const Array& x) { return square(abs(x)); }

// Returns x / (1 - decay^count) in x's dtype. The divisor is computed in float32, as in optax.
Array divided_by_bias(const Array& x, double decay, const Array& count) {
  return x / astype(1 - power(decay, count), x.dtype());
}

}  // namespace

Array negated(const Array& x) { return -x; }

std::vector<Array> scaled(const std::vector<Array>& updates, const Array& by) {
  return each_leaf(
      "optim_scale", {}, {&updates}, {by},
      [](const NoParams&, std::span<const Array> a) { return astype(a[1], a[0].dtype()) * a[0]; });
}

std::vector<Array> decayed(const std::vector<Array>& updates, const std::vector<Array>& params,
                           const Array& by) {
  return each_leaf("optim_decay", {}, {&updates, &params}, {by},
                   [](const NoParams&, std::span<const Array> a) {
                     return astype(a[0] + a[2] * a[1], a[0].dtype());
                   });
}

std::vector<Array> clipped(const std::vector<Array>& updates, const Array& limit) {
  return each_leaf("optim_clip", {}, {&updates}, {limit},
                   [](const NoParams&, std::span<const Array> a) {
                     return astype(tessera::clip(a[0], -a[1], a[1]), a[0].dtype());
                   });
}

std::vector<Array> clipped_by_norm(const std::vector<Array>& updates, const Array& limit) {
  return each_leaf("optim_clip_norm", {}, {&updates}, {global_norm(updates), limit},
                   [](const NoParams&, std::span<const Array> a) {
                     const DType dtype = a[0].dtype();
                     const Array small = (a[0] / astype(a[1], dtype)) * astype(a[2], dtype);
                     return where(a[1] < a[2], a[0], small);
                   });
}

std::vector<Array> traced(const std::vector<Array>& updates, const std::vector<Array>& momenta,
                          double decay) {
  return each_leaf(
      "optim_trace", DecayParams{decay}, {&updates, &momenta}, {},
      [](const DecayParams& p, std::span<const Array> a) { return a[0] + p.decay * a[1]; });
}

std::vector<Array> moments(const std::vector<Array>& updates, const std::vector<Array>& old,
                           double decay, int64_t order) {
  struct MomentParams {
    double decay;
    int64_t order;
  };
  return each_leaf("optim_moment", MomentParams{decay, order}, {&updates, &old}, {},
                   [](const MomentParams& p, std::span<const Array> a) {
                     const Array g = p.order == 1 ? a[0] : abs_squared(a[0]);
                     return astype((1 - p.decay) * g + p.decay * a[1], a[1].dtype());
                   });
}

std::vector<Array> unbiased(const std::vector<Array>& moments, double decay, const Array& count) {
  if (moments.empty()) return {};
  return each_leaf("optim_unbiased", DecayParams{decay}, {&moments}, {count},
                   [](const DecayParams& p, std::span<const Array> a) {
                     return divided_by_bias(a[0], p.decay, a[1]);
                   });
}

std::vector<Array> adam_updates(const AdamOptions& o, const std::vector<Array>& gradients,
                                const std::vector<Array>& mu, const std::vector<Array>& nu,
                                const Array& count) {
  return each_leaf("optim_adam", o, {&gradients, &mu, &nu}, {count},
                   [](const AdamOptions& p, std::span<const Array> a) {
                     const Array& n = a[3];
                     const Array first = p.nesterov
                                             ? p.b1 * divided_by_bias(a[1], p.b1, next_count(n)) +
                                                   (1 - p.b1) * divided_by_bias(a[0], p.b1, n)
                                             : divided_by_bias(a[1], p.b1, n);
                     return first / (sqrt(divided_by_bias(a[2], p.b2, n) + p.eps_root) + p.eps);
                   });
}

std::vector<Array> lion_updates(const LionOptions& o, const std::vector<Array>& gradients,
                                const std::vector<Array>& mu) {
  return each_leaf("optim_lion", o, {&gradients, &mu}, {},
                   [](const LionOptions& p, std::span<const Array> a) {
                     return sign((1 - p.b1) * a[0] + p.b1 * a[1]);
                   });
}

std::vector<Array> sums_of_squares(const std::vector<Array>& gradients,
                                   const std::vector<Array>& sums) {
  return each_leaf(
      "optim_sums", {}, {&gradients, &sums}, {},
      [](const NoParams&, std::span<const Array> a) { return abs_squared(a[0]) + a[1]; });
}

std::vector<Array> rss_updates(const std::vector<Array>& gradients, const std::vector<Array>& sums,
                               double eps) {
  return each_leaf("optim_rss", EpsParams{eps}, {&gradients, &sums}, {},
                   [](const EpsParams& p, std::span<const Array> a) {
                     return where(a[1] > 0, rsqrt(a[1] + p.eps), 0.0) * a[0];
                   });
}

namespace {

Array rms_scaled(const RmsOptions& o, const Array& g, const Array& variance) {
  return (o.eps_in_sqrt ? rsqrt(variance + o.eps) : 1 / (sqrt(variance) + o.eps)) * g;
}

}  // namespace

std::vector<Array> rms_updates(const RmsOptions& o, const std::vector<Array>& gradients,
                               const std::vector<Array>& mu, const std::vector<Array>& nu) {
  if (o.centered)
    return each_leaf("optim_stddev", o, {&gradients, &nu, &mu}, {},
                     [](const RmsOptions& p, std::span<const Array> a) {
                       return rms_scaled(p, a[0], a[1] - abs_squared(a[2]));
                     });
  return each_leaf(
      "optim_rms", o, {&gradients, &nu}, {},
      [](const RmsOptions& p, std::span<const Array> a) { return rms_scaled(p, a[0], a[1]); });
}

std::vector<Array> trust_scaled(const std::vector<Array>& updates,
                                const std::vector<Array>& params) {
  return each_leaf("optim_trust", {}, {&updates, &params}, {},
                   [](const NoParams&, std::span<const Array> a) {
                     const Array update = global_norm(std::vector<Array>{a[0]}),
                                 param = global_norm(std::vector<Array>{a[1]});
                     return a[0] * where(logical_or(param == 0, update == 0), 1.0, param / update);
                   });
}

}  // namespace tessera::optim::internal
