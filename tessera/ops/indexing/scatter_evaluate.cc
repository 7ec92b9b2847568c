#include "tessera/ops/indexing/scatter_evaluate.h"

#include "tessera/base/contains.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/fold_element.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {
namespace {

Dims position_of(int64_t linear, const Shape& shape) {
  Dims out(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = linear % shape[d];
    linear /= shape[d];
  }
  return out;
}

int64_t linear_of(const Dims& position, const Shape& shape) {
  int64_t out = 0;
  for (size_t d = 0; d < shape.size(); ++d) out = out * shape[d] + position[d];
  return out;
}

// Returns entry `component` of the index vector of the window at `position` in the updates. In a
// double, a start of 2^53 or more may be rounded, but stays outside of every array.
double start_of(const IndexedWindows& windows, const Literal& indices, const Dims& position,
                int component) {
  Dims at(windows.indices.size(), 0);
  for (size_t k = 0; k < windows.index_dims.size(); ++k)
    at[windows.index_dims[k]] = position[windows.batch_dims[k]];
  if (windows.index_vector_dim < windows.indices.rank()) at[windows.index_vector_dim] = component;
  return visit_dtype(indices.dtype(), [&]<class T>(TypeTag<T>) -> double {
    if constexpr (is_complex_type<T> || is_half_type<T>) {
      TESSERA_CHECK(false, "indices are integers");
      return 0;
    } else {
      return static_cast<double>(indices.data<T>()[linear_of(at, windows.indices)]);
    }
  });
}

// Returns the offset in the operand of the element at `position` in the updates; -1 if its window
// is not inside.
int64_t target_of(const IndexedWindows& windows, const Literal& indices, const Dims& position) {
  Dims target(windows.operand.size(), 0);
  for (size_t d = 0; d < windows.dims.size(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    const double start =
        dim.component < 0 ? 0.0 : start_of(windows, indices, position, dim.component);
    if (start < 0 || start > static_cast<double>(windows.operand[d] - dim.size)) return -1;
    target[d] = static_cast<int64_t>(start);
    if (dim.window >= 0) target[d] += position[dim.window];
    if (dim.batch >= 0) target[d] = position[dim.batch];
  }
  return linear_of(target, windows.operand);
}

template <ReduceKind kind>
void fold(Literal& out, int64_t target, const Literal& updates, int64_t from) {
  visit_dtype(out.dtype(), [&]<class T>(TypeTag<T>) {
    T& x = out.mutable_data<T>()[target];
    x = fold_element<kind, T>(x, updates.data<T>()[from]);
  });
}

Literal element_of(const Literal& x, int64_t i) {
  Literal out(x.dtype(), Shape{});
  const int64_t item = itemsize(x.dtype());
  std::copy_n(x.raw() + i * item, item, out.mutable_raw());
  return out;
}

void set_element(Literal& out, int64_t i, const Literal& value) {
  const int64_t item = itemsize(out.dtype());
  std::copy_n(value.raw(), item, out.mutable_raw() + i * item);
}

void fold_by_body(const Function& body, std::vector<Literal>& out, int64_t target,
                  std::span<const Literal> updates, int64_t from) {
  std::vector<Literal> args;
  for (const Literal& array : out) args.push_back(element_of(array, target));
  for (const Literal& update : updates) args.push_back(element_of(update, from));
  const std::vector<Literal> values = evaluate_function(body, args);
  for (size_t k = 0; k < out.size(); ++k) set_element(out[k], target, values[k]);
}

void fold(ScatterKind kind, Literal& out, int64_t target, const Literal& updates, int64_t from) {
  switch (kind) {
    case ScatterKind::kAdd:
      return fold<ReduceKind::kSum>(out, target, updates, from);
    case ScatterKind::kMul:
      return fold<ReduceKind::kProduct>(out, target, updates, from);
    case ScatterKind::kMin:
      return fold<ReduceKind::kMin>(out, target, updates, from);
    case ScatterKind::kMax:
      return fold<ReduceKind::kMax>(out, target, updates, from);
    case ScatterKind::kSet:
      return set_element(out, target, element_of(updates, from));
    case ScatterKind::kCustom:
      TESSERA_CHECK(false, "a custom update has a body");
  }
}

}  // namespace

std::vector<Literal> evaluate_scatter(std::span<const Literal> x, const ScatterParams& p) {
  const size_t n = scatter_arrays(x.size());
  const Literal &indices = x[n], &updates = x[n + 1];
  const IndexedWindows windows = scatter_windows(p, x[0].shape(), indices.shape(), updates.shape());
  Shape batch, window;
  for (int64_t d = 0; d < updates.shape().rank(); ++d)
    (contains(windows.batch_dims, d) ? batch : window).push_back(updates.shape()[d]);
  std::vector<Literal> out(x.begin(), x.begin() + static_cast<ptrdiff_t>(n));
  for (int64_t w = 0; w < batch.elements(); ++w) {
    const Dims batch_at = position_of(w, batch);
    for (int64_t e = 0; e < window.elements(); ++e) {
      const Dims window_at = position_of(e, window);
      Dims position;
      size_t next_batch = 0, next_window = 0;
      for (int64_t d = 0; d < updates.shape().rank(); ++d)
        position.push_back(contains(windows.batch_dims, d) ? batch_at[next_batch++]
                                                           : window_at[next_window++]);
      const int64_t target = target_of(windows, indices, position),
                    from = linear_of(position, updates.shape());
      if (target < 0) continue;
      if (p.kind == ScatterKind::kCustom) {
        fold_by_body(*p.body, out, target, x.subspan(n + 1), from);
      } else {
        fold(p.kind, out[0], target, updates, from);
      }
    }
  }
  return out;
}

}  // namespace tessera::ops
