#include "tessera/ops/linear/use_product.h"

#include "tessera/ops/core/convert.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

// The dimensions of the parameter, as the ops of a use rename them.
class View {
 public:
  explicit View(const Shape& shape) : shape_(shape), dims_(iota_dims(shape.rank())) {
    out_.start = Dims(shape.rank(), 0);
    out_.limit = Dims(shape.begin(), shape.end());
    out_.strides = Dims(shape.rank(), 1);
  }

  // Whether the op is such a renaming.
  bool take(const Op& op, const Type& result) {
    if (op.def == &convert_op) return is_floating(result.dtype);
    if (op.def == &transpose_op) {
      const Dims& permutation = op.params.as<TransposeParams>().permutation;
      Dims dims(permutation.size());
      for (int64_t d = 0; d < permutation.rank(); ++d) dims[d] = dims_[permutation[d]];
      dims_ = dims;
      fresh_ = false;
      return true;
    }
    if (op.def == &reshape_op) {
      // From here on the dimensions are those of what was transposed so far, reshaped.
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

  UseProduct end(OuterProduct product) {
    out_.shape = shape_;
    out_.product = std::move(product);
    for (Dims* dims : {&out_.product.batch, &out_.product.rows, &out_.product.columns})
      for (int64_t& d : *dims) d = dims_[d];
    return std::move(out_);
  }

 private:
  Shape shape_;
  Dims dims_;  // of the value: which of shape_ they are
  bool fresh_ = true;
  UseProduct out_;
};

}  // namespace

std::optional<UseProduct> product_of(const Use& use) {
  const Function& f = use.apply;
  if (use.inputs.size() != 1 || f.outputs.size() != 1) return std::nullopt;
  ValueId at = f.inputs[0];
  View view(f.type(at).shape);
  std::vector<Array> values(f.types.size());
  for (size_t i = 0; i < use.operands.size(); ++i) values[f.inputs[i + 1]] = use.operands[i];
  for (const Op& op : f.ops) {
    if (op.results.size() != 1) return std::nullopt;
    const Type& result = f.type(op.results[0]);
    std::vector<bool> linear;
    for (ValueId v : op.operands) linear.push_back(v == at);
    if (op.operands.empty()) {
      values[op.results[0]] = bind_op1(*op.def, op.params, {});
    } else if (op.operands.size() == 1 && op.operands[0] == at && view.take(op, result)) {
      at = op.results[0];
    } else if (op.results[0] == f.outputs[0] && op.def->outer_product) {
      std::vector<Array> x;
      for (ValueId v : op.operands)
        x.push_back(v == at ? Array(std::make_shared<AbstractData>(f.type(v))) : values[v]);
      for (size_t k = 0; k < x.size(); ++k)
        if (!x[k].defined()) return std::nullopt;
      std::optional<OuterProduct> product =
          op.def->outer_product(use.cotangents[0], x, linear, op.params);
      if (!product) return std::nullopt;
      return view.end(std::move(*product));
    } else {
      return std::nullopt;
    }
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
