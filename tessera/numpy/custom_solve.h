// Solutions of equations whose derivatives follow from the implicit function theorem, however they
// are computed: jax.lax's custom_linear_solve and custom_root. Also the transpose of a linear
// function. Results have derivatives by the captures of the given functions, too.
//
//   lax::custom_linear_solve([&](const Array& x) { return matmul(a, x); }, b,
//                            [](const auto& product, const Array& b) {
//                              return iterate(product, b);
//                            },
//                            {.symmetric = true});
//
// All functions throw UserError if a function returns other shapes than it should.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "tessera/compile/control_flow.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/compile/leaf_function.h"

namespace tessera::lax {

namespace internal {

using Leaves = std::vector<Array>;
using LeavesFunction = std::function<Leaves(const Leaves&)>;
// (function, argument) -> solution.
using LeavesSolver = std::function<Leaves(const LeavesFunction&, const Leaves&)>;

// `transpose_solve` is null if the product is `symmetric` or if there is no solver of its
// transpose.
Leaves custom_linear_solve_leaves(const LeavesFunction& matvec, const Leaves& b,
                                  const LeavesSolver& solve, const LeavesSolver& transpose_solve,
                                  bool symmetric);
Leaves custom_root_leaves(const LeavesFunction& f, const Leaves& initial_guess,
                          const LeavesSolver& solve, const LeavesSolver& tangent_solve);
Leaves linear_transpose_leaves(const LeavesFunction& f, const Leaves& primals,
                               const Leaves& cotangents);

// Returns f, a function of trees like `like`, as a function of leaves.
template <class T, class F>
LeavesFunction of_leaves(const F& f, const T& like) {
  return
      [&f, &like](const Leaves& leaves) { return tree::leaves(f(tree::unflatten(like, leaves))); };
}
template <class T, class Solve>
LeavesSolver solver_of_leaves(const Solve& solve, const T& like) {
  return [&solve, &like](const LeavesFunction& product, const Leaves& leaves) {
    const auto of_tree = [&](const T& x) {
      return tree::unflatten(like, product(tree::leaves(x)));
    };
    return tree::leaves(solve(of_tree, tree::unflatten(like, leaves)));
  };
}

}  // namespace internal

struct CustomLinearSolveOptions {
  bool symmetric = false;  // the product is its own transpose
};
// Returns the x with matvec(x) = b that solve(matvec, b) computes. It has a reverse derivative if
// the product is symmetric; otherwise pass transpose_solve(vecmat, b) too.
template <class Matvec, class T, class Solve>
T custom_linear_solve(const Matvec& matvec, const T& b, const Solve& solve,
                      const CustomLinearSolveOptions& options = {}) {
  const auto run = [&](const T& right) {
    return tree::unflatten(
        right, internal::custom_linear_solve_leaves(
                   internal::of_leaves(matvec, right), tree::leaves(right),
                   internal::solver_of_leaves(solve, right), nullptr, options.symmetric));
  };
  return tessera::internal::under_trace("custom_linear_solve", run, b);
}
template <class Matvec, class T, class Solve, class TransposeSolve>
requires std::is_invocable_v < TransposeSolve, const std::function<T(const T&)>
&, const T& > T custom_linear_solve(const Matvec& matvec, const T& b, const Solve& solve,
                                    const TransposeSolve& transpose_solve) {
  const auto run = [&](const T& right) {
    return tree::unflatten(right, internal::custom_linear_solve_leaves(
                                      internal::of_leaves(matvec, right), tree::leaves(right),
                                      internal::solver_of_leaves(solve, right),
                                      internal::solver_of_leaves(transpose_solve, right), false));
  };
  return tessera::internal::under_trace("custom_linear_solve", run, b);
}

// Returns the x with f(x) = 0 that solve(f, initial_guess) computes. Derivatives are computed by
// tangent_solve(g, y), which returns the solution of g(x) = y for a linear g and has to be
// differentiable by y.
template <class F, class T, class Solve, class TangentSolve>
T custom_root(const F& f, const T& initial_guess, const Solve& solve,
              const TangentSolve& tangent_solve) {
  const auto run = [&](const T& guess) {
    return tree::unflatten(
        guess, internal::custom_root_leaves(internal::of_leaves(f, guess), tree::leaves(guess),
                                            internal::solver_of_leaves(solve, guess),
                                            internal::solver_of_leaves(tangent_solve, guess)));
  };
  return tessera::internal::under_trace("custom_root", run, initial_guess);
}

// Returns the transpose of the linear function f, which is a function of cotangents of f's result.
// `primal` is an array, or a tree of them, with the shapes and dtypes of f's argument.
template <class F, class T>
auto linear_transpose(const F& f, const T& primal) {
  return [f, primal](const auto& cotangent) {
    const auto run = [&](const auto& ct) {
      return tree::unflatten(
          primal, internal::linear_transpose_leaves(internal::of_leaves(f, primal),
                                                    tree::leaves(primal), tree::leaves(ct)));
    };
    return tessera::internal::under_trace("linear_transpose", run, cotangent);
  };
}

}  // namespace tessera::lax
