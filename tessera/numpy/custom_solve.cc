#include "tessera/numpy/custom_solve.h"

#include "tessera/base/format.h"
#include "tessera/numpy/closed_function.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/transform/derivative.h"

namespace tessera::lax::internal {

namespace {

void expect_types(const char* name, const char* what, std::span<const Array> got,
                  std::span<const Array> want) {
  bool same = got.size() == want.size();
  for (size_t i = 0; same && i < got.size(); ++i)
    same = got[i].shape() == want[i].shape() && got[i].dtype() == want[i].dtype();
  if (same) return;
  std::string got_text, want_text;
  for (const Array& x : got) got_text += (got_text.empty() ? "" : ", ") + describe(x.type());
  for (const Array& x : want) want_text += (want_text.empty() ? "" : ", ") + describe(x.type());
  shape_error(name, "expected {} of {}, got {}", what, want_text, got_text);
}

// Returns the tangents of f's results at `primals`, for tangents of all inputs. Tangents that
// vanish are returned as zeros.
Leaves tangents_of(const ir::Function& f, std::span<const Array> primals,
                   std::span<const Array> tangents) {
  Leaves given;
  for (size_t i = 0; i < primals.size(); ++i)
    given.push_back(is_inexact(primals[i].dtype()) ? tangents[i] : Array());
  ir::JvpResult out = transforms::jvp_function(f, primals, given);
  for (size_t i = 0; i < out.tangents.size(); ++i)
    if (!out.tangents[i].defined()) out.tangents[i] = zeros_like(out.primals[i].type());
  return out.tangents;
}

Leaves zeros_of(std::span<const Array> like) {
  Leaves out;
  for (const Array& x : like) out.push_back(zeros_like(x.type()));
  return out;
}

// A linear equation whose functions capture nothing. The arguments are b, followed by the captures
// of the product, of its solver and of the solver of its transpose.
struct Equation {
  Closed product, solve, transpose_solve;
  bool transposed = false;  // whether there is a solver of the transpose
  size_t unknowns = 0;

