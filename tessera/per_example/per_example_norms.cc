#include "tessera/per_example/per_example_norms.h"

#include <algorithm>
#include <limits>

#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/per_example/example_tiles.h"

namespace tessera::per_example {
namespace {

// The gradients of all examples may be kept if each has at most this many elements, although they
// are larger than what they are made of. The choice of a method reads the shapes of one example
// alone. If it read the size of the batch, adding an example could change the method, and with it
// how the rounding of the others' norms clips them.
constexpr int64_t kKeepElements = 1024;
// The part of the guarantee that rounding may take: the relative error of a norm is at most half of
// it.
constexpr double kTolerance = 1e-5;

// Returns a bound of the error of a float32 dot of n terms, in units of the last place of the sum
// of their absolute values. If all terms are equal, every addition rounds in the same direction,
// which makes an error of n / 8; it stops growing because kernels add up blocks of 256 terms. The
// largest errors measured are 2.2, 8.1, 32, 43, 47 for n = 16, 64, 256, 1024, 4096.
double dot_ulps(int64_t n) { return 1 + static_cast<double>(std::min<int64_t>(n, 384)) / 8; }

// The terms of one part of a parameter, those of all its uses one after the other. x and y are
// undefined if no use is a product of vectors; index and index_y are undefined if no use looks up
// rows.
struct Terms {
  Array x, y;            // [batch, D, T, P], [batch, D, T, Q]
  Array index, index_y;  // [batch, D, T], [batch, D, T, Q]
  const UseProduct* like = nullptr;
};

Array append(const Array& list, const Array& more) {
  return list.defined() ? lax::concatenate(std::vector<Array>{list, more}, 2) : more;
}

bool same_space(const UseProduct& a, const UseProduct& b) {
  return a.views == b.views && a.shape == b.shape && a.product.batch == b.product.batch;
}

// Adds the terms of a use of the same part. Returns false if its rows and columns are other
// dimensions than those of the uses before it.
bool add_terms(Terms& terms, const BatchUse& use) {
  const UseProduct& product = *use.use->product;
  if (!terms.like) terms.like = &product;
  const UseProduct& like = *terms.like;
  if (!same_space(like, product)) return false;
  const bool same =
      like.product.rows == product.product.rows && like.product.columns == product.product.columns;
  const bool swapped =
      like.product.rows == product.product.columns && like.product.columns == product.product.rows;
  if (!same && !swapped) return false;
  if (product.product.x_is_index) {
    if (!same) return false;
    terms.index = append(terms.index, use.x);
    terms.index_y = append(terms.index_y, use.y);
  } else {
    terms.x = append(terms.x, same ? use.x : use.y);
    terms.y = append(terms.y, same ? use.y : use.x);
  }
  return true;
}

// Returns the terms of each part of a parameter, where no two parts have an element in common.
// Returns nullopt if uses overlap in another way, or if a use is not a product.
std::optional<std::vector<Terms>> terms_of(std::vector<const BatchUse*> uses) {
  // Uses that look up rows come first, because they decide which dimension has the rows.
  std::stable_partition(uses.begin(), uses.end(), [](const BatchUse* u) {
    return u->use->product && u->use->product->product.x_is_index;
  });
  std::vector<Terms> out;
  for (const BatchUse* use : uses) {
    if (!use->use->product || !use->x.defined()) return std::nullopt;
    bool added = false;
    for (Terms& terms : out) {
      const Overlap common = overlap(*terms.like, *use->use->product);
      if (common == Overlap::kNone) continue;
      if (common == Overlap::kPart || !add_terms(terms, *use)) return std::nullopt;
      added = true;
    }
    if (!added && !add_terms(out.emplace_back(), *use)) return std::nullopt;
  }
  return out;
}

// Sums a [batch, ...] array over all dimensions except the batch.
Array sum_examples(const Array& x) {
  Dims dims;
  for (int64_t d = 1; d < x.ndim(); ++d) dims.push_back(d);
  return dims.empty() ? x : lax::reduce_sum(x, dims);
}
// Returns the squared norms of x along its last dimension.
Array squares(const Array& x) { return lax::reduce_sum(lax::mul(x, x), {x.ndim() - 1}); }
// Returns x x', [batch, D, T, T], for x of [batch, D, T, K].
Array gram(const Array& x) { return invariant_dot(x, x, {3}, {3}, {0, 1}, {0, 1}); }

double epsilon(DType dtype) {
  return dtype == float64 ? std::numeric_limits<double>::epsilon()
                          : std::numeric_limits<float>::epsilon();
}
// Returns the most that a sum of n squares loses to underflow: each is below the smallest normal
// number.
double lost(int64_t n, DType dtype) {
  return static_cast<double>(n) * (dtype == float64 ? std::numeric_limits<double>::min()
                                                    : std::numeric_limits<float>::min());
}
Array plus(const Array& x, double y) { return lax::add(x, lax::full_like(x, y)); }
Array times(const Array& x, double y) { return lax::mul(x, lax::full_like(x, y)); }

// Returns an upper bound of the squared norms of x along its last dimension.
Array squares_above(const Array& x) { return plus(squares(x), lost(x.shape().back(), x.dtype())); }

Array in_float64(const Array& x) { return lax::convert_element_type(x, float64); }

// Returns the squared norms for T = 1. They are computed in float64, in which squares of float32
// neither overflow nor vanish. Squares of float64 may vanish, so the most that they lose is added.
Array by_vectors(const Terms& t) {
  return sum_examples(lax::mul(squares_above(in_float64(t.x)), squares_above(in_float64(t.y))));
}

// Returns the factor of the bound for the rounding error of <x x', y y'>, in units of epsilon times
// the square of the sum over t of |x_t| |y_t|. It counts the errors of the dot products in x x'
// (`rows` terms each) and in y y' (`columns` terms), and the amount d by which the sum over t in
// the weighted sum may be longer than the gradient: 2 d |g| <= kTolerance |g|^2 + d^2 / kTolerance.
double gram_ulps(int64_t terms, int64_t rows, int64_t columns, double epsilon) {
  const double sum = dot_ulps(terms) + 1;
  return dot_ulps(rows) + dot_ulps(columns) + 1 + sum * sum * epsilon / kTolerance;
}

// Computes <x x', y y'> with all cross terms (between vectors, between looked-up rows, and between
// a vector and a row), and a bound of how much too small rounding may make it.
class Gram {
 public:
  explicit Gram(const Terms& t) : t_(t), dtype_((t.x.defined() ? t.x : t.index_y).dtype()) {
    if (t.x.defined()) add_vectors();
    if (t.index.defined()) add_rows();
    if (t.x.defined() && t.index.defined()) add_both();
  }

