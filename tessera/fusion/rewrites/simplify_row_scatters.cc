#include "tessera/fusion/rewrites/simplify_row_scatters.h"

#include <algorithm>
#include <limits>

#include "tessera/base/visit_dtype.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/row_lists.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::fusion {

using namespace ops;

namespace {

constexpr int64_t kFewElements = 1 << 14;  // such a scatter takes less time than to make lists
constexpr int64_t kNarrowRow = 4;          // narrower rows are stored faster than listed
constexpr int64_t kEntriesOfRow = 4;       // with fewer entries a row, lists are too short to pay
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

// Returns begin, begin + 1, ..., end - 1.
Dims range(int64_t begin, int64_t end) {
  Dims out;
  for (int64_t d = begin; d < end; ++d) out.push_back(d);
  return out;
}

// Returns whether windows are whole rows of an array of this rank, one for each index, and their
// dimensions are the last ones of `windows`, the array of all windows.
bool are_rows(const IndexDims& dims, int64_t rank, int64_t windows_rank) {
  return dims.offset_dims == range(windows_rank - rank + 1, windows_rank) &&
         dims.collapsed_slice_dims == Dims{0} && dims.start_index_map == Dims{0} &&
         dims.operand_batching_dims.empty();
}

// Returns whether both shapes are equal but for the first `skip` dimensions of each.
bool equal_tails(const Shape& a, int64_t skip_a, const Shape& b, int64_t skip_b) {
  return std::equal(a.begin() + skip_a, a.end(), b.begin() + skip_b, b.end());
}

// Where the updates of a scatter come from: select(masks[0], select(masks[1], ..., gather, fill),
// fill).
struct Gathered {
  ValueId rows = -1, starts = -1;  // of the gather
  std::vector<ValueId> masks;      // bool, of the batch dimensions of the updates
  std::optional<Literal> fill;     // a scalar
};

std::optional<Gathered> gathered_rows(const Function& f, const MakerOf& maker, ValueId updates,
                                      int64_t batch_rank, int64_t entries) {
  Gathered out;
  const Shape& shape = f.type(updates).shape;
  for (const Op* op = maker(updates); op; op = maker(updates)) {
    if (op->def == &gather_op) {
      const auto& p = op->params.as<GatherParams>();
      const Shape& rows = f.type(op->operands[0]).shape;
      if (!are_rows(p.numbers(), rows.rank(), shape.rank()) || rows[0] == 0 || rows[0] > kMost ||
          !equal_tails(rows, 1, shape, batch_rank))
        return std::nullopt;
      out.rows = op->operands[0];
      out.starts = op->operands[1];
      return out;
    }
    if (op->def != &select_op) return std::nullopt;
    const Op *mask = maker(op->operands[0]), *fill = maker(op->operands[2]);
    if (!mask || mask->def != &broadcast_in_dim_op || !fill || fill->def != &constant_op)
      return std::nullopt;
    const auto& value = fill->params.as<ConstantParams>();
    if (mask->params.as<BroadcastParams>().dims != range(0, batch_rank) ||
        f.type(mask->operands[0]).elements() != entries || !value.is_splat() ||
        (out.fill && *out.fill != value.value))
      return std::nullopt;
    out.masks.push_back(mask->operands[0]);
    out.fill = value.value;
    updates = op->operands[1];
  }
  return std::nullopt;
}

class RowScatter {
 public:
  RowScatter(const Function& f, const Op& scatter, const AppendOps& append)
      : f_(f), scatter_(scatter), append_(append) {}

