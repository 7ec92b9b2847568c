#include "tessera/scipy/sparse/linalg.h"

#include <tuple>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"

namespace tessera::scipy::sparse::linalg::internal {

namespace {

using VectorFunction = std::function<Array(const Array&)>;

// Converts trees to one vector of their common dtype, and back.
class Flat {
 public:
  explicit Flat(const Leaves& like) {
    dtype_ = to_inexact(result_type(std::span<const Array>(like)).dtype);
    for (const Array& x : like) types_.push_back(x.type());
  }
  Array vector(const Leaves& leaves) const {
    std::vector<Array> parts;
    for (const Array& x : leaves) parts.push_back(as_dtype(ravel(x), dtype_));
    return parts.size() == 1 ? parts[0] : concatenate(parts);
  }
  Leaves leaves(const Array& vector) const {
    Leaves out;
    int64_t begin = 0;
    for (const ir::Type& type : types_) {
      const Array part = slice_in_dim(vector, begin, begin + type.elements());
      out.push_back(reshape(
          to_inexact(type.dtype) == type.dtype ? as_dtype(part, type.dtype) : part, type.shape));
      begin += type.elements();
    }
    return out;
  }
  VectorFunction function(const LeavesFunction& f) const {
    return [this, f](const Array& x) { return vector(f(leaves(x))); };
  }

