// Iterative solvers of linear equations, with the names of jax.scipy.sparse.linalg. The matrix is
// an Array or a function of trees of arrays, which is never made into a matrix.
//
//   const auto [x, info] =
//       scipy::sparse::linalg::cg([&](const Array& v) { return laplacian(v); }, b);
//
// Solutions have derivatives by b and by the captures of the function, by the implicit function
// theorem: a derivative takes another run of the solver. `info` is 0 if the residual is small
// enough, |b - A x| <= max(tol |b|, atol), otherwise 1: the solver ran out of iterations or broke
// down. All throw UserError if the function returns other shapes than b's, and for a maxiter or
// restart below 1.
//
// tessera/tessera.h does not include this header.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "tessera/numpy/custom_solve.h"
#include "tessera/numpy/linear.h"

namespace tessera::scipy::sparse::linalg {

template <class T>
struct SolverOptions {
  std::optional<T> x0 = std::nullopt;  // the first guess; absent: 0
  double tol = 1e-5, atol = 0;
  std::optional<int64_t> maxiter = std::nullopt;  // absent: 10 times the number of unknowns
  std::function<T(const T&)> M = nullptr;         // approximates the inverse of the matrix
};
template <class T>
struct GmresOptions {
  std::optional<T> x0 = std::nullopt;
  double tol = 1e-5, atol = 0;
  int64_t restart = 20;                           // dimension of each Krylov space
  std::optional<int64_t> maxiter = std::nullopt;  // number of such spaces
  std::function<T(const T&)> M = nullptr;
};

namespace internal {

using tessera::lax::internal::Leaves;
using tessera::lax::internal::LeavesFunction;

enum class Method : uint8_t { kCg, kBicgstab, kGmres };
struct Iteration {
  Method method;
  double tol, atol;
  std::optional<int64_t> maxiter;
  int64_t restart = 20;
};
// Returns the leaves of the solution, followed by info. `x0` and `preconditioner` may be empty.
Leaves solve_leaves(const Iteration& iteration, const LeavesFunction& product, const Leaves& b,
                    const Leaves& x0, const LeavesFunction& preconditioner);

template <class A, class T>
auto product_of(const A& a) {
  if constexpr (std::is_same_v<A, Array>) {
    return [a](const Array& x) { return matmul(a, x); };
  } else {
    return a;
  }
}

template <class A, class T>
std::pair<T, Array> solved(const Iteration& iteration, const A& a, const T& b,
                           const std::optional<T>& x0, const std::function<T(const T&)>& m) {
  const auto product = product_of<A, T>(a);
  const auto run = [&](const T& right) {
    const Leaves leaves = tree::leaves(right);
    Leaves out = solve_leaves(iteration, tessera::lax::internal::of_leaves(product, right), leaves,
                              x0 ? tree::leaves(*x0) : Leaves(),
                              m ? tessera::lax::internal::of_leaves(m, right) : LeavesFunction());
    const Array info = out.back();
    out.pop_back();
    return std::pair(tree::unflatten(right, out), info);
  };
  return tessera::internal::under_trace("scipy.sparse.linalg", run, b);
}

}  // namespace internal

// Solves for Hermitian positive definite matrices (Hestenes and Stiefel, "Methods of conjugate
// gradients for solving linear systems", 1952).
template <class A, class T>
std::pair<T, Array> cg(const A& a, const T& b, const SolverOptions<T>& o = {}) {
  return internal::solved(internal::Iteration{internal::Method::kCg, o.tol, o.atol, o.maxiter}, a,
                          b, o.x0, o.M);
}
// Solves for any matrix (van der Vorst, "Bi-CGSTAB", 1992).
template <class A, class T>
std::pair<T, Array> bicgstab(const A& a, const T& b, const SolverOptions<T>& o = {}) {
  return internal::solved(
      internal::Iteration{internal::Method::kBicgstab, o.tol, o.atol, o.maxiter}, a, b, o.x0, o.M);
}
// Solves for any matrix (Saad and Schultz, "GMRES", 1986), preconditioned from the left as in JAX.
template <class A, class T>
std::pair<T, Array> gmres(const A& a, const T& b, const GmresOptions<T>& o = {}) {
  return internal::solved(
      internal::Iteration{internal::Method::kGmres, o.tol, o.atol, o.maxiter, o.restart}, a, b,
      o.x0, o.M);
}

}  // namespace tessera::scipy::sparse::linalg