  // Returns the sum plus its bound, in float64.
  Array raised() const {
    const int64_t rows = t_.x.defined() ? t_.x.shape()[3] : 1,
                  columns = (t_.x.defined() ? t_.y : t_.index_y).shape()[3];
    const double ulp = epsilon(dtype_);
    Array out = lax::add(lax::max(sum_, lax::full_like(sum_, 0)),
                         times(squares(lengths_), ulp * gram_ulps(num_terms_, rows, columns, ulp)));
    if (underflow_.defined()) out = lax::add(out, underflow_);
    return out;
  }

 private:
  void add(const Array& products) {
    const Array sum = sum_examples(products);
    sum_ = sum_.defined() ? lax::add(sum_, sum) : sum;
  }
  // Adds the lengths of terms, [batch, D, T], to those that the bound reads.
  void add_lengths(const Array& lengths) {
    num_terms_ += lengths.shape()[2];
    const Array sum = in_float64(lax::reduce_sum(lengths, {2}));
    lengths_ = lengths_.defined() ? lax::add(lengths_, sum) : sum;
  }

  void add_vectors() {
    add(lax::mul(in_float64(gram(t_.x)), in_float64(gram(t_.y))));
    const Array x = lax::sqrt(squares_above(t_.x)), y = lax::sqrt(squares_above(t_.y));
    add_lengths(lax::mul(x, y));
    // A product x x' of small numbers may be 0 although its factor y y' is large, so the bound has
    // the largest possible loss times the other factor.
    const auto of_other = [&](const Array& lengths, int64_t n) {
      return times(squares(in_float64(lax::reduce_sum(lengths, {2}))), lost(n, dtype_));
    };
    underflow_ = lax::add(of_other(y, t_.x.shape()[3]), of_other(x, t_.y.shape()[3]));
  }

