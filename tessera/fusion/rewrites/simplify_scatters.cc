#include "tessera/fusion/rewrites/simplify_scatters.h"

#include <limits>

#include "tessera/base/visit_dtype.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion {

using namespace ops;

namespace {

// Returns the op that combines; null for kSet, whose result is the update.
const OpDef* combiner(ScatterKind kind) {
  switch (kind) {
    case ScatterKind::kAdd:
      return &add_op;
    case ScatterKind::kMul:
      return &mul_op;
    case ScatterKind::kMin:
      return &min_op;
    case ScatterKind::kMax:
      return &max_op;
    case ScatterKind::kSet:
      return nullptr;
    case ScatterKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a custom update has a body");
  return nullptr;
}

class OneWindow {
 public:
  OneWindow(const Function& f, const Op& scatter, const AppendOp& append)
      : f_(f), scatter_(scatter), append_(append), p_(scatter.params.as<ScatterParams>()) {}

  ValueId run() {
    const ValueId x = scatter_.operands[0], indices = scatter_.operands[1],
                  updates = scatter_.operands[2];
    const IndexedWindows windows =
        scatter_windows(p_, f_.type(x).shape, f_.type(indices).shape, f_.type(updates).shape);
    dtype_ = f_.type(indices).dtype;
    Shape sizes;
    for (const IndexedWindows::Dim& dim : windows.dims) sizes.push_back(dim.size);
    const int64_t entries = windows.indices.elements();
    const ValueId all = reshaped(indices, {entries});
    ValueIds starts;
    ValueId inside = -1;
    for (size_t d = 0; d < windows.dims.size(); ++d) {
      const int component = windows.dims[d].component;
      if (component < 0) {
        starts.push_back(number(0));
        continue;
      }
      const ValueId start = entry(all, component, entries);
      starts.push_back(start);
      both(inside, is_inside(start, windows.operand[d] - sizes[d]));
    }
    const ValueId update = reshaped(updates, sizes);
    ValueIds at = starts;
    at.insert(at.begin(), x);
    const ValueId old = make(dynamic_slice_op, DynamicSliceParams{sizes}, at);
    const OpDef* fold = combiner(p_.kind);
    ValueId part = fold ? make(*fold, fold->params, {old, update}) : update;
    if (inside >= 0) part = make(select_op, select_op.params, {inside, part, old});
    at.insert(at.begin() + 1, part);
    return make(dynamic_update_slice_op, dynamic_update_slice_op.params, at);
  }

 private:
  ValueId make(const OpDef& def, OpParams params, ValueIds operands) {
    return append_(Op{.def = &def,
                      .params = std::move(params),
                      .operands = std::move(operands),
                      .results = {},
                      .source = scatter_.source,
                      .reason = scatter_.reason});
  }
  ValueId reshaped(ValueId x, const Shape& shape) {
    return f_.type(x).shape == shape ? x : make(reshape_op, ReshapeParams{shape}, {x});
  }
  ValueId number(int64_t value) {
    Literal literal(dtype_, Shape{});
    visit_dtype(dtype_, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T>) literal.mutable_data<T>()[0] = static_cast<T>(value);
    });
    return make(constant_op, ConstantParams{literal, Shape{}}, {});
  }
  ValueId entry(ValueId all, int64_t i, int64_t entries) {
    const ValueId one = entries == 1 ? all : make(slice_op, SliceParams{{i}, {i + 1}, {1}}, {all});
    return reshaped(one, Shape{});
  }
  void both(ValueId& condition, ValueId other) {
    if (other < 0) return;
    condition =
        condition < 0 ? other : make(bitwise_and_op, bitwise_and_op.params, {condition, other});
  }
  ValueId compare(ValueId x, int64_t value, Comparison direction) {
    return make(compare_op, CompareParams{direction, default_compare_type(dtype_)},
                {x, number(value)});
  }
  // Returns whether the start is in [0, largest]; -1 if every value of the dtype is.
  ValueId is_inside(ValueId start, int64_t largest) {
    const uint64_t most = visit_dtype(dtype_, []<class T>(TypeTag<T>) -> uint64_t {
      if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
      return 0;
    });
    ValueId out = -1;
    if (is_signed(dtype_)) both(out, compare(start, 0, Comparison::kGe));
    if (static_cast<uint64_t>(largest) < most) both(out, compare(start, largest, Comparison::kLe));
    return out;
  }

  const Function& f_;
  const Op& scatter_;
  const AppendOp& append_;
  const ScatterParams& p_;
  DType dtype_{};
};

}  // namespace

bool is_scatter_of_one_window(const Function& f, const Op& op) {
  if (op.def != &scatter_op || op.params.as<ScatterParams>().kind == ScatterKind::kCustom)
    return false;
  const Type &x = f.type(op.operands[0]), &indices = f.type(op.operands[1]),
             &updates = f.type(op.operands[2]);
  if (x.elements() == 0 || updates.elements() == 0) return false;
  return scatter_windows(op.params.as<ScatterParams>(), x.shape, indices.shape, updates.shape)
             .count() == 1;
}

ValueId update_one_window(const Function& f, const Op& scatter, const AppendOp& append) {
  return OneWindow(f, scatter, append).run();
}

}  // namespace tessera::fusion
