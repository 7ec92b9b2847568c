#include <tuple>

#include "tessera/compile/control_flow.h"
#include "tessera/compile/grad.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/optimize.h"

namespace tessera::scipy::optimize {

namespace {

using Function = std::function<Array(const Array&)>;
using ValueAndSlope = std::pair<Array, Array>;

struct Objective {
  const Function& fun;
  ValueAndSlope operator()(const Array& x) const {
    const auto [value, slope] = value_and_grad([this](const Array& at) { return fun(at); })(x);
    return {value, slope};
  }
};

Array count(int64_t n) { return full({}, static_cast<int>(n), int32); }

// A step along a line: its length, the value and the gradient there, whether it is good enough, and
// the number of function calls.
struct Found {
  Array length, value, slope, good, calls;
};

// Returns a step that satisfies the strong Wolfe conditions. Its length is found by doubling, then
// by halving an interval.
Found line_search(const Objective& f, const Array& x, const Array& value, const Array& slope,
                  const Array& direction, int64_t maxls) {
  // low, high (infinite at first), length, value and gradient there, whether the step is good,
  // calls.
  using State = std::tuple<Array, Array, Array, Array, Array, Array, Array>;
  constexpr double kDecrease = 1e-4, kCurvature = 0.9;
  const Array descent = dot(slope, direction), none = zeros_like(value);
  const auto open = [&](const State& s) {
    return logical_not(std::get<5>(s)) & (std::get<6>(s) < static_cast<int>(maxls));
  };
  const auto step = [&](const State& s) {
    const auto& [low, high, length, last, last_slope, good, calls] = s;
    const auto [there, slope_there] = f(x + length * direction);
    const Array rise = dot(slope_there, direction);
    const Array decreases = there <= value + kDecrease * length * descent;
    const Array too_long = logical_not(decreases) | (rise > -kCurvature * descent);
    const Array too_short = logical_not(too_long) & (rise < kCurvature * descent);
    const Array found = logical_not(too_long) & logical_not(too_short);
    const Array low1 = where(too_short, length, low), high1 = where(too_long, length, high);
    const Array next = where(isinf(high1), 2 * length, (low1 + high1) / 2);
    return State(low1, high1, where(found, length, next), there, slope_there, found, calls + 1);
  };
  const State end = while_loop(open, step,
                               State(none, full_like(none, INFINITY), full_like(none, 1), value,
                                     slope, zeros(Shape{}, bool_), count(0)));
  return {std::get<2>(end), std::get<3>(end), std::get<4>(end), std::get<5>(end), std::get<6>(end)};
}

// The state of the minimization: x, value, gradient, steps, calls, and the status, which is -1
// until the end.
struct Progress {
  Array x, value, slope, steps, calls, status;
};

Array status_of(const Array& slope, const Array& steps, const Array& failed, double gtol,
                int64_t maxiter) {
  const Array small = max(abs(slope)) <= gtol;
  return where(
      small, count(0),
      where(failed, count(3), where(steps >= static_cast<int>(maxiter), count(1), count(-1))));
}

// Makes one step along a direction. x stays if the search fails.
Progress moved(const Objective& f, const Progress& p, const Array& direction,
               const MinimizeOptions& o, int64_t maxiter) {
  const Found found = line_search(f, p.x, p.value, p.slope, direction, o.maxls);
  const Array x = where(found.good, p.x + found.length * direction, p.x);
  const Array slope = where(found.good, found.slope, p.slope), steps = p.steps + 1;
  return {x,
          where(found.good, found.value, p.value),
          slope,
          steps,
          p.calls + found.calls,
          status_of(slope, steps, logical_not(found.good), o.gtol, maxiter)};
}

// Returns the inverse Hessian after a step s that changed the gradient by y.
Array updated_inverse(const Array& h, const Array& s, const Array& y) {
  const Array curvature = dot(s, y), sound = curvature > 0;
  const Array rho = 1.0 / where(sound, curvature, 1);
  const Array left = eye(s.size(), None, 0, s.dtype()) - rho * outer(s, y);
  return where(sound, matmul(matmul(left, h), transpose(left)) + rho * outer(s, s), h);
}

std::pair<Progress, Array> bfgs(const Objective& f, const Progress& start, const MinimizeOptions& o,
                                int64_t maxiter) {
  using State = std::pair<Progress, Array>;
  return while_loop([](const State& s) { return less(s.first.status, 0); },
                    [&](const State& s) {
                      const auto& [p, h] = s;
                      const Progress next = moved(f, p, -matmul(h, p.slope), o, maxiter);
                      return State(next, updated_inverse(h, next.x - p.x, next.slope - p.slope));
                    },
                    State(start, eye(start.x.size(), None, 0, start.x.dtype())));
}

// The last steps s and changes y of the gradient, the newest last, and 1 / (s . y), which is 0 for
// absent ones.
struct History {
  Array s, y, rho;
};

History with_step(const History& h, const Array& s, const Array& y) {
  const Array curvature = dot(s, y), sound = curvature > 0;
  const auto shifted = [&](const Array& old, const Array& added) {
    const Array all = concatenate({slice_in_dim(old, 1, old.shape()[0]), expand_dims(added, 0)});
    return where(sound, all, old);
  };
  return {shifted(h.s, s), shifted(h.y, y), shifted(h.rho, 1.0 / where(sound, curvature, 1))};
}

// Returns minus the product of the gradient and the inverse Hessian that the history represents.
Array direction_of(const History& h, const Array& slope) {
  const int64_t kept = h.rho.size();
  const auto row = [](const Array& a, int64_t i) { return index_in_dim(a, i, 0, false); };
  Array q = slope;
  std::vector<Array> alphas(static_cast<size_t>(kept));
  for (int64_t i = kept; i-- > 0;) {
    Array& alpha = alphas[static_cast<size_t>(i)];
    alpha = row(h.rho, i) * dot(row(h.s, i), q);
    q = q - alpha * row(h.y, i);
  }
  const Array y = row(h.y, kept - 1), any_step = row(h.rho, kept - 1) > 0;
  const Array size = dot(y, y);
  q = q * where(any_step, 1.0 / where(any_step, row(h.rho, kept - 1) * size, 1), 1);
  for (int64_t i = 0; i < kept; ++i) {
    const Array beta = row(h.rho, i) * dot(row(h.y, i), q);
    q = q + (alphas[static_cast<size_t>(i)] - beta) * row(h.s, i);
  }
  return -q;
}

Progress lbfgs(const Objective& f, const Progress& start, const MinimizeOptions& o,
               int64_t maxiter) {
  using State = std::pair<Progress, History>;
  const DType dtype = start.x.dtype();
  const Array rows = zeros({o.maxcor, start.x.size()}, dtype);
  return while_loop([](const State& s) { return less(s.first.status, 0); },
                    [&](const State& s) {
                      const auto& [p, history] = s;
                      const Progress next = moved(f, p, direction_of(history, p.slope), o, maxiter);
                      return State(next, with_step(history, next.x - p.x, next.slope - p.slope));
                    },
                    State(start, History{rows, rows, zeros({o.maxcor}, dtype)}))
      .first;
}

}  // namespace

OptimizeResults minimize(const std::function<Array(const Array&)>& fun, const Array& x0,
                         const MinimizeOptions& o) {
  const char* name = "minimize";
  if (x0.ndim() != 1 || !is_floating(x0.dtype()) || x0.size() == 0)
    type_error(name, "expected a floating vector x0, got {}", describe(x0.type()));
  const int64_t maxiter = o.maxiter.value_or(200 * x0.size());
  for (int64_t n : {maxiter, o.maxls, o.maxcor})
    if (n < 1) value_error(name, "expected positive maxiter, maxls and maxcor, got {}", n);
  const auto run = [&](const Array& x) {
    const Array value = fun(x);
    if (value.ndim() != 0 || value.dtype() != x.dtype())
      type_error(name, "expected a function that returns a scalar of {}, got {}", x.dtype(),
                 describe(value.type()));
    const Objective f{fun};
    const auto [start, slope] = f(x);
    const Progress progress{
        x,        start,    slope,
        count(0), count(1), status_of(slope, count(0), zeros(Shape{}, bool_), o.gtol, maxiter)};
    Progress end;
    Array inverse;
    switch (o.method) {
      case Method::kBfgs: {
        const auto [p, h] = bfgs(f, progress, o, maxiter);
        end = p;
        inverse = h;
        break;
      }
      case Method::kLbfgs:
        end = lbfgs(f, progress, o, maxiter);
        inverse = zeros({0}, x.dtype());
        break;
    }
    return std::vector<Array>{
        end.x,    equal(end.status, 0), end.status, end.value, end.slope, inverse, end.calls,
        end.steps};
  };
  const std::vector<Array> r = tessera::internal::under_trace(name, run, x0);
  const bool has_inverse = o.method == Method::kBfgs;
  return {r[0], r[1], r[2], r[3], r[4], has_inverse ? std::optional(r[5]) : std::nullopt,
          r[6], r[6], r[7]};
}

}  // namespace tessera::scipy::optimize