  ValueId run(const Gathered& gathered) {
    const Type& x = f_.type(scatter_.operands[0]);
    const ValueId rows = gathered.rows;
    const Literal zero = convert_literal(Literal::scalar(0), x.dtype);
    const ValueId index = listed(scatter_.operands[1]);
    ValueId source = row_numbers(listed(gathered.starts), f_.type(rows).shape[0]);
    const ValueId none = number(int32, -1, f_.type(source).shape);
    for (const ValueId mask : gathered.masks)
      source = make(select_op, select_op.params, {listed(mask), source, none});
    const ValueIds lists = append_all(
        list_rows_op, ListRowsParams{f_.type(scatter_.operands[0]).shape[0]}, {index, source});
    const ValueId fill =
        make(constant_op, ConstantParams{gathered.fill.value_or(zero), Shape{}}, {});
    return make(fold_lists_op, FoldListsParams{scatter_.params.as<ScatterParams>().kind},
                {scatter_.operands[0], lists[0], lists[1], rows, fill});
  }

 private:
  ValueIds append_all(const OpDef& def, OpParams params, ValueIds operands) {
    return append_(Op{.def = &def,
                      .params = std::move(params),
                      .operands = std::move(operands),
                      .results = {},
                      .source = scatter_.source,
                      .reason = scatter_.reason});
  }
  ValueId make(const OpDef& def, OpParams params, ValueIds operands) {
    return append_all(def, std::move(params), std::move(operands))[0];
  }
  // Returns the elements in one dimension.
  ValueId listed(ValueId x) {
    const Shape shape{f_.type(x).elements()};
    return f_.type(x).shape == shape ? x : make(reshape_op, ReshapeParams{shape}, {x});
  }
  ValueId number(DType dtype, int64_t value, const Shape& shape) {
    return make(constant_op, ConstantParams{convert_literal(Literal::scalar(value), dtype), shape},
                {});
  }
  // Returns the starts of a gather, moved into [0, rows), as int32.
  ValueId row_numbers(ValueId starts, int64_t rows) {
    const DType dtype = f_.type(starts).dtype;
    const Shape shape = f_.type(starts).shape;
    const uint64_t most = visit_dtype(dtype, []<class T>(TypeTag<T>) -> uint64_t {
      if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
      return 0;
    });
    if (static_cast<uint64_t>(rows - 1) < most)
      starts = make(min_op, min_op.params, {starts, number(dtype, rows - 1, shape)});
    if (is_signed(dtype)) starts = make(max_op, max_op.params, {starts, number(dtype, 0, shape)});
    return dtype == int32 ? starts : make(convert_op, ConvertParams{int32}, {starts});
  }

  const Function& f_;
  const Op& scatter_;
  const AppendOps& append_;
};

}  // namespace

bool is_large_row_scatter(const Function& f, const Op& op) {
  if (op.def != &scatter_op) return false;
  const auto& p = op.params.as<ScatterParams>();
  if (p.kind == ScatterKind::kSet || p.kind == ScatterKind::kCustom) return false;
  const Type &x = f.type(op.operands[0]), &updates = f.type(op.operands[2]);
  if (updates.elements() < kFewElements || x.rank() == 0 || x.elements() == 0 ||
      !are_rows(p.numbers(), x.rank(), updates.rank()) ||
      !equal_tails(x.shape, 1, updates.shape, updates.rank() - x.rank() + 1))
    return false;
  const int64_t width = x.elements() / x.shape[0], entries = updates.elements() / width;
  if (width < kNarrowRow || entries > kMost || x.shape[0] > entries / kEntriesOfRow) return false;
  auto readers = std::count(f.outputs.begin(), f.outputs.end(), op.operands[2]);
  for (const Op& reader : f.ops)
    readers += std::count(reader.operands.begin(), reader.operands.end(), op.operands[2]);
  return readers == 1;
}

std::optional<ValueId> fold_gathered_rows(const Function& f, const MakerOf& maker,
                                          const Op& scatter, const AppendOps& append) {
  const Type &x = f.type(scatter.operands[0]), &updates = f.type(scatter.operands[2]);
  const std::optional<Gathered> gathered =
      gathered_rows(f, maker, scatter.operands[2], updates.rank() - x.rank() + 1,
                    f.type(scatter.operands[1]).elements());
  if (!gathered) return std::nullopt;
  return RowScatter(f, scatter, append).run(*gathered);
}

}  // namespace tessera::fusion
