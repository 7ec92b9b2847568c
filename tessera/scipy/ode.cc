#include "tessera/scipy/ode.h"

#include <array>

#include "tessera/compile/custom_derivatives.h"
#include "tessera/numpy/closed_function.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/polynomial.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"

namespace tessera::experimental::ode::internal {

namespace {

using VectorField = std::function<Array(const Array& y, const Array& t)>;

// --- One step. The coefficients are those of Dormand and Prince. The polynomial through the middle
// of the step is Shampine's ("Some practical Runge-Kutta formulas", 1986). ---

constexpr std::array<double, 6> kTimes = {1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
constexpr double kStages[6][6] = {
    {1. / 5},
    {3. / 40, 9. / 40},
    {44. / 45, -56. / 15, 32. / 9},
    {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
    {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
    {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
constexpr double kSolution[7] = {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84, 0};
constexpr double kError[7] = {35. / 384 - 1951. / 21600,
                              0,
                              500. / 1113 - 22642. / 50085,
                              125. / 192 - 451. / 720,
                              -2187. / 6784 + 12231. / 42400,
                              11. / 84 - 649. / 6300,
                              -1. / 60};
constexpr double kMiddle[7] = {6025192743. / 30085553152 / 2,     0,
                               51252292925. / 65400821598 / 2,    -2691868925. / 45128329728 / 2,
                               187940372067. / 1594534317056 / 2, -1776094331. / 19743644256 / 2,
                               11237099. / 235043384 / 2};

Array combined(const double* weights, const std::vector<Array>& k) {
  Array out;
  for (size_t i = 0; i < k.size(); ++i) {
    if (weights[i] == 0) continue;
    const Array part = weights[i] * k[i];
    out = out.defined() ? out + part : part;
  }
  return out;
}

struct Step {
  Array y, slope, error, polynomial;  // polynomial: [5, n], highest power first
};

Step step_of(const VectorField& f, const Array& y, const Array& slope, const Array& t,
             const Array& dt) {
  const Array h = as_dtype(dt, y.dtype());
  std::vector<Array> k{slope};
  for (size_t i = 0; i < kTimes.size(); ++i)
    k.push_back(f(y + h * combined(kStages[i], k), t + dt * kTimes[i]));
  const Array next = y + h * combined(kSolution, k), middle = y + h * combined(kMiddle, k);
  const Array first = h * k.front(), last = h * k.back();
  return {next, k.back(), h * combined(kError, k),
          stack({-2 * first + 2 * last - 8 * y - 8 * next + 16 * middle,
                 5 * first - 3 * last + 18 * y + 14 * next - 32 * middle,
                 -4 * first + last - 11 * y - 5 * next + 16 * middle, first, y})};
}

// Returns the root mean square of error / allowed error.
Array error_ratio(const Array& error, const Array& y, const Array& next, const OdeintOptions& o) {
  const Array allowed = o.atol + o.rtol * maximum(abs(y), abs(next));
  return sqrt(mean(square(error / allowed)));
}

Array next_length(const Array& dt, const Array& ratio) {
  const Array least = where(ratio < 1, 1.0, full_like(ratio, 0.2));
  const Array factor = fmin(10.0, fmax(power(ratio, -1.0 / 5) * 0.9, least));
  return dt * as_dtype(where(equal(ratio, 0), 10.0, factor), dt.dtype());
}

// Returns the length of the first step (Hairer, Norsett and Wanner, "Solving Ordinary Differential
// Equations I", II.4).
Array first_length(const VectorField& f, const Array& t, const Array& y, const Array& slope,
                   const OdeintOptions& o) {
  const auto length = [](const Array& x) { return sqrt(sum(square(x))); };
  const Array scale = o.atol + abs(y) * o.rtol;
  const Array d0 = length(y / scale), d1 = length(slope / scale);
  const Array h0 = where((d0 < 1e-5) | (d1 < 1e-5), full_like(d0, 1e-6), 0.01 * d0 / d1);
  const Array there = f(y + h0 * slope, t + as_dtype(h0, t.dtype()));
  const Array d2 = length((there - slope) / scale) / h0;
  const Array h1 = where((d1 <= 1e-15) & (d2 <= 1e-15), maximum(1e-6, h0 * 1e-3),
                         power(0.01 / maximum(d1, d2), 1.0 / 5));
  return as_dtype(minimum(100.0 * h0, h1), t.dtype());
}

// The state of the integration. Between `before` and t the solution is the polynomial.
struct State {
  Array y, slope, t, dt, before, polynomial;
};

State chosen(const Array& which, const State& a, const State& b) {
  return {where(which, a.y, b.y),           where(which, a.slope, b.slope),
          where(which, a.t, b.t),           where(which, a.dt, b.dt),
          where(which, a.before, b.before), where(which, a.polynomial, b.polynomial)};
}

// Returns the solution at `times`: [times, n].
Array integrated(const VectorField& f, const Array& y0, const Array& times,
                 const OdeintOptions& o) {
  const Array t0 = index_in_dim(times, 0, 0, false), slope = f(y0, t0);
  const auto limited = [&](const Array& dt) { return clip(dt, 0.0, full_like(dt, o.hmax)); };
  const State start{
      y0, slope, t0, limited(first_length(f, t0, y0, slope, o)), t0, stack({y0, y0, y0, y0, y0})};
  const auto to_next = [&](const State& state, const Array& target) {
    using Counted = std::pair<Array, State>;
    const auto open = [&](const Counted& c) {
      return (c.second.t < target) & (c.first < static_cast<int>(o.mxstep)) & (c.second.dt > 0);
    };
    const auto step = [&](const Counted& c) {
      const State& s = c.second;
      const Step made = step_of(f, s.y, s.slope, s.t, s.dt);
      const Array ratio = error_ratio(made.error, s.y, made.y, o);
      const Array dt = limited(next_length(s.dt, ratio));
      const State taken{made.y, made.slope, s.t + s.dt, dt, s.t, made.polynomial};
      State kept = s;
      kept.dt = dt;
      return Counted(c.first + 1, chosen(ratio <= 1, taken, kept));
    };
    const State s = while_loop(open, step, Counted(full({}, 0, int32), state)).second;
    const Array part = (target - s.before) / (s.t - s.before);
    return std::pair(s, polyval(s.polynomial, as_dtype(part, y0.dtype())));
  };
  const Array later = slice_in_dim(times, 1, times.size());
  return concatenate({expand_dims(y0, 0), scan(to_next, start, later).second});
}

// --- The derivative. ---

// The equation. Its arguments are y0, t and the captures of the function.
struct Equation {
  tessera::lax::internal::Closed dynamics;
  OdeintOptions options;

  Array slope(const Array& y, const Array& t, const Leaves& captured) const {
    return dynamics.call(Leaves{y, t}, captured)[0];
  }
};

Leaves captured_of(const Leaves& all) { return {all.begin() + 2, all.end()}; }
Array solution(const Equation& e, const Leaves& all) {
  const Leaves captured = captured_of(all);
  return integrated([&](const Array& y, const Array& t) { return e.slope(y, t, captured); }, all[0],
                    all[1], e.options);
}

// The adjoint equation, as one vector that is integrated backwards: y, its cotangent, and the
// cotangents of t and of the captures.
class Adjoint {
 public:
  Adjoint(const Equation& e, const Leaves& all, const Array& y) : e_(e), all_(all), y_(y) {
    for (const Array& x : captured_of(all)) size_ += is_inexact(x.dtype()) ? x.size() : 0;
  }
  int64_t unknowns() const { return y_.size(); }
  int64_t parameters() const { return size_ + 1; }

  Array slope(const Array& state, const Array& minus_t) const {
    const int64_t n = unknowns();
    const Array y = slice_in_dim(state, 0, n), ct = slice_in_dim(state, n, 2 * n);
    Leaves arguments{y, -minus_t};
    for (const Array& x : captured_of(all_))
      if (is_inexact(x.dtype())) arguments.push_back(x);
    const auto f = [&](const Leaves& some) {
      Leaves captured = captured_of(all_);
      size_t next = 2;
      for (Array& x : captured)
        if (is_inexact(x.dtype())) x = some[next++];
      return e_.slope(some[0], some[1], captured);
    };
    const auto [value, pull] = vjp(f, arguments);
    std::vector<Array> parts{-value};
    const auto cotangents = pull(ct);
    for (const Array& part : std::get<0>(cotangents))
      parts.push_back(as_dtype(ravel(part), y_.dtype()));
    return concatenate(parts);
  }

  // Returns the cotangents of the captures from the vector of all of them.
  Leaves cotangents(const Array& of_parameters) const {
    Leaves out;
    int64_t begin = 1;
    for (const Array& x : captured_of(all_)) {
      if (!is_inexact(x.dtype())) {
        out.push_back(zeros(x.shape(), x.dtype()));
        continue;
      }
      out.push_back(as_dtype(
          reshape(slice_in_dim(of_parameters, begin, begin + x.size()), x.shape()), x.dtype()));
      begin += x.size();
    }
    return out;
  }

 private:
  const Equation& e_;
  const Leaves& all_;
  Array y_;
  int64_t size_ = 0;
};

// Returns the cotangents of all arguments, integrated from the last time back to the first.
Leaves backwards(const Equation& e, const Leaves& all, const Array& ys, const Array& ct) {
  const Array& times = all[1];
  const int64_t n = ys.shape()[1], count = times.size();
  const Adjoint adjoint(e, all, index_in_dim(ys, 0, 0, false));
  const Leaves captured = captured_of(all);
  using Carry = std::pair<Array, Array>;  // the cotangents of y, and of t0 and the captures
  const auto back = [&](const Carry& carry, const Array& i) {
    const auto at = [&](const Array& a, const Array& k) {
      return dynamic_index_in_dim(a, k, 0, false);
    };
    const Array y = at(ys, i), g = at(ct, i);
    const Array moved = dot(e.slope(y, at(times, i), captured), g);
    const Array first = slice_in_dim(carry.second, 0, 1) - moved;
    const Array rest = slice_in_dim(carry.second, 1, adjoint.parameters());
    const Array state = concatenate({y, carry.first, first, rest});
    const Array end =
        index_in_dim(integrated([&](const Array& s, const Array& t) { return adjoint.slope(s, t); },
                                state, stack({-at(times, i), -at(times, i - 1)}), e.options),
                     1, 0, false);
    return std::pair(
        Carry(slice_in_dim(end, n, 2 * n) + at(ct, i - 1), slice_in_dim(end, 2 * n, end.size())),
        moved);
  };
  const Array last = index_in_dim(ct, count - 1, 0, false);
  const Array places = flip(arange(1, count));
  const auto [carry, moved] =
      scan(back, Carry(last, zeros({adjoint.parameters()}, ys.dtype())), places);
  const Array of_times = concatenate({slice_in_dim(carry.second, 0, 1), flip(moved)});
  Leaves out{carry.first, as_dtype(of_times, times.dtype())};
  for (const Array& x : adjoint.cotangents(carry.second)) out.push_back(x);
  return out;
}

Array vector_of(const Leaves& leaves, DType dtype) {
  std::vector<Array> parts;
  for (const Array& x : leaves) parts.push_back(as_dtype(ravel(x), dtype));
  return parts.size() == 1 ? parts[0] : concatenate(parts);
}

}  // namespace

Leaves odeint_leaves(const Dynamics& dynamics, const Leaves& y0, const Array& t,
                     const OdeintOptions& o) {
  const char* name = "odeint";
  if (t.ndim() != 1 || t.size() == 0 || !is_floating(t.dtype()))
    type_error(name, "expected a floating vector of times, got {}", describe(t.type()));
  if (!(o.rtol >= 0) || !(o.atol >= 0) || !(o.hmax > 0) || o.mxstep < 1 ||
      o.mxstep > std::numeric_limits<int32_t>::max())
    value_error(name,
                "expected rtol, atol >= 0, hmax > 0 and 1 <= mxstep < 2^31, got {}, {}, {}, {}",
                o.rtol, o.atol, o.hmax, o.mxstep);
  for (const Array& y : y0)
    if (!is_floating(y.dtype()))
      type_error(name, "expected floating y0, got {}", describe(y.type()));
  const DType dtype = result_type(std::span<const Array>(y0)).dtype;
  const auto leaves_of = [&](const Array& vector) {
    Leaves out;
    int64_t begin = 0;
    for (const Array& y : y0) {
      out.push_back(
          as_dtype(reshape(slice_in_dim(vector, begin, begin + y.size()), y.shape()), y.dtype()));
      begin += y.size();
    }
    return out;
  };
  const auto flat = [&](const Leaves& arguments) {
    Leaves leaves = leaves_of(arguments[0]);
    leaves.push_back(arguments[1]);
    const Leaves slopes = dynamics(leaves);
    bool same = slopes.size() == y0.size();
    for (size_t i = 0; same && i < y0.size(); ++i) same = slopes[i].shape() == y0[i].shape();
    if (!same)
      shape_error(name, "expected func to return arrays of the shapes of y0, {} first, got {}",
                  describe(y0[0].type()), slopes.empty() ? "none" : describe(slopes[0].type()));
    return Leaves{vector_of(slopes, dtype)};
  };
  const Array start = vector_of(y0, dtype), t0 = index_in_dim(t, 0, 0, false);
  const Equation e{tessera::lax::internal::closed(flat, Leaves{start, t0}), o};
  const auto solve = custom_vjp([&](const Leaves& all) { return solution(e, all); },
                                [&](const Leaves& all) {
                                  const Array ys = solution(e, all);
                                  return std::pair(ys, std::pair(ys, all));
                                },
                                [&](const std::pair<Array, Leaves>& kept, const Array& ct) {
                                  return std::tuple(backwards(e, kept.second, kept.first, ct));
                                });
  const Array ys = solve(tessera::lax::internal::joined({Leaves{start, t}, e.dynamics.captures}));
  Leaves out;
  int64_t begin = 0;
  for (const Array& y : y0) {
    Shape shape = y.shape();
    shape.insert(shape.begin(), t.size());
    out.push_back(
        as_dtype(reshape(slice_in_dim(ys, begin, begin + y.size(), 1), shape), y.dtype()));
    begin += y.size();
  }
  return out;
}

}  // namespace tessera::experimental::ode::internal
