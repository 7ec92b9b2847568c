#include "tessera/optim/wrappers.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"

namespace tessera::optim::internal {

std::vector<Array> accumulators(const std::vector<Array>& params) {
  std::vector<Array> out;
  for (const Array& p : params) out.push_back(zeros_like(p, {.dtype = float32}));
  return out;
}

std::vector<Array> accumulated(const std::vector<Array>& gradients, const std::vector<Array>& means,
                               const Array& mini_step, bool mean) {
  struct AccumulatedParams {
    bool mean;
  };
  std::vector<Array> out;
  for (size_t i = 0; i < gradients.size(); ++i)
    out.push_back(composite(mean ? "optim_running_mean" : "optim_running_sum",
                            AccumulatedParams{mean}, {gradients[i], means[i], mini_step},
                            [](const AccumulatedParams& p, std::span<const Array> a) {
                              // This mean is never larger than the gradients themselves.
                              return p.mean ? a[1] + (a[0] - a[1]) / (a[2] + 1) : a[0] + a[1];
                            }));
  return out;
}

std::vector<Array> as_gradients(const std::vector<Array>& means,
                                const std::vector<Array>& gradients) {
  std::vector<Array> out;
  for (size_t i = 0; i < means.size(); ++i) out.push_back(astype(means[i], gradients[i].dtype()));
  return out;
}

std::vector<Array> chosen(const Array& condition, const std::vector<Array>& x,
                          const std::vector<Array>& y) {
  std::vector<Array> out;
  for (size_t i = 0; i < x.size(); ++i) {
    const Array otherwise = y.empty() ? zeros_like(x[i]) : y[i];
    out.push_back(astype(where(condition, x[i], otherwise), otherwise.dtype()));
  }
  return out;
}

Steps next_steps(const Array& mini_step, const Array& gradient_step, const Array& every) {
  const std::vector<Array> out =
      composite("optim_multi_steps", {}, {mini_step, gradient_step, every},
                [](const NoParams&, std::span<const Array> a) {
                  const Array emit = a[0] == a[2] - 1;
                  return std::vector<Array>{emit, astype(next_count(a[0]) % a[2], int32),
                                            where(emit, next_count(a[1]), a[1])};
                });
  return {out[0], out[1], out[2]};
}

Array has_updated(const Array& mini_step, const Array& gradient_step) {
  return logical_and(mini_step == 0, gradient_step > 0);
}

void check_every(int64_t every) {
  if (every < 1)
    value_error("optim::MultiSteps", "expected at least 1 step for an update, got {}", every);
}

}  // namespace tessera::optim::internal
