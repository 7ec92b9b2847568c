#include "tessera/ops/indexing/indexed_windows.h"

#include <algorithm>
#include <limits>

#include "tessera/base/contains.h"
#include "tessera/base/error.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/format.h"

namespace tessera::ops {
namespace {

int position(const Dims& dims, int64_t d) {
  const auto it = std::find(dims.begin(), dims.end(), d);
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

Dims concat_dims(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
bool is_unique(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return std::adjacent_find(dims.begin(), dims.end()) == dims.end();
}
bool in_range(const Dims& dims, int64_t rank) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d >= 0 && d < rank; });
}
bool is_sorted(const Dims& dims) { return std::is_sorted(dims.begin(), dims.end()); }

// Returns the start as int64. An unsigned start beyond int64 becomes the largest int64, which is
// outside of every array too.
template <class T>
int64_t start_value(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
    return static_cast<int64_t>(
        std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  } else {
    return static_cast<int64_t>(value);
  }
}

}  // namespace

IndexedWindows::IndexedWindows(const IndexDims& numbers, int64_t vector_dim, const Shape& x,
                               const Shape& index_shape, const Shape& windows_shape,
                               const Shape& sizes)
    : operand(x), indices(index_shape), windows(windows_shape), index_vector_dim(vector_dim) {
  for (int64_t d = 0; d < windows.rank(); ++d)
    if (!contains(numbers.offset_dims, d)) batch_dims.push_back(d);
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != index_vector_dim) index_dims.push_back(d);
  size_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    Dim dim{.component = position(numbers.start_index_map, d), .size = sizes[d]};
    if (const int k = position(numbers.operand_batching_dims, d); k >= 0) {
      const int at = position(index_dims, numbers.start_indices_batching_dims[k]);
      dim.batch = static_cast<int>(batch_dims[at]);
    } else if (!contains(numbers.collapsed_slice_dims, d)) {
      dim.window = static_cast<int>(numbers.offset_dims[next++]);
    }
    dims.push_back(dim);
  }
}

int64_t IndexedWindows::count() const {
  int64_t n = 1;
  for (int64_t d : index_dims) n *= indices[d];
  return n;
}

Dims IndexedWindows::largest_starts() const {
  Dims out(index_vector_dim < indices.rank() ? indices[index_vector_dim] : 1, 0);
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].component >= 0) out[dims[d].component] = operand[d] - dims[d].size;
  return out;
}

bool IndexedWindows::disjoint() const {
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim& d) { return d.component < 0 || d.size <= 1; });
}

Dims IndexedWindows::free_batch_dims() const {
  Dims out;
  for (int64_t b : batch_dims)
    if (std::none_of(dims.begin(), dims.end(), [&](const Dim& d) { return d.batch == b; }))
      out.push_back(b);
  return out;
}

void IndexedWindows::bases(DType dtype, const void* data, bool clamp, int64_t begin, int64_t end,
                           int64_t* out) const {
  const Dims operand_strides = row_major_strides(operand),
             index_strides = row_major_strides(indices);
  const bool vectors = index_vector_dim < indices.rank();
  const int64_t component_stride = vectors ? index_strides[index_vector_dim] : 0;
  struct Term {
    int64_t component, largest, stride;
  };
  boost::container::small_vector<Term, 4> terms;
  // For each dimension in index_dims: the stride of the operand dimension that it is paired with,
  // or 0.
  Dims walked(index_dims.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].component >= 0)
      terms.push_back(
          {dims[d].component * component_stride, operand[d] - dims[d].size, operand_strides[d]});
    if (dims[d].batch >= 0) walked[position(batch_dims, dims[d].batch)] = operand_strides[d];
  }
  // If a batching dimension has extent 0 there are no windows, so the index along it is always
  // inside.
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) {
      const T* starts = static_cast<const T*>(data);
      for (int64_t w = begin; w < end; ++w) {
        int64_t rest = w, at = 0, base = 0;
        for (size_t k = index_dims.size(); k-- > 0;) {
          const int64_t extent = indices[index_dims[k]], i = rest % extent;
          rest /= extent;
          at += i * index_strides[index_dims[k]];
          base += i * walked[k];
        }
        bool inside = true;
        for (const Term& term : terms) {
          int64_t start = start_value(starts[at + term.component]);
          if (clamp) start = std::clamp<int64_t>(start, 0, term.largest);
          inside = inside && start >= 0 && start <= term.largest;
          base += inside ? start * term.stride : 0;
        }
        out[w - begin] = inside ? base : -1;
      }
    } else {
      TESSERA_CHECK(false, "indices are integers");
    }
  });
}