  void add_rows() {
    Shape square = t_.index.shape();
    square.push_back(square.back());
    const Array same = lax::eq(lax::broadcast_in_dim(t_.index, square, {0, 1, 2}),
                               lax::broadcast_in_dim(t_.index, square, {0, 1, 3}));
    const Array products = in_float64(gram(t_.index_y));
    add(lax::select(same, products, lax::full_like(products, 0)));
    add_lengths(lax::sqrt(squares_above(t_.index_y)));
  }

  // Adds the cross terms of rows and vectors, <e_i y_i', x_t y_t'> = x_t[i] <y_i, y_t>. Each counts
  // twice.
  void add_both() {
    const Array products = invariant_dot(t_.index_y, t_.y, {3}, {3}, {0, 1}, {0, 1});
    const Array columns = lax::transpose(t_.x, {0, 1, 3, 2});  // [batch, D, P, T]
    Shape starts = t_.index.shape();
    starts.push_back(1);
    const Array entries = lax::gather(columns, lax::reshape(t_.index, starts),
                                      {.offset_dims = {3},
                                       .collapsed_slice_dims = {2},
                                       .start_index_map = {2},
                                       .operand_batching_dims = {0, 1},
                                       .start_indices_batching_dims = {0, 1}},
                                      {1, 1, 1, t_.x.shape()[2]}, IndexMode::kPromiseInBounds);
    add(times(lax::mul(in_float64(entries), in_float64(products)), 2));
  }

