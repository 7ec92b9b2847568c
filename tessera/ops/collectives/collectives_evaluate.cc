// The naive evaluation of the collectives, on all devices at once.
#include <algorithm>
#include <cstring>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/collectives/collectives_rules.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/reduce_internal.h"

namespace tessera::ops {
namespace {

using DeviceLiterals = std::vector<Literal>;

// A row-major array of shape [outer, dim, inner], seen as `count` = outer runs of bytes. Splitting
// and concatenating along dim move whole runs.
struct Runs {
  int64_t count, bytes;
};
Runs runs(const Literal& x, int64_t dim) {
  Runs r{1, itemsize(x.dtype())};
  for (int64_t d = 0; d < x.shape().rank(); ++d) (d < dim ? r.count : r.bytes) *= x.shape()[d];
  return r;
}

// Returns `parts`, which have one shape, concatenated along dim.
Literal concatenate(const std::vector<const Literal*>& parts, int64_t dim) {
  Shape shape = parts[0]->shape();
  const int64_t n = static_cast<int64_t>(parts.size());
  shape[dim] *= n;
  Literal out(parts[0]->dtype(), shape);
  const Runs r = runs(*parts[0], dim);
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < r.count; ++i)
    for (int64_t j = 0; j < n; ++j)
      std::memcpy(to + (i * n + j) * r.bytes, parts[j]->raw() + i * r.bytes,
                  static_cast<size_t>(r.bytes));
  return out;
}

// Returns the j-th of n equal parts along dim.
Literal part(const Literal& x, int64_t dim, int64_t n, int64_t j) {
  Shape shape = x.shape();
  shape[dim] /= n;
  Literal out(x.dtype(), shape);
  const Runs r = runs(out, dim);
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < r.count; ++i)
    std::memcpy(to + i * r.bytes, x.raw() + (i * n + j) * r.bytes, static_cast<size_t>(r.bytes));
  return out;
}

std::vector<const Literal*> pick(const DeviceLiterals& x, const std::vector<int64_t>& group) {
  std::vector<const Literal*> out;
  for (int64_t device : group) out.push_back(&x[device]);
  return out;
}

// Returns the value with which a reduction starts. For sums of floats it is -0, because +0 would
// turn a sum of negative zeros into +0.
Literal neutral_element(ReduceKind kind, DType dtype) {
  if (kind != ReduceKind::kSum || !is_inexact(dtype)) return reduce_identity(kind, dtype);
  return convert_literal(
      is_complex(dtype) ? Literal::scalar(std::complex<double>(-0., -0.)) : Literal::scalar(-0.),
      dtype);
}

Literal reduce_group(const DeviceLiterals& x, const std::vector<int64_t>& group, ReduceKind kind) {
  Shape stacked = x[0].shape();
  stacked.insert(stacked.begin(), 1);
  std::vector<Literal> rows;
  for (int64_t device : group) rows.push_back(x[device].reshaped(stacked));
  std::vector<const Literal*> parts;
  for (const Literal& row : rows) parts.push_back(&row);
  return fold(kind, concatenate(parts, 0), neutral_element(kind, x[0].dtype()), {0});
}

int64_t integer_at(const Literal& x, int64_t i) {
  return visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(x.data<T>()[i]);
    TESSERA_CHECK(false, "offsets of {}", dtype_name(x.dtype()));
    return 0;
  });
}

}  // namespace

Evaluated evaluate_all_reduce(const Evaluated& x, const AllReduceParams& p, const Mesh& mesh) {
  Evaluated out(x.size(), DeviceLiterals(mesh.size()));
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    if (group.empty()) continue;
    for (size_t k = 0; k < x.size(); ++k) {
      const Literal sum = reduce_group(x[k], group, p.kind);
      for (int64_t device : group) out[k][device] = sum;
    }
  }
  return out;
}

Evaluated evaluate_all_gather(const Evaluated& x, const AllGatherParams& p, const Mesh& mesh) {
  Evaluated out(x.size(), DeviceLiterals(mesh.size()));
  for (const auto& group : device_groups(mesh, p.axes, p.groups))
    for (size_t k = 0; k < x.size(); ++k) {
      const Literal all = concatenate(pick(x[k], group), p.dim);
      for (int64_t device : group) out[k][device] = all;
    }
  return out;
}

