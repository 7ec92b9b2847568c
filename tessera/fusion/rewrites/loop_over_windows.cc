#include "tessera/fusion/rewrites/loop_over_windows.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/pointwise_body.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/trace/trace.h"

namespace tessera::fusion {

using namespace ops;

namespace {

using Arrays = std::vector<Array>;

// Arrays of fewer bytes are computed whole instead of being updated (fusion/updates.cc).
constexpr int64_t kUpdatedBytes = 257;

// The loop for one scatter. A trip gets the arrays, then these slices: the coordinates of the
// window in the batch dimensions that are paired with a dimension of the operand, its start, and
// its part of each array of updates.
class WindowLoop {
 public:
  WindowLoop(const ScatterParams& p, const std::vector<Type>& types)
      : body_(*p.body),
        n_(scatter_arrays(types.size())),
        windows_(scatter_windows(p, types[0].shape, types[n_].shape, types[n_ + 1].shape)) {
    for (const IndexedWindows::Dim& dim : windows_.dims) sizes_.push_back(dim.size);
    for (int64_t d : windows_.batch_dims) batch_.push_back(windows_.windows[d]);
    const auto fits = [](int64_t extent) { return extent <= std::numeric_limits<int32_t>::max(); };
    if (types[n_].dtype == int32 &&
        std::all_of(windows_.operand.begin(), windows_.operand.end(), fits))
      dtype_ = int32;
  }

  Arrays run(const Arrays& x) const {
    Arrays operands;
    for (size_t k = 0; k < n_; ++k) operands.push_back(widened(x[k]));
    for (const IndexedWindows::Dim& dim : windows_.dims)
      if (dim.batch >= 0) operands.push_back(coordinates(dim.batch));
    operands.push_back(starts(x[n_]));  // [windows, 0] if no dimension has a start
    for (size_t k = n_ + 1; k < x.size(); ++k) operands.push_back(window_list(x[k]));
    ScanParams params{.length = windows_.count(), .num_carry = static_cast<int64_t>(n_)};
    std::vector<Type> types;
    for (const Array& operand : operands)
      types.push_back({.dtype = operand.dtype(), .shape = operand.shape()});
    for (size_t k = n_; k < types.size(); ++k) types[k].shape.erase(types[k].shape.begin());
    params.body = std::make_shared<const Function>(
        tracing::trace_function([&](const Arrays& in) { return trip(in); }, types).function);
    Arrays out = bind_op(scan_op, params, operands);
    const Dims first(windows_.operand.size(), 0);
    for (Array& array : out) array = lax::slice(array, first, windows_.operand);
    return out;
  }

 private:
  Arrays trip(const Arrays& in) const {
    Arrays at;
    Array inside;
    size_t next = n_;
    const size_t updates = in.size() - n_;
    const Array& start = in[updates - 1];
    for (size_t d = 0; d < windows_.dims.size(); ++d) {
      const IndexedWindows::Dim& dim = windows_.dims[d];
      if (dim.batch >= 0) {
        at.push_back(in[next++]);
      } else if (dim.component < 0) {
        at.push_back(number(0));
      } else {
        at.push_back(component(start, dim.component));
        const Array here =
            lax::bitwise_and(lax::ge(at.back(), number(0)),
                             lax::le(at.back(), number(windows_.operand[d] - dim.size)));
        inside = inside.defined() ? lax::bitwise_and(inside, here) : here;
      }
    }
    Arrays args;
    for (size_t k = 0; k < n_; ++k) args.push_back(lax::dynamic_slice(in[k], at, sizes_));
    args.insert(args.end(), in.begin() + static_cast<ptrdiff_t>(updates), in.end());
    Arrays out = apply_body(body_, args);
    for (size_t k = 0; k < n_; ++k) {
      if (inside.defined())
        out[k] = bind_op1(select_op, select_op.params, {inside, out[k], args[k]});
      out[k] = lax::dynamic_update_slice(in[k], out[k], at);
    }
    return out;
  }

