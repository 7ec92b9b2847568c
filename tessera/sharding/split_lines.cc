#include "tessera/sharding/split_lines.h"

#include <cmath>
#include <optional>

#include "tessera/control/control.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/fourier/fft.h"
#include "tessera/ops/fourier/fft_line.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/sharding/sharded_rewrite.h"

namespace tessera::sharding {
namespace {

// A line is not split if another dimension can be sharded instead: one that divides evenly, or one
// with at least this many rows for each shard.
constexpr int64_t kManyRows = 4;
// Products of two indices of a line are exact in float64 up to this length.
constexpr int64_t kLongest = int64_t{1} << 52;

// A transform along `dim`, which is sharded, and the factors n1 and n2 of the length `points` of
// its lines.
struct SplitLine {
  FftType type;
  int64_t dim, points, n1 = 0, n2 = 0;
  bool inverse() const { return type == FftType::kIfft || type == FftType::kIrfft; }
};

// Returns n1 and n2, multiples of `shards` with n1 n2 = n that are as close to each other as
// possible; zeros if there are none.
std::pair<int64_t, int64_t> split_line(int64_t n, int64_t shards) {
  if (n == 0 || n % (shards * shards) || n > kLongest) return {0, 0};
  const int64_t rest = n / (shards * shards);
  int64_t a = static_cast<int64_t>(std::sqrt(static_cast<double>(rest)));
  while (rest % a) --a;
  return {shards * a, shards * (rest / a)};
}

bool other_dim_takes_shards(const Type& x, int64_t dim, int64_t shards) {
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t all = shards * x.sharding->num_shards(d);
    if (d != dim && x.shape[d] > 0 && (x.shape[d] % all == 0 || x.shape[d] >= kManyRows * all))
      return true;
  }
  return false;
}

class LineSplitter {
 public:
  explicit LineSplitter(const Function& f) : to_(f) {}

  Function run() {
    for (const Op& op : to_.from().ops) {
      if (const std::optional<SplitLine> line = find_line(op)) {
        transform(op, *line);
      } else {
        to_.append(op, split_lines);
      }
    }
    return to_.take();
  }

 private:
  std::optional<SplitLine> find_line(const Op& op) const {
    const std::optional<FftLine> fft = as_fft_line(op, to_.from());
    if (!fft) return std::nullopt;
    const Type &x = to_.from().type(op.operands[0]), &y = to_.from().type(op.results[0]);
    SplitLine line{fft->type, fft->dim, std::max(x.shape[fft->dim], y.shape[fft->dim])};
    const int64_t shards = x.sharding->num_shards(line.dim);
    if (shards == 1 || x.elements() == 0 || other_dim_takes_shards(x, line.dim, shards))
      return std::nullopt;
    std::tie(line.n1, line.n2) = split_line(line.points, shards);
    if (line.n1 == 0) return std::nullopt;
    return line;
  }

  ValueId add(const OpDef& def, OpParams params, ValueIds operands, const DimSpecs& specs) {
    return to_.add(def, std::move(params), std::move(operands), specs);
  }

  ValueId splat(double value, DType dtype, const Shape& shape, const DimSpecs& specs) {
    const Literal scalar = convert_literal(Literal::scalar(value), dtype);
    return add(constant_op, ConstantParams{.value = scalar, .shape = shape}, {}, specs);
  }

  void transform(const Op& op, const SplitLine& line) {
    const Type &x = to_.from().type(op.operands[0]), &y = to_.from().type(op.results[0]);
    to_.instead_of(op);
    DimSpecs specs;  // of whole lines
    for (int64_t d = 0; d < x.rank(); ++d) specs.push_back(DimSpec(x.sharding->dim_axes(d)));
    ValueId v = to_.at(op.operands[0]);
    if (line.type == FftType::kRfft) {
      const ValueId zeros = splat(0, x.dtype, x.shape, specs);
      v = add(complex_op, NoParams{}, {v, zeros}, specs);
    }
    if (line.type == FftType::kIrfft) v = whole_spectrum(v, line, specs);
    v = spectrum(v, line, specs);
    if (line.type == FftType::kRfft) {
      Dims limit = to_.type(v).shape;
      limit[line.dim] = y.shape[line.dim];
      const Dims start(static_cast<size_t>(x.rank()), 0), ones(static_cast<size_t>(x.rank()), 1);
      v = add(slice_op, SliceParams{start, limit, ones}, {v}, specs);
    }
    if (line.type == FftType::kIrfft) v = add(real_op, NoParams{}, {v}, specs);
    // Gives the result the sharding that propagation chose.
    to_.at(op.results[0]) =
        to_.add_typed(sharding_constraint_op, ShardingConstraintParams{*y.sharding}, {v}, y);
  }