  const Terms& t_;
  const DType dtype_;
  int64_t num_terms_ = 0;
  Array sum_, lengths_, underflow_;  // [batch], [batch, D], [batch]; float64
};

// The terms of a parameter that is read by products of vectors alone, and how the products [..., D,
// P, Q] become the parameter.
struct PlainTerms {
  Terms terms;
  Shape shape;  // of the products, with P and Q split into the parameter's dimensions
  Dims order;   // the permutation of these dimensions to the parameter's
};
std::optional<PlainTerms> plain_terms(const std::vector<const BatchUse*>& uses, const Type& type) {
  if (is_complex(type.dtype)) return std::nullopt;
  const std::optional<std::vector<Terms>> parts = terms_of(uses);
  if (!parts || parts->size() != 1 || (*parts)[0].index.defined()) return std::nullopt;
  PlainTerms out{(*parts)[0], {}, {}};
  const UseProduct& like = *out.terms.like;
  if (like.shape != type.shape || !like.views.empty()) return std::nullopt;
  Dims order = like.product.batch;
  for (const Dims* dims : {&like.product.rows, &like.product.columns})
    order.insert(order.end(), dims->begin(), dims->end());
  out.order = Dims(order.size(), 0);
  for (int64_t d = 0; d < order.rank(); ++d) {
    out.shape.push_back(type.shape[order[d]]);
    out.order[order[d]] = d;
  }
  return out;
}

// Returns the gradient x' y of every example; nullopt if something else than products of vectors
// reads the parameter.
std::optional<Array> gradients_by_products(const std::vector<const BatchUse*>& uses,
                                           const Type& type) {
  const std::optional<PlainTerms> plain = plain_terms(uses, type);
  if (!plain) return std::nullopt;
  const Terms& t = plain->terms;
  const Array products = invariant_dot(t.x, t.y, {2}, {2}, {0, 1}, {0, 1});
  Shape shape{t.x.shape()[0]};
  shape.insert(shape.end(), plain->shape.begin(), plain->shape.end());
  Dims order{0};
  for (int64_t d : plain->order) order.push_back(d + 1);
  return lax::transpose(lax::reshape(products, shape), order);
}

struct Extents {
  double terms = 0, rows = 0, columns = 0, matrices = 0;
};
Extents extents(const Terms& t) {
  Extents out;
  if (t.x.defined()) {
    out = {static_cast<double>(t.x.shape()[2]), static_cast<double>(t.x.shape()[3]),
           static_cast<double>(t.y.shape()[3]), static_cast<double>(t.x.shape()[1])};
  }
  if (t.index.defined()) {
    out.terms += static_cast<double>(t.index.shape()[2]);
    out.rows = std::max(out.rows, 1.0);
    out.columns = static_cast<double>(t.index_y.shape()[3]);
    out.matrices = static_cast<double>(t.index.shape()[1]);
  }
  return out;
}

NormPlan product_plan(const std::vector<Terms>& parts) {
  NormPlan out{.method = NormWay::kVectors};
  for (const Terms& t : parts) {
    const Extents e = extents(t);
    if (t.x.defined() && !t.index.defined() && e.terms == 1) {
      out.flops += 2 * e.matrices * (e.rows + e.columns);
      out.bytes += 4 * e.matrices * (e.rows + e.columns);
      continue;
    }
    const bool lookup = !t.x.defined();
    if (out.method != NormWay::kGram) out.method = lookup ? NormWay::kLookup : NormWay::kGram;
    const double width = lookup ? e.columns : e.rows + e.columns + 1;
    out.flops += 2 * e.matrices * e.terms * e.terms * width;
    out.bytes += 4 * e.matrices * (e.terms * width + 2 * e.terms * e.terms);
  }
  return out;
}

}  // namespace

std::vector<NormPlan> norm_plans(const ExampleBatch& batch, size_t input) {
  const std::vector<const BatchUse*> uses = batch.uses_of(input);
  const Type& type = batch.program().inputs[input];
  const auto elements = static_cast<double>(type.elements());
  double factors = 0, products = 0;
  for (const BatchUse* use : uses) {
    double read = 0;
    if (use->x.defined()) {
      Terms terms;
      add_terms(terms, *use);
      const Extents e = extents(terms);
      products += 2 * e.matrices * e.terms * e.rows * e.columns;
      read = static_cast<double>(use->x.size() + use->y.size());
    } else {
      for (const Array& ct : use->cotangents) read += static_cast<double>(ct.size());
      products += 2 * elements;
    }
    factors += read / static_cast<double>(std::max<int64_t>(1, batch.size()));
  }
  std::vector<NormPlan> out;
  const std::optional<std::vector<Terms>> parts =
      is_complex(type.dtype) || uses.empty() ? std::nullopt : terms_of(uses);
  if (parts) out.push_back(product_plan(*parts));
  NormPlan tiles{NormWay::kTiles, products + 2 * elements, 4 * elements};
  NormPlan keep{NormWay::kKeep, 2 * elements, 8 * elements};
  const bool small = elements <= factors || elements <= double{kKeepElements};
  if (small && !(parts && out[0].method == NormWay::kVectors)) {
    out.insert(out.begin(), keep);
    out.push_back(tiles);
  } else {
    out.push_back(tiles);
    out.push_back(keep);
    if (out[0].method != NormWay::kTiles && out[0].flops > tiles.flops) std::swap(out[0], out[1]);
  }
  return out;
}

std::optional<Array> grid_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                              const Array& out) {
  const std::optional<PlainTerms> plain =
      plain_terms(batch.uses_of(input), batch.program().inputs[input]);
  if (!plain) return std::nullopt;
  const auto by_example = [](const Array& values, const Array& like) {
    return lax::broadcast_in_dim(values, like.shape(), {0});
  };
  const auto cleared = [&](const Array& x) {
    return out.defined() ? lax::select(by_example(out, x), lax::full_like(x, 0), x) : x;
  };
  const Array x = cleared(plain->terms.x), y = cleared(plain->terms.y);
  const Array scaled = lax::mul(y, by_example(lax::convert_element_type(weights, y.dtype()), y));
  const Array sums = grid_dot(x, scaled, {0, 2}, {0, 2}, {1}, {1});  // [D, P, Q]
  return lax::transpose(lax::reshape(sums, plain->shape), plain->order);
}

SquaredNorms squared_norms(const ExampleBatch& batch, size_t input, NormWay method) {
  switch (method) {
    case NormWay::kVectors:
    case NormWay::kGram:
    case NormWay::kLookup: {
      const std::optional<std::vector<Terms>> parts = terms_of(batch.uses_of(input));
      TESSERA_CHECK(parts, "input {} is not of products alone", input);
      Array sum;
      for (const Terms& t : *parts) {
        const bool vectors = !t.index.defined() && t.x.shape()[2] == 1;
        const Array norms = vectors ? by_vectors(t) : Gram(t).raised();
        sum = sum.defined() ? lax::add(sum, norms) : norms;
      }
      return {sum, Array()};
    }
    case NormWay::kTiles:
      return {tiled_squares(batch, {input}, nullptr).plain, Array()};
    case NormWay::kKeep: {
      std::optional<Array> gradients =
          gradients_by_products(batch.uses_of(input), batch.program().inputs[input]);
      if (!gradients) gradients = batch.gradients(input);
      return {squared_gradients(*gradients), *gradients};
    }
  }
  TESSERA_CHECK(false, "way");
  __builtin_unreachable();
}

}  // namespace tessera::per_example