  size_t product_begin() const { return unknowns; }
  size_t solve_begin() const { return product_begin() + product.captures.size(); }
  size_t transpose_begin() const { return solve_begin() + solve.captures.size(); }
  Leaves arguments(const Leaves& b) const {
    return joined({b, product.captures, solve.captures, transpose_solve.captures});
  }
  Leaves multiply(std::span<const Array> x, const Leaves& all) const {
    return product.call(x, part_of(all, product_begin(), product.captures.size()));
  }
  Leaves solution(const Leaves& all) const {
    return solve.call(part_of(all, 0, unknowns),
                      part_of(all, solve_begin(), solve.captures.size()));
  }
  Leaves solution_of_transpose(std::span<const Array> b, const Leaves& all) const {
    return transpose_solve.call(b,
                                part_of(all, transpose_begin(), transpose_solve.captures.size()));
  }
};

Leaves solution_with_derivatives(const Equation& e, const Leaves& all, int order, int turns);

// Returns the solution of the transposed equation for `b`, with derivatives by the captures of the
// product too. `all` are the arguments of e.
Leaves solution_of_transposed(const Equation& e, const Leaves& b, const Leaves& all, int turns) {
  if (turns == 0) return e.solution_of_transpose(b, all);
  const auto part = [&](size_t begin, const Closed& f) {
    const auto captures = part_of(all, begin, f.captures.size());
    return Leaves(captures.begin(), captures.end());
  };
  const auto product = [&](const Leaves& x) { return e.multiply(x, all); };
  Equation turned;
  turned.unknowns = e.unknowns;
  turned.transposed = true;
  turned.product =
      closed([&](const Leaves& y) { return linear_transpose_leaves(product, b, y); }, b);
  turned.solve = {e.transpose_solve.function, part(e.transpose_begin(), e.transpose_solve)};
  turned.transpose_solve = {e.solve.function, part(e.solve_begin(), e.solve)};
  return solution_with_derivatives(turned, turned.arguments(b), 1, turns - 1);
}

// Returns the solution as a linear function of b alone that has a transpose.
Leaves linear_solution(const Equation& e, const Leaves& all, int turns) {
  if (!e.transposed) return e.solution(all);
  const auto solution = custom_vjp([&e](const Leaves& x) { return e.solution(x); },
                                   [&e](const Leaves& x) { return std::pair(e.solution(x), x); },
                                   [&e, turns](const Leaves& x, const Leaves& cotangent) {
                                     Leaves out = solution_of_transposed(e, cotangent, x, turns);
                                     const Leaves rest =
                                         zeros_of(part_of(x, e.unknowns, x.size() - e.unknowns));
                                     out.insert(out.end(), rest.begin(), rest.end());
                                     return std::tuple(out);
                                   });
  return solution(all);
}

// Returns the solution with derivatives up to `order`. A derivative by the captures of the product
// follows from product(dx) = db - (the tangent of the product at x). The solution for a cotangent
// has such derivatives too, and that for its cotangent, `turns` times.
Leaves solution_with_derivatives(const Equation& e, const Leaves& all, int order, int turns) {
  if (order == 0) return linear_solution(e, all, turns);
  const auto value = [&e](const Leaves& x) { return e.solution(x); };
  const auto rule = [&e, order, turns](const std::tuple<Leaves>& primals,
                                       const std::tuple<Leaves>& tangents) {
    const Leaves &at = std::get<0>(primals), &moved = std::get<0>(tangents);
    // Traced once and called twice, since what it contains doubles with each order otherwise.
    const Closed solution = closed(
        [&](const Leaves& a) { return solution_with_derivatives(e, a, order - 1, turns); }, at);
    const Leaves x = solution.call(at, solution.captures);
    const size_t captured = e.product.captures.size();
    const Leaves still = zeros_of(x);
    const Leaves change =
        tangents_of(e.product.function, joined({x, part_of(at, e.product_begin(), captured)}),
                    joined({still, part_of(moved, e.product_begin(), captured)}));
    Leaves right = at;
    for (size_t i = 0; i < e.unknowns; ++i) right[i] = sub(moved[i], change[i]);
    return std::pair(x, solution.call(right, solution.captures));
  };
  return custom_jvp(value, rule)(all);
}

constexpr int kOrder = 2, kTurns = 1;

}  // namespace

Leaves custom_linear_solve_leaves(const LeavesFunction& matvec, const Leaves& b,
                                  const LeavesSolver& solve, const LeavesSolver& transpose_solve,
                                  bool symmetric) {
  const char* name = "custom_linear_solve";
  Equation e;
  e.unknowns = b.size();
  e.product = closed(matvec, b);
  expect_types(name, "a result of matvec", e.multiply(b, e.arguments(b)), b);
  e.solve = closed([&](const Leaves& right) { return solve(matvec, right); }, b);
  const Leaves all_but_transpose = e.arguments(b);
  expect_types(name, "a result of solve", e.solution(all_but_transpose), b);
  if (symmetric) {
    // The transpose of a Hermitian product is its conjugate: conj(solve(conj(y))).
    const auto turned = [&](const Leaves& right) {
      Leaves conjugate;
      for (const Array& x : right) conjugate.push_back(is_complex(x.dtype()) ? lax::conj(x) : x);
      Leaves out = solve(matvec, conjugate);
      for (Array& x : out) x = is_complex(x.dtype()) ? lax::conj(x) : x;
      return out;
    };
    e.transpose_solve = closed(turned, b);
    e.transposed = true;
  } else if (transpose_solve) {
    const auto vecmat = [&](const Leaves& y) { return linear_transpose_leaves(matvec, b, y); };
    e.transpose_solve =
        closed([&](const Leaves& right) { return transpose_solve(vecmat, right); }, b);
    e.transposed = true;
  }
  return solution_with_derivatives(e, e.arguments(b), kOrder, kTurns);
}

Leaves custom_root_leaves(const LeavesFunction& f, const Leaves& initial_guess,
                          const LeavesSolver& solve, const LeavesSolver& tangent_solve) {
  const char* name = "custom_root";
  const Closed function = closed(f, initial_guess);
  Leaves guess;
  for (const Array& x : initial_guess) guess.push_back(stop_gradient(x));
  expect_types(name, "a result of f", function.call(guess, function.captures), guess);
  const Closed solver = closed([&](const Leaves& from) { return solve(f, from); }, guess);
  expect_types(name, "a result of solve", solver.call(guess, solver.captures), guess);
  const size_t n = guess.size(), captured = function.captures.size();
  // The arguments are the guess, the captures of f, the captures of the solver.
  const auto value = [&](const Leaves& all) {
    return solver.call(part_of(all, 0, n), part_of(all, n + captured, solver.captures.size()));
  };
  const auto rule = [&](const std::tuple<Leaves>& primals, const std::tuple<Leaves>& tangents) {
    const Leaves &at = std::get<0>(primals), &moved = std::get<0>(tangents);
    const Leaves x = value(at);
    const Leaves where = joined({x, part_of(at, n, captured)});
    // Solves f_x dx = -(the tangent of f by its captures).
    Leaves right =
        tangents_of(function.function, where, joined({zeros_of(x), part_of(moved, n, captured)}));
    for (Array& r : right) r = neg(r);
    const LeavesFunction slope = [&](const Leaves& dx) {
      return tangents_of(function.function, where,
                         joined({dx, zeros_of(part_of(at, n, captured))}));
    };
    Leaves dx = tangent_solve(slope, right);
    expect_types(name, "a result of tangent_solve", dx, x);
    return std::pair(x, dx);
  };
  return custom_jvp(value, rule)(joined({guess, function.captures, solver.captures}));
}

Leaves linear_transpose_leaves(const LeavesFunction& f, const Leaves& primals,
                               const Leaves& cotangents) {
  const Closed function = closed(f, primals);
  Leaves at = zeros_of(primals);
  at.insert(at.end(), function.captures.begin(), function.captures.end());
  std::vector<bool> linear(at.size(), false);
  for (size_t i = 0; i < primals.size(); ++i) linear[i] = is_inexact(primals[i].dtype());
  const transforms::LinearizedFunction tangents =
      transforms::linearize_function(function.function, at, linear);
  expect_types("linear_transpose", "a cotangent", cotangents, tangents.primals);
  Leaves given;
  for (size_t r = 0; r < cotangents.size(); ++r)
    if (tangents.nonzero[r]) given.push_back(cotangents[r]);
  const size_t inputs = tangents.linear.inputs.size(), moved = inputs - tangents.residuals.size();
  std::vector<bool> moves(inputs, false);
  std::fill(moves.begin(), moves.begin() + static_cast<int64_t>(moved), true);
  Leaves operands(moved);
  operands.insert(operands.end(), tangents.residuals.begin(), tangents.residuals.end());
  const Leaves back = transforms::transpose_function(tangents.linear, moves, operands, given);
  Leaves out;
  size_t next = 0;
  for (size_t i = 0; i < primals.size(); ++i) {
    const Array ct = linear[i] ? back[next++] : Array();
    out.push_back(ct.defined() ? ct : zeros_like(primals[i].type()));
  }
  return out;
}

}  // namespace tessera::lax::internal