Evaluated evaluate_reduce_scatter(const Evaluated& x, const ReduceScatterParams& p,
                                  const Mesh& mesh) {
  Evaluated out(x.size(), DeviceLiterals(mesh.size()));
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    const int64_t n = static_cast<int64_t>(group.size());
    for (size_t k = 0; k < x.size(); ++k) {
      const Literal sum = reduce_group(x[k], group, p.kind);
      for (int64_t j = 0; j < n; ++j) out[k][group[j]] = part(sum, p.dim, n, j);
    }
  }
  return out;
}

Evaluated evaluate_all_to_all(const Evaluated& x, const AllToAllParams& p, const Mesh& mesh) {
  Evaluated out(x.size(), DeviceLiterals(mesh.size()));
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    const int64_t n = static_cast<int64_t>(group.size());
    for (size_t k = 0; k < x.size(); ++k)
      for (int64_t j = 0; j < n; ++j) {
        std::vector<Literal> received;
        for (int64_t source : group) received.push_back(part(x[k][source], p.split_dim, n, j));
        std::vector<const Literal*> parts;
        for (const Literal& piece : received) parts.push_back(&piece);
        out[k][group[j]] = concatenate(parts, p.concat_dim);
      }
  }
  return out;
}

Evaluated evaluate_permute(const Evaluated& x, const CollectivePermuteParams& p, const Mesh& mesh) {
  Evaluated out;
  for (const DeviceLiterals& one : x)
    out.emplace_back(mesh.size(), Literal(one[0].dtype(), one[0].shape()));
  for (const auto& group : device_groups(mesh, p.axes, {}))
    for (const Dims& pair : p.pairs)
      for (size_t k = 0; k < x.size(); ++k) out[k][group[pair[1]]] = x[k][group[pair[0]]];
  return out;
}

Evaluated evaluate_broadcast(const Evaluated& x, const CollectiveBroadcastParams& p,
                             const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, p.groups))
    for (int64_t device : group) out[0][device] = x[0][group[p.root]];
  return out;
}

Evaluated evaluate_ragged(const Evaluated& x, const RaggedAllToAllParams& p, const Mesh& mesh) {
  Evaluated out{x[1]};
  for (const auto& group : device_groups(mesh, p.axes, p.groups)) {
    for (size_t i = 0; i < group.size(); ++i) {
      const int64_t source = group[i];
      const int64_t row =
          runs(x[0][source], 0).bytes / std::max<int64_t>(x[0][source].shape()[0], 1);
      for (size_t j = 0; j < group.size(); ++j) {
        const int64_t target = group[j];
        const int64_t from = integer_at(x[2][source], j), count = integer_at(x[3][source], j),
                      to = integer_at(x[4][source], j);
        if (from < 0 || count < 0 || to < 0 || from + count > x[0][source].shape()[0] ||
            to + count > out[0][target].shape()[0])
          value_error("ragged_all_to_all",
                      "expected offsets and sizes within {} rows sent and {} received, got {} rows "
                      "from {} to {}",
                      x[0][source].shape()[0], out[0][target].shape()[0], count, from, to);
        if (count > 0)
          std::memcpy(out[0][target].mutable_raw() + to * row, x[0][source].raw() + from * row,
                      static_cast<size_t>(count * row));
      }
    }
  }
  return out;
}

Evaluated evaluate_axis_index(const Evaluated&, const AxisIndexParams& p, const Mesh& mesh) {
  Evaluated out{DeviceLiterals(mesh.size())};
  for (const auto& group : device_groups(mesh, p.axes, {}))
    for (size_t rank = 0; rank < group.size(); ++rank)
      out[0][group[rank]] = Literal::scalar(static_cast<int32_t>(rank));
  return out;
}

Evaluated evaluate_pcast(const Evaluated& x, const PcastParams&, const Mesh&) { return {x[0]}; }

}  // namespace tessera::ops