 private:
  DType dtype_;
  std::vector<ir::Type> types_;
};

Array product(const Array& x, const Array& y) { return vdot(x, y); }
Array squared(const Array& x) { return real(vdot(x, x)); }

struct Problem {
  VectorFunction a, m;  // the matrix and its preconditioner
  Array b, x0;
  Iteration iteration;
  int64_t maxiter;
  // Returns the squared residual at which the iteration stops.
  Array bound() const {
    return maximum(iteration.tol * iteration.tol * squared(b),
                   full_like(squared(b), iteration.atol * iteration.atol));
  }
};

Array conjugate_gradients(const Problem& p) {
  using State = std::tuple<Array, Array, Array, Array, Array>;  // x, r, gamma, direction, steps
  const Array bound = p.bound();
  const Array r0 = p.b - p.a(p.x0), z0 = p.m(r0);
  const auto open = [&](const State& s) {
    return (squared(std::get<1>(s)) > bound) & (std::get<4>(s) < static_cast<int>(p.maxiter));
  };
  const auto step = [&](const State& s) {
    const auto& [x, r, gamma, direction, steps] = s;
    const Array ad = p.a(direction);
    const Array alpha = gamma / product(direction, ad);
    const Array r1 = r - alpha * ad, z1 = p.m(r1), gamma1 = product(r1, z1);
    return State(x + alpha * direction, r1, gamma1, z1 + gamma1 / gamma * direction, steps + 1);
  };
  return std::get<0>(
      while_loop(open, step, State(p.x0, r0, product(r0, z0), z0, full({}, 0, int32))));
}

Array stabilized(const Problem& p) {
  // x, r, alpha, omega, rho, direction, A direction, steps.
  using State = std::tuple<Array, Array, Array, Array, Array, Array, Array, Array>;
  const Array bound = p.bound(), r0 = p.b - p.a(p.x0), one = ones(Shape{}, r0.dtype());
  const auto open = [&](const State& s) {
    const Array& steps = std::get<7>(s);
    return (squared(std::get<1>(s)) > bound) & (steps < static_cast<int>(p.maxiter)) &
           greater_equal(steps, 0);
  };
  const auto step = [&](const State& s) {
    const auto& [x, r, alpha, omega, rho, direction, q, steps] = s;
    const Array rho1 = product(r0, r), beta = rho1 / rho * alpha / omega;
    const Array d1 = r + beta * (direction - omega * q), d_hat = p.m(d1), q1 = p.a(d_hat);
    const Array alpha1 = rho1 / product(r0, q1);
    const Array half = r - alpha1 * q1;
    const Array early = squared(half) < bound;
    const Array h_hat = p.m(half), t = p.a(h_hat);
    const Array omega1 = product(t, half) / product(t, t);
    const Array x1 = where(early, x + alpha1 * d_hat, x + (alpha1 * d_hat + omega1 * h_hat));
    const Array r1 = where(early, half, half - omega1 * t);
    // The iteration ends if the next step would divide by 0.
    const Array broken = equal(omega1, 0) | equal(alpha1, 0) | equal(rho1, 0);
    return State(x1, r1, alpha1, omega1, rho1, d1, q1,
                 where(broken & logical_not(early), full({}, -11, int32), steps + 1));
  };
  const Array none = zeros_like(r0);
  return std::get<0>(
      while_loop(open, step, State(p.x0, r0, one, one, one, r0, none, full({}, 0, int32))));
}

// Returns v made orthogonal to the rows of `basis`, by two projections (Giraud, Langou and
// Rozloznik, "The loss of orthogonality in the Gram-Schmidt orthogonalization process", 2005); and
// the coefficients of the part that was taken off.
std::pair<Array, Array> orthogonal(const Array& basis, const Array& v) {
  const Array first = matmul(conj(basis), v), rest = v - matmul(transpose(basis), first);
  const Array second = matmul(conj(basis), rest);
  return {rest - matmul(transpose(basis), second), first + second};
}

// Returns the step of x, in a Krylov space of `restart` dimensions, that minimises |r - M A step|,
// where r is the residual.
Array krylov_step(const Problem& p, const Array& r, const Array& size) {
  using State = std::pair<Array, Array>;  // the rows are: the basis [restart + 1, n]; M A in it
  const int64_t m = std::min(p.iteration.restart, r.size()), n = r.size();
  const DType dtype = r.dtype();
  const Array start = at(zeros({m + 1, n}, dtype))[0].set(r / where(equal(size, 0), 1, size));
  const double tiny = (real(r).dtype() == float64 ? 2.3e-16 : 1.2e-7);
  const auto grow = [&](const Array& k, const State& s) {
    const auto& [basis, columns] = s;
    const Array image = p.m(p.a(dynamic_index_in_dim(basis, k, 0, false)));
    const auto [rest, along] = orthogonal(basis, image);
    const Array norm = sqrt(squared(rest));
    const Array exhausted = norm <= tiny * sqrt(squared(image));
    const Array next = where(exhausted, 0, rest / where(exhausted, 1, norm));
    const Array place = arange(m + 1);
    const Array column = where(equal(place, k + 1), where(exhausted, 0, norm), along);
    return State(
        dynamic_update_slice_in_dim(basis, expand_dims(next, 0), k + 1, 0),
        dynamic_update_slice_in_dim(columns, as_dtype(expand_dims(column, 0), dtype), k, 0));
  };
  const auto [basis, columns] =
      fori_loop(0, static_cast<int>(m), grow, State(start, zeros({m, m + 1}, dtype)));
  const Array right = at(zeros({m + 1}, dtype))[0].set(as_dtype(size, dtype));
  const Array y = tessera::linalg::lstsq(transpose(columns), right).x;
  return matmul(y, slice_in_dim(basis, 0, m));
}

Array minimal_residuals(const Problem& p) {
  using State = std::tuple<Array, Array, Array, Array>;  // x, M r, its length, steps
  const Array mb = p.m(p.b), length_b = sqrt(squared(p.b));
  const Array wanted = maximum(p.iteration.tol * length_b, full_like(length_b, p.iteration.atol));
  const Array bound =
      sqrt(squared(mb)) * minimum(1.0, wanted / where(equal(length_b, 0), 1, length_b));
  const auto state = [&](const Array& x, const Array& steps) {
    const Array r = p.m(p.b - p.a(x));
    return State(x, r, sqrt(squared(r)), steps);
  };
  const auto open = [&](const State& s) {
    return (std::get<2>(s) > bound) & (std::get<3>(s) < static_cast<int>(p.maxiter));
  };
  const auto step = [&](const State& s) {
    const auto& [x, r, size, steps] = s;
    return state(x + krylov_step(p, r, size), steps + 1);
  };
  return std::get<0>(while_loop(open, step, state(p.x0, full({}, 0, int32))));
}

Array iterated(const Problem& p) {
  switch (p.iteration.method) {
    case Method::kCg:
      return conjugate_gradients(p);
    case Method::kBicgstab:
      return stabilized(p);
    case Method::kGmres:
      return minimal_residuals(p);
  }
  __builtin_unreachable();
}

const char* name_of(Method method) {
  switch (method) {
    case Method::kCg:
      return "cg";
    case Method::kBicgstab:
      return "bicgstab";
    case Method::kGmres:
      return "gmres";
  }
  __builtin_unreachable();
}

}  // namespace

Leaves solve_leaves(const Iteration& iteration, const LeavesFunction& a, const Leaves& b,
                    const Leaves& x0, const LeavesFunction& preconditioner) {
  const char* name = name_of(iteration.method);
  if (iteration.maxiter && *iteration.maxiter < 1)
    value_error(name, "expected maxiter >= 1, got {}", *iteration.maxiter);
  if (iteration.restart < 1) value_error(name, "expected restart >= 1, got {}", iteration.restart);
  if (!x0.empty() && x0.size() != b.size())
    value_error(name, "expected x0 to be a tree as b, got {} arrays for {}", x0.size(), b.size());
  for (size_t i = 0; i < x0.size(); ++i)
    if (x0[i].shape() != b[i].shape())
      shape_error(name, "expected x0 of b's shape, got {} and {}", describe(x0[i].type()),
                  describe(b[i].type()));
  const Flat flat(b);
  int64_t unknowns = 0;
  for (const Array& x : b) unknowns += x.size();
  const int64_t maxiter = iteration.maxiter.value_or(10 * unknowns);
  // The equation of the transpose is solved by the same method, with the transposed preconditioner.
  const auto solver = [&](bool transposed) {
    return [&, transposed](const LeavesFunction& product, const Leaves& right) -> Leaves {
      VectorFunction m = [](const Array& x) { return x; };
      if (preconditioner) {
        const LeavesFunction turned = [&](const Leaves& y) {
          return tessera::lax::internal::linear_transpose_leaves(preconditioner, b, y);
        };
        m = flat.function(transposed ? turned : preconditioner);
      }
      const Array vector = flat.vector(right);
      const Array start =
          x0.empty() || transposed ? zeros_like(vector) : lax::stop_gradient(flat.vector(x0));
      return flat.leaves(iterated({flat.function(product), m, vector, start, iteration, maxiter}));
    };
  };
  Leaves floating;
  for (const Array& x : flat.leaves(flat.vector(b))) floating.push_back(x);
  Leaves out = tessera::lax::internal::custom_linear_solve_leaves(
      a, floating, solver(false), solver(true), iteration.method == Method::kCg);
  const Array right = flat.vector(floating), rest = right - flat.vector(a(out));
  const Array bound = maximum(iteration.tol * sqrt(squared(right)),
                              full_like(sqrt(squared(right)), iteration.atol));
  // The residual that the recurrence computes differs from that of the solution by rounding.
  const double slack = real(right).dtype() == float64 ? 1 + 1e-6 : 1.01;
  const Array close = sqrt(squared(rest)) <= bound * slack;
  out.push_back(lax::stop_gradient(astype(logical_not(close), int32)));
  return out;
}

}  // namespace tessera::scipy::sparse::linalg::internal