std::vector<int64_t> IndexedWindows::window_offsets() const {
  const Dims strides = row_major_strides(windows);
  std::vector<int64_t> all{0};
  for (int64_t d : batch_dims) {
    std::vector<int64_t> next;
    next.reserve(all.size() * static_cast<size_t>(windows[d]));
    for (int64_t base : all)
      for (int64_t i = 0; i < windows[d]; ++i) next.push_back(base + i * strides[d]);
    all = std::move(next);
  }
  return all;
}

IndexedWindows::Runs IndexedWindows::runs() const {
  const Dims operand_strides = row_major_strides(operand),
             window_strides = row_major_strides(windows);
  struct Walk {
    int64_t size, in_operand, in_windows;
  };
  std::vector<Walk> walks;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].window >= 0)
      walks.push_back(
          {windows[dims[d].window], operand_strides[d], window_strides[dims[d].window]});
  Runs out{.in_operand = {0}, .in_windows = {0}};
  while (!walks.empty()) {
    const Walk& last = walks.back();
    if (last.size != 1 && (last.in_operand != out.run || last.in_windows != out.run)) break;
    out.run *= last.size;
    walks.pop_back();
  }
  for (const Walk& walk : walks) {
    Runs next{.run = out.run};
    for (size_t k = 0; k < out.in_operand.size(); ++k)
      for (int64_t i = 0; i < walk.size; ++i) {
        next.in_operand.push_back(out.in_operand[k] + i * walk.in_operand);
        next.in_windows.push_back(out.in_windows[k] + i * walk.in_windows);
      }
    out = std::move(next);
  }
  return out;
}

WindowFactors add_window_factors(const IndexedWindows& windows, WindowKinds kinds, Factors& out) {
  WindowFactors f{TensorFactors(windows.operand.size()), TensorFactors(windows.indices.size()),
                  TensorFactors(windows.windows.size())};
  const Dims free_dims = windows.free_batch_dims();
  for (size_t k = 0; k < windows.batch_dims.size(); ++k) {
    const int64_t batch = windows.batch_dims[k], index = windows.index_dims[k];
    const FactorKind kind = contains(free_dims, batch) ? kinds.free : FactorKind::kPass;
    f.indices[index] = f.windows[batch] = {out.add(windows.indices[index], kind)};
  }
  const auto replicated = [&](int64_t extent) {
    return DimFactors{out.add(extent, FactorKind::kNeedReplication)};
  };
  if (windows.index_vector_dim < windows.indices.rank())
    f.indices[windows.index_vector_dim] = replicated(windows.indices[windows.index_vector_dim]);
  for (size_t d = 0; d < windows.dims.size(); ++d) {
    const IndexedWindows::Dim& dim = windows.dims[d];
    const int64_t extent = windows.operand[d];
    if (dim.batch >= 0) {
      f.operand[d] = f.windows[dim.batch];
    } else if (dim.window >= 0 && dim.size == extent) {
      f.operand[d] = f.windows[dim.window] = {out.add(extent)};
    } else {
      const FactorKind kind = windows.is_indexed(static_cast<int64_t>(d))
                                  ? kinds.indexed
                                  : FactorKind::kNeedReplication;
      f.operand[d] = {out.add(extent, kind)};
      if (dim.window >= 0) f.windows[dim.window] = replicated(dim.size);
    }
  }
  return f;
}