  // Returns the points of the whole line, given points 0 to n / 2. The others are the conjugates of
  // these in reverse order.
  ValueId whole_spectrum(ValueId half, const SplitLine& line, const DimSpecs& specs) {
    const Shape& shape = to_.type(half).shape;
    Dims start(shape.size(), 0), limit = shape;
    const Dims ones(shape.size(), 1);
    start[line.dim] = 1;
    limit[line.dim] = (line.points + 1) / 2;
    ValueId tail = add(slice_op, SliceParams{start, limit, ones}, {half}, specs);
    tail = add(reverse_op, ReverseParams{{line.dim}}, {tail}, specs);
    tail = add(conj_op, NoParams{}, {tail}, specs);
    return add(concatenate_op, ConcatenateParams{line.dim}, {half, tail}, specs);
  }

  ValueId spectrum(ValueId v, const SplitLine& line, const DimSpecs& specs) {
    const int64_t d = line.dim;
    const Shape shape = to_.type(v).shape;
    const FftType type = line.inverse() ? FftType::kIfft : FftType::kFft;
    Shape matrix = shape;
    matrix[d] = line.n1;
    matrix.insert(matrix.begin() + d + 1, line.n2);
    DimSpecs rows = specs, columns = specs;  // one has sharded rows, the other sharded columns
    rows.insert(rows.begin() + d + 1, DimSpec());
    columns.insert(columns.begin() + d, DimSpec());
    v = add(reshape_op, ReshapeParams{matrix}, {v}, rows);
    v = add(fft_along_op, FftAlongParams{type, d}, {v}, columns);
    v = add(mul_op, NoParams{}, {v, turns(matrix, to_.type(v).dtype, line, columns)}, columns);
    v = add(fft_along_op, FftAlongParams{type, d + 1}, {v}, rows);
    Dims swapped;
    for (int64_t e = 0; e < matrix.rank(); ++e) swapped.push_back(e);
    std::swap(swapped[d], swapped[d + 1]);
    v = add(transpose_op, TransposeParams{swapped}, {v}, columns);
    const ShardingConstraintParams cut_rows{NamedSharding(to_.mesh(), PartitionSpec(rows))};
    v = add(sharding_constraint_op, cut_rows, {v}, rows);
    return add(reshape_op, ReshapeParams{shape}, {v}, specs);
  }

  // Returns the roots of unity w(n, k1 j2) at [k1, j2], broadcast to the shape `matrix`.
  ValueId turns(const Shape& matrix, DType dtype, const SplitLine& line, const DimSpecs& columns) {
    const Shape shape{line.n1, line.n2};
    const DimSpecs cut{columns[line.dim], columns[line.dim + 1]};
    const ValueId k = add(iota_op, IotaParams{float64, shape, 0}, {}, cut),
                  j = add(iota_op, IotaParams{float64, shape, 1}, {}, cut);
    const double turn = (line.inverse() ? 2 : -2) * M_PI / static_cast<double>(line.points);
    const ValueId steps = add(mul_op, NoParams{}, {k, j}, cut);
    const ValueId angle = add(mul_op, NoParams{}, {steps, splat(turn, float64, shape, cut)}, cut);
    const ConvertParams real{real_dtype(dtype)};
    const ValueId re = add(convert_op, real, {add(cos_op, NoParams{}, {angle}, cut)}, cut),
                  im = add(convert_op, real, {add(sin_op, NoParams{}, {angle}, cut)}, cut);
    const ValueId w = add(complex_op, NoParams{}, {re, im}, cut);
    if (matrix.rank() == 2) return w;
    return add(broadcast_in_dim_op, BroadcastParams{matrix, {line.dim, line.dim + 1}}, {w},
               columns);
  }

  ShardedRewrite to_;
};

}  // namespace

Function split_lines(const Function& function) { return LineSplitter(function).run(); }

}  // namespace tessera::sharding