  // Returns an array of few bytes with more rows after its own, which no window reaches. Otherwise
  // a trip would select each element of the array anew, instead of updating some of them in memory.
  Array widened(const Array& x) const {
    const Shape& shape = windows_.operand;
    const int64_t bytes = shape.elements() * itemsize(x.dtype());
    if (bytes >= kUpdatedBytes || sizes_ == shape) return x;
    Dims low(shape.size(), 0), high(shape.size(), 0);
    high[0] = shape[0] * ceil_div(kUpdatedBytes, bytes);
    return lax::pad(x, Array(Literal(x.dtype(), Shape{})), low, high);
  }

  Array number(int64_t value) const {
    return Array(convert_literal(Literal::scalar(value), dtype_));
  }

  static Array component(const Array& start, int64_t i) {
    return start.ndim() == 0 ? start : lax::reshape(lax::slice_in_dim(start, i, i + 1), Shape{});
  }

  // Returns the coordinate of every window in a batch dimension of the updates.
  Array coordinates(int64_t dim) const {
    const auto at = std::find(windows_.batch_dims.begin(), windows_.batch_dims.end(), dim);
    const Array all = lax::iota(dtype_, batch_, at - windows_.batch_dims.begin());
    return lax::reshape(all, Shape{windows_.count()});
  }

  // Returns the start of every window: [windows, entries of an index vector].
  Array starts(const Array& indices) const {
    Dims order = windows_.index_dims;
    Shape shape{windows_.count()};
    if (windows_.index_vector_dim < indices.ndim()) {
      order.push_back(windows_.index_vector_dim);
      shape.push_back(windows_.indices[windows_.index_vector_dim]);
    }
    return lax::reshape(lax::transpose(lax::convert_element_type(indices, dtype_), order), shape);
  }

  // Returns the windows of an array of updates: [windows, extents of a window in the operand].
  Array window_list(const Array& updates) const {
    Dims order = windows_.batch_dims;
    for (const IndexedWindows::Dim& dim : windows_.dims)
      if (dim.window >= 0) order.push_back(dim.window);
    Shape shape{windows_.count()};
    shape.insert(shape.end(), sizes_.begin(), sizes_.end());
    return lax::reshape(lax::transpose(updates, order), shape);
  }

  const Function& body_;
  size_t n_;
  IndexedWindows windows_;
  Shape sizes_, batch_;
  // A start of uint64 that int64 does not have becomes negative, so its window stays outside.
  DType dtype_ = int64;
};

bool becomes_loop(const Function& f, const Op& op) {
  if (op.def != &scatter_op || op.params.as<ScatterParams>().kind != ScatterKind::kCustom)
    return false;
  const auto is_plain = [&](ValueId v) {
    const Type& type = f.type(v);
    return type.varying.empty() && !is_narrow(type.dtype);
  };
  return f.type(op.operands.back()).elements() > 0 &&
         std::all_of(op.operands.begin(), op.operands.end(), is_plain);
}

}  // namespace

Function loop_over_windows(const Function& function) {
  return rewritten(function, [&](Function& out, const ValueIds& inputs) {
    return append_ops(function, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
      if (!becomes_loop(function, op))
        return out.add_op(
            copy_of(op, map_control_regions(op, loop_over_windows), std::move(operands)),
            function.types_of(op.results));
      std::vector<Type> types;
      for (ValueId v : op.operands)
        types.push_back({.dtype = function.type(v).dtype, .shape = function.type(v).shape});
      const WindowLoop loop(op.params.as<ScatterParams>(), types);
      const Function ops =
          tracing::trace_function([&](const Arrays& x) { return loop.run(x); }, types).function;
      return append_ops(ops, operands, [&](const Op& made, ValueIds of) -> ValueIds {
        return out.add_op(*made.def, made.params, std::move(of), ops.types_of(made.results),
                          op.source);
      });
    });
  });
}

}  // namespace tessera::fusion