void check_index_dims(const IndexedWindowsNames& n, const IndexDims& p, int64_t index_vector_dim,
                      const Type& operand, const Type& indices, int64_t windows_rank) {
  auto check = [&](bool holds, std::string_view what, const Dims& got, const char* constraint) {
    if (!holds) shape_error(n.op, "expected {}, got {} ({})", what, got, constraint);
  };
  if (!is_integer(indices.dtype) || is_narrow(indices.dtype))
    type_error(n.op, "expected integer start indices, got {}; convert them", describe(indices));
  if (index_vector_dim < 0 || index_vector_dim > indices.rank())
    shape_error(n.op, "expected index_vector_dim in [0, {}], got {} ({})", indices.rank(),
                index_vector_dim, n.vector_range);
  const int64_t entries =
      index_vector_dim < indices.rank() ? indices.shape[index_vector_dim] : int64_t{1};
  const int64_t covered =
      p.offset_dims.rank() + p.collapsed_slice_dims.rank() + p.operand_batching_dims.rank();
  if (covered != operand.rank())
    shape_error(n.op, "expected {} + {} + {} to be the {} dimensions of {}, got {}, {} and {} ({})",
                n.offset_dims, n.collapsed, n.operand_batching, operand.rank(), describe(operand),
                p.offset_dims, p.collapsed_slice_dims, p.operand_batching_dims, n.rank);
  if (p.start_index_map.rank() != entries)
    shape_error(n.op, "expected one entry of {} for each of the {} of an index vector, got {} ({})",
                n.map, entries, p.start_index_map, n.map_count);
  check(is_unique(p.offset_dims) && is_sorted(p.offset_dims),
        fmt::format("ascending {}", n.offset_dims), p.offset_dims, n.offset_unique);
  check(in_range(p.offset_dims, windows_rank),
        fmt::format("{} in [0, {})", n.offset_dims, windows_rank), p.offset_dims, n.offset_range);
  check(is_unique(concat_dims(p.collapsed_slice_dims, p.operand_batching_dims)),
        fmt::format("distinct {} and {}", n.collapsed, n.operand_batching),
        concat_dims(p.collapsed_slice_dims, p.operand_batching_dims), n.collapsed_unique);
  check(is_sorted(p.collapsed_slice_dims), fmt::format("ascending {}", n.collapsed),
        p.collapsed_slice_dims, n.collapsed_sorted);
  check(in_range(p.collapsed_slice_dims, operand.rank()),
        fmt::format("{} in [0, {})", n.collapsed, operand.rank()), p.collapsed_slice_dims,
        n.collapsed_range);
  check(is_sorted(p.operand_batching_dims), fmt::format("ascending {}", n.operand_batching),
        p.operand_batching_dims, n.batching_sorted);
  check(in_range(p.operand_batching_dims, operand.rank()),
        fmt::format("{} in [0, {})", n.operand_batching, operand.rank()), p.operand_batching_dims,
        n.batching_range);
  check(is_unique(p.start_indices_batching_dims), fmt::format("distinct {}", n.indices_batching),
        p.start_indices_batching_dims, n.indices_batching_unique);
  check(in_range(p.start_indices_batching_dims, indices.rank()),
        fmt::format("{} in [0, {})", n.indices_batching, indices.rank()),
        p.start_indices_batching_dims, n.indices_batching_range);
  check(!contains(p.start_indices_batching_dims, index_vector_dim),
        fmt::format("{} without index_vector_dim", n.indices_batching),
        p.start_indices_batching_dims, n.indices_batching_vector);
  check(p.operand_batching_dims.size() == p.start_indices_batching_dims.size(),
        fmt::format("as many {} as {}", n.indices_batching, n.operand_batching),
        p.start_indices_batching_dims, n.batching_count);
  for (size_t k = 0; k < p.operand_batching_dims.size(); ++k) {
    const int64_t a = operand.shape[p.operand_batching_dims[k]],
                  b = indices.shape[p.start_indices_batching_dims[k]];
    if (a != b)
      shape_error(n.op,
                  "expected batching dimensions of equal extents, got {} of {} and {} of {} "
                  "({})",
                  a, describe(operand), b, describe(indices), n.batching_extents);
  }
  check(is_unique(concat_dims(p.start_index_map, p.operand_batching_dims)),
        fmt::format("distinct {} and {}", n.map, n.operand_batching),
        concat_dims(p.start_index_map, p.operand_batching_dims), n.map_unique);
  check(in_range(p.start_index_map, operand.rank()),
        fmt::format("{} in [0, {})", n.map, operand.rank()), p.start_index_map, n.map_range);
}

}  // namespace tessera::ops
