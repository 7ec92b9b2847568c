#include "tessera/ops/linear/unroll_dot.h"

#include <algorithm>
#include <optional>

#include "tessera/base/dtype.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/window_slices.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

constexpr int64_t kSmallMatrix = 4;  // the largest extent of matrices that are unrolled

// The extents of a product's dimensions, by their kind.
struct DotExtents {
  Dims batch, rows, columns, sum;

  DotExtents(const DotParams& p, const Shape& lhs, const Shape& rhs) {
    for (int64_t d : p.lhs_batch) batch.push_back(lhs[d]);
    for (int64_t d : p.lhs_contract) sum.push_back(lhs[d]);
    for (int64_t d : dot_free_dims(lhs.rank(), p.lhs_batch, p.lhs_contract)) rows.push_back(lhs[d]);
    for (int64_t d : dot_free_dims(rhs.rank(), p.rhs_batch, p.rhs_contract))
      columns.push_back(rhs[d]);
  }
};

enum class DotForm : uint8_t { kOuter, kRows, kSmall };

std::optional<DotForm> form_of(const DotExtents& e, DType in) {
  const int64_t rows = e.rows.elements(), columns = e.columns.elements(), terms = e.sum.elements();
  // The number of products does not matter, so that each has the same bits in every batch.
  const bool batched = !e.batch.empty();
  if (terms == 1) return DotForm::kOuter;
  // The library computes a single product of vectors of float32, float64 or complex numbers.
  if (rows == 1 && columns == 1 && (batched || is_half(in) || is_integer(in)))
    return DotForm::kRows;
  if (batched && rows <= kSmallMatrix && columns <= kSmallMatrix && terms <= kSmallMatrix)
    return DotForm::kSmall;
  return std::nullopt;
}

class UnrolledDot {
 public:
  UnrolledDot(const DotParams& p, const Array& lhs, const Array& rhs, DType sum)
      : extents_(p, lhs.shape(), rhs.shape()),
        lhs_(ordered(lax::convert_element_type(lhs, sum), p.lhs_batch, p.lhs_contract)),
        rhs_(ordered(lax::convert_element_type(rhs, sum), p.rhs_batch, p.rhs_contract)) {}

  Array run(DotForm form) const {
    if (form == DotForm::kSmall) return term_by_term();
    const int64_t first = results().rank();
    Dims summed;
    for (int64_t d = 0; d < extents_.sum.rank(); ++d) summed.push_back(first + d);
    return lax::reduce_sum(product(lhs_, rhs_, extents_.sum), summed);
  }

 private:
  // Returns x with its batch dimensions first, then its free and then its contracting dimensions.
  static Array ordered(const Array& x, const Dims& batch, const Dims& contract) {
    Dims order = batch;
    for (int64_t d : dot_free_dims(x.ndim(), batch, contract)) order.push_back(d);
    order.insert(order.end(), contract.begin(), contract.end());
    return lax::transpose(x, order);
  }

  Shape results() const {
    Shape out = extents_.batch;
    out.insert(out.end(), extents_.rows.begin(), extents_.rows.end());
    out.insert(out.end(), extents_.columns.begin(), extents_.columns.end());
    return out;
  }

  // Returns the products of all pairs of a row and a column: (batch, rows, columns, `sum`), where
  // `sum` is the shape of the dimensions that both operands have last.
  Array product(const Array& lhs, const Array& rhs, const Dims& sum) const {
    const int64_t batch = extents_.batch.rank(), rows = extents_.rows.rank();
    Shape shape = results();
    const int64_t first = shape.rank();
    shape.insert(shape.end(), sum.begin(), sum.end());
    Dims left = iota_dims(batch + rows), right = iota_dims(batch);
    for (int64_t d = batch + rows; d < first; ++d) right.push_back(d);
    for (int64_t d = first; d < shape.rank(); ++d) left.push_back(d), right.push_back(d);
    return lax::mul(lax::broadcast_in_dim(lhs, shape, left),
                    lax::broadcast_in_dim(rhs, shape, right));
  }

  Array term_by_term() const {
    Array out;
    each_place(extents_.sum, [&](const Dims& place) {
      const Array term = product(at(lhs_, place), at(rhs_, place), {});
      out = out.defined() ? lax::add(out, term) : term;
    });
    return out;
  }

  // Returns the elements of x at one index of the contracting dimensions, without these dimensions.
  static Array at(const Array& x, const Dims& place) {
    Shape limit = x.shape(), kept = limit;
    Dims start(limit.size(), 0);
    const size_t first = limit.size() - place.size();
    for (size_t d = 0; d < place.size(); ++d) {
      start[first + d] = place[d];
      limit[first + d] = place[d] + 1;
    }
    kept.resize(first);
    return lax::reshape(lax::slice(x, start, limit), kept);
  }

  DotExtents extents_;
  Array lhs_, rhs_;
};

}  // namespace

FlatFn unrolled_dot(const OpParams& params, std::span<const Type> operands, const Type&) {
  const auto& p = params.as<DotParams>();
  const DType in = operands[0].dtype, out = p.result;
  if (p.sum != DotSum::kAny || in != operands[1].dtype || in == bool_ || out == bool_ ||
      is_narrow(in) || is_narrow(out) || is_complex(in) != is_complex(out))
    return nullptr;
  const DotExtents extents(p, operands[0].shape, operands[1].shape);
  if (operands[0].elements() == 0 || operands[1].elements() == 0) return nullptr;
  const std::optional<DotForm> form = form_of(extents, in);
  if (!form) return nullptr;
  const DType wide = itemsize(in) > itemsize(out) ? in : out;
  return [p, form = *form, sum = accumulation_dtype(wide)](const std::vector<Array>& x) {
    const Array made = UnrolledDot(p, x[0], x[1], sum).run(form);
    return std::vector<Array>{lax::convert_element_type(made, p.result)};
  };
}

Array sum_of_outer_products(const Array& lhs, const Array& rhs, const lax::DotDims& dims) {
  const DotParams p{.lhs_batch = dims.lhs_batch,
                    .rhs_batch = dims.rhs_batch,
                    .lhs_contract = dims.lhs_contract,
                    .rhs_contract = dims.rhs_contract,
                    .result = lhs.dtype()};
  const Array sums = UnrolledDot(p, lhs, rhs, accumulation_dtype(p.result)).run(DotForm::kSmall);
  return lax::convert_element_type(sums, p.result);
}

}  // namespace tessera::ops
