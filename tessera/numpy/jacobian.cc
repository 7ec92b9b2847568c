#include "tessera/numpy/jacobian.h"

#include <algorithm>

#include "tessera/compile/leaf_function.h"
#include "tessera/compile/linearization.h"
#include "tessera/compile/mapped_axis.h"
#include "tessera/compile/vmap_flat.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::internal {

using namespace ir;

namespace {

int64_t total_size(std::span<const Array> arrays) {
  int64_t n = 0;
  for (const Array& x : arrays) n += x.size();
  return n;
}

// Returns for each array the unit vectors of all elements of all arrays, along a new leading
// dimension.
std::vector<Array> standard_basis(std::span<const Array> like) {
  const int64_t rows = total_size(like);
  std::vector<Array> out;
  int64_t first = 0;
  for (const Array& x : like) {
    const Shape plane{rows, x.size()};
    const Array column = lax::iota(int32, plane, 1);
    const Array own = lax::add(column, lax::full_like(column, static_cast<double>(first)));
    const Array ones =
        lax::convert_element_type(lax::eq(lax::iota(int32, plane, 0), own), x.dtype());
    Shape shape = x.shape();
    shape.insert(shape.begin(), rows);
    out.push_back(lax::reshape(ones, shape));
    first += x.size();
  }
  return out;
}

// Returns the results of `body` for every unit vector. The first dimension of each result counts
// the vectors.
std::vector<Array> for_each_unit(const FlatFn& body, std::span<const Array> like) {
  FlatVmap options;
  options.in_axes.assign(like.size(), 0);
  options.paths.assign(like.size(), "the basis");
  options.axis_size = total_size(like);
  size_t num_results = 0;
  const FlatFn counted = [&](const std::vector<Array>& unit) {
    std::vector<Array> out = body(unit);
    num_results = out.size();
    return out;
  };
  return vmap_flat(counted, standard_basis(like), std::move(options),
                   [&] { return std::vector<MappedAxis>(num_results, MappedAxis(0)); });
}

// Returns rows [first, first + of.size()) of `rows`. Their dimension becomes those of `of`, in
// front of the other dimensions or behind them.
Array block(const Array& rows, int64_t first, const Array& of, bool in_front) {
  const Array own = lax::slice_in_dim(rows, first, first + of.size());
  Shape rest(rows.shape().begin() + 1, rows.shape().end());
  Shape shape = of.shape();
  if (in_front) {
    shape.insert(shape.end(), rest.begin(), rest.end());
    return lax::reshape(own, shape);
  }
  rest.insert(rest.end(), shape.begin(), shape.end());
  return lax::reshape(lax::move_dim(own, 0, rows.ndim() - 1), rest);
}

void expect_results(const char* op, std::span<const Array> results) {
  for (const Array& y : results)
    if (!is_inexact(y.dtype()))
      type_error(op,
                 "expected results that are float or complex arrays, got {}; convert it, or return "
                 "it from another function",
                 describe(y.type()));
}

std::vector<Array> forward(const FlatFn& body, std::span<const Array> leaves,
                           const std::vector<Array>& x, const std::vector<bool>& wrt,
                           const std::vector<std::string>& paths) {
  const FlatFn of_differentiated = [&](const std::vector<Array>& inputs) {
    std::vector<Array> all(leaves.begin(), leaves.end());
    for (size_t i = 0, next = 0; i < all.size(); ++i)
      if (wrt[i]) all[i] = inputs[next++];
    std::vector<Array> results = body(all);
    expect_results("jacfwd", results);
    return results;
  };
  std::vector<std::string> names;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (wrt[i]) names.push_back(paths[i]);
  const std::vector<Array> rows = for_each_unit(
      [&](const std::vector<Array>& unit) {
        return jvp_flat(of_differentiated, x, unit, names).tangents;
      },
      x);
  std::vector<Array> out;
  for (const Array& y : rows) {
    int64_t first = 0;
    for (const Array& each : x) {
      out.push_back(block(y, first, each, false));
      first += each.size();
    }
  }
  return out;
}

std::vector<Array> reverse(const FlatFn& body, std::span<const Array> leaves,
                           const std::vector<bool>& wrt, const std::vector<std::string>& paths) {
  const Linearization at = linearize_flat("jacrev", body, leaves, wrt, paths);
  expect_results("jacrev", at.results);
  const FlatFn pull = [&](const std::vector<Array>& unit) {
    std::vector<Array> cts;
    for (size_t r = 0; r < unit.size(); ++r)
      cts.push_back(control::cast_varying(unit[r], at.result_types[r].varying));
    return at.pull(cts);
  };
  const std::vector<Array> rows = for_each_unit(pull, at.results);
  std::vector<Array> out;
  int64_t first = 0;
  for (const Array& y : at.results) {
    for (const Array& of_x : rows) out.push_back(block(of_x, first, y, true));
    first += y.size();
  }
  return out;
}

std::vector<Array> jacobian_flat(JacobianMode mode, const FlatFn& body,
                                 std::span<const Array> leaves, const std::vector<bool>& wrt,
                                 const std::vector<std::string>& paths) {
  std::vector<Array> x;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!wrt[i]) continue;
    if (!is_inexact(leaves[i].dtype()))
      type_error(mode == JacobianMode::kForward ? "jacfwd" : "jacrev",
                 "expected a float or complex array to differentiate by, got {} at {}; convert it, "
                 "or leave it out of the differentiated arguments",
                 describe(leaves[i].type()), paths[i]);
    x.push_back(leaves[i]);
  }
  return mode == JacobianMode::kForward ? forward(body, leaves, x, wrt, paths)
                                        : reverse(body, leaves, wrt, paths);
}

}  // namespace

Jacobians jacobian_erased(JacobianMode mode, const ErasedCall& call,
                          const std::vector<size_t>& argnums, const std::vector<Array>& leaves) {
  const std::vector<tree::Outline> outlines = call.argument_outlines();
  const std::vector<bool> wrt = leaves_of_arguments(outlines, argnums);
  const std::vector<std::string> paths = argument_paths(outlines);
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    ErasedResult result;
    const FlatFn body = [&](const std::vector<Array>& inputs) {
      result = call(inputs);
      return result.leaves;
    };
    std::vector<Array> blocks = jacobian_flat(mode, body, x, wrt, paths);
    result.leaves = std::move(blocks);
    return result;
  };
  const char* op = mode == JacobianMode::kForward ? "jacfwd" : "jacrev";
  ErasedResult out = run_under_trace(op, traced, leaves);
  return {std::move(out.tree), std::move(out.leaves),
          static_cast<size_t>(std::count(wrt.begin(), wrt.end(), true))};
}

}  // namespace tessera::internal
