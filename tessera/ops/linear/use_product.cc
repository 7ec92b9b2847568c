#include "tessera/ops/linear/use_product.h"

#include <algorithm>

#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

// In View::dims_: the dimension was made by a broadcast and is not the parameter's.
constexpr int64_t kBroadcast = -1;

// Returns x with other extents of its first two dimensions, batch and terms. The batch consists of
// dimensions with these extents; those that a broadcast `made` move to the terms.
Array batches_as_terms(const Array& x, const Shape& extents, const std::vector<bool>& made) {
  if (std::find(made.begin(), made.end(), true) == made.end()) return x;
  const int64_t rank = extents.rank();
  Shape split = extents, merged{1, x.shape()[1]};
  split.insert(split.end(), x.shape().begin() + 1, x.shape().end());
  merged.insert(merged.end(), x.shape().begin() + 2, x.shape().end());
  Dims order;
  for (bool last : {false, true})
    for (int64_t e = 0; e < rank; ++e)
      if (made[size_t(e)] == last) {
        order.push_back(e);
        merged[last ? 1 : 0] *= extents[e];
      }
  for (int64_t e = rank; e < split.rank(); ++e) order.push_back(e);
  return lax::reshape(lax::transpose(lax::reshape(x, split), order), merged);
}

// Follows the dimensions of the parameter through the ops of a use.
class View {
 public:
  explicit View(const Shape& shape) : shape_(shape), dims_(iota_dims(shape.rank())) {
    out_.start = Dims(shape.rank(), 0);
    out_.limit = Dims(shape.begin(), shape.end());
    out_.strides = Dims(shape.rank(), 1);
  }

  // Returns whether the op only moves, selects by a slice, converts or broadcasts the parameter,
  // and if so, applies it to the dimensions.
  bool take(const Op& op, const Type& result) {
    if (op.def == &convert_op) return is_floating(result.dtype);
    if (op.def == &transpose_op) {
      const Dims& permutation = op.params.as<TransposeParams>().permutation;
      Dims dims(permutation.size(), 0);
      for (int64_t d = 0; d < permutation.rank(); ++d) dims[d] = dims_[permutation[d]];
      dims_ = dims;
      fresh_ = false;
      return true;
    }
    if (op.def == &broadcast_in_dim_op) return take_broadcast(op.params.as<BroadcastParams>());
    if (op.def == &reshape_op) {
      if (std::find(dims_.begin(), dims_.end(), kBroadcast) != dims_.end()) return false;
      // From here on, dimensions are those of the reshaped value.
      Shape order;
      for (int64_t d : dims_) order.push_back(d);
      out_.views.push_back(order);
      out_.views.push_back(result.shape);
      shape_ = result.shape;
      dims_ = iota_dims(shape_.rank());
      fresh_ = false;
      return true;
    }
    if (op.def == &slice_op && fresh_) {
      const auto& p = op.params.as<SliceParams>();
      out_.start = p.start, out_.limit = p.limit, out_.strides = p.strides;
      shape_ = result.shape;
      fresh_ = false;
      return true;
    }
    return false;
  }

  // Returns the product with dimensions of the parameter; `shape` is the parameter's shape after
  // the ops. Batch dimensions that a broadcast made become terms. Rows and columns that a broadcast
  // made would have to be added up, and the rounding errors of these sums are not bounded by the
  // lengths of the other dimensions; so the result is nullopt unless their extents are 1.
  std::optional<UseProduct> end(OuterProduct product, const Shape& shape, const OpDef* op) {
    out_.shape = shape_;
    out_.is_dot =
        op == &dot_general_op && std::find(dims_.begin(), dims_.end(), kBroadcast) == dims_.end();
    out_.product = std::move(product);
    OuterProduct& p = out_.product;
    for (const Dims* dims : {&p.rows, &p.columns})
      for (int64_t d : *dims)
        if (dims_[d] == kBroadcast && shape[d] != 1) return std::nullopt;
    Shape extents;
    std::vector<bool> made;
    for (int64_t d : p.batch) {
      extents.push_back(shape[d]);
      made.push_back(dims_[d] == kBroadcast);
    }
    p.x = batches_as_terms(p.x, extents, made);
    p.y = batches_as_terms(p.y, extents, made);
    for (Dims* dims : {&p.batch, &p.rows, &p.columns}) *dims = of_parameter(*dims);
    return std::move(out_);
  }

 private:
  bool take_broadcast(const BroadcastParams& p) {
    Dims dims(p.shape.size(), kBroadcast);
    for (int64_t d = 0; d < p.dims.rank(); ++d) dims[p.dims[d]] = dims_[d];
    for (int64_t d = 0; d < dims.rank(); ++d)
      if (dims[d] != kBroadcast && p.shape[d] != shape_[dims[d]]) return false;
    dims_ = dims;
    fresh_ = false;
    return true;
  }
  Dims of_parameter(const Dims& dims) const {
    Dims out;
    for (int64_t d : dims)
      if (dims_[d] != kBroadcast) out.push_back(dims_[d]);
    return out;
  }

  Shape shape_;
  Dims dims_;  // for each dimension of the value: the dimension of shape_ that it is, or kBroadcast
  bool fresh_ = true;
  UseProduct out_;
};

// Computes the results of an op that does not depend on the parameter. Returns false if an operand
// has no value.
bool compute(const Op& op, std::vector<Array>& values) {
  std::vector<Array> x;
  for (ValueId v : op.operands) {
    if (!values[v].defined()) return false;
    x.push_back(values[v]);
  }
  std::vector<Array> results = bind_op(*op.def, op.params, x);
  for (size_t r = 0; r < results.size(); ++r) values[op.results[r]] = std::move(results[r]);
  return true;
}

// The operands of an op; operands without a value are linear.
struct Operands {
  std::vector<Array> arrays;
  std::vector<bool> linear;
};
Operands operands_of(const Function& f, const Op& op, const std::vector<Array>& values) {
  Operands out;
  for (ValueId v : op.operands) {
    out.linear.push_back(!values[v].defined());
    out.arrays.push_back(values[v].defined() ? values[v]
                                             : Array(std::make_shared<AbstractData>(f.type(v))));
  }
  return out;
}

// Returns whether an op only moves, selects or converts elements, so that its transpose does not
// sum elements.
bool moves(const Op& op) {
  return op.def == &convert_op || op.def == &transpose_op || op.def == &reshape_op ||
         op.def == &select_op;
}

// Returns the cotangent of the result of op `at` if only ops of moves() lead from it to the
// function's result; otherwise nullopt.
std::optional<Array> cotangent_of(const Function& f, size_t at, Array ct,
                                  std::vector<Array> values) {
  for (size_t i = at + 1; i < f.ops.size(); ++i) compute(f.ops[i], values);
  ValueId v = f.outputs[0];
  for (size_t i = f.ops.size(); i-- > at + 1;) {
    const Op& op = f.ops[i];
    if (op.results[0] != v) continue;
    const Operands x = operands_of(f, op, values);
    const auto mine = std::find(x.linear.begin(), x.linear.end(), true);
    if (!moves(op) || std::count(mine, x.linear.end(), true) != 1) return std::nullopt;
    const size_t k = static_cast<size_t>(mine - x.linear.begin());
    ct = op.def->transpose(std::vector<Array>{ct}, x.arrays, x.linear, op.params)[k];
    v = op.operands[k];
  }
  if (v != f.ops[at].results[0]) return std::nullopt;
  return ct;
}

}  // namespace

std::optional<UseProduct> product_of(const Use& use) {
  const Function& f = use.apply;
  if (use.inputs.size() != 1 || f.outputs.size() != 1) return std::nullopt;
  ValueId at = f.inputs[0];
  View view(f.type(at).shape);
  std::vector<Array> values(f.types.size());
  for (size_t i = 0; i < use.operands.size(); ++i) values[f.inputs[i + 1]] = use.operands[i];
  for (size_t i = 0; i < f.ops.size(); ++i) {
    const Op& op = f.ops[i];
    if (std::find(op.operands.begin(), op.operands.end(), at) == op.operands.end()) {
      if (!compute(op, values)) return std::nullopt;  // it reads the parameter by another path
      continue;
    }
    if (op.results.size() != 1) return std::nullopt;
    if (op.operands.size() == 1 && view.take(op, f.type(op.results[0]))) {
      at = op.results[0];
      continue;
    }
    const Operands x = operands_of(f, op, values);
    const UseRule* rule = find_use_rule(*op.def);
    if (!rule || !rule->outer_product || std::count(x.linear.begin(), x.linear.end(), true) != 1)
      return std::nullopt;
    const std::optional<Array> ct = cotangent_of(f, i, use.cotangents[0], values);
    if (!ct) return std::nullopt;
    std::optional<OuterProduct> product = rule->outer_product(*ct, x.arrays, x.linear, op.params);
    if (!product) return std::nullopt;
    return view.end(std::move(*product), f.type(at).shape, op.def);
  }
  return std::nullopt;
}

Overlap overlap(const UseProduct& a, const UseProduct& b) {
  if (a.start == b.start && a.limit == b.limit && a.strides == b.strides) return Overlap::kSame;
  for (int64_t d = 0; d < a.start.rank(); ++d)
    if (a.limit[d] <= b.start[d] || b.limit[d] <= a.start[d]) return Overlap::kNone;
  return Overlap::kPart;
}

}  // namespace tessera::ops
