#include "tessera/fusion/rewrites/row_part.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/base/error.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ir/scalar_op.h"
#include "tessera/ops/core/constant.h"
#include "tessera/sharding/propagate.h"

namespace tessera::fusion {
namespace {

// A loop whose operands and results have fewer bytes stays in the cache as it is.
constexpr int64_t kLeastLoopBytes = int64_t{2} << 20;
// The bytes of a tile of the loop's largest operand: with some tens of others of this size it fits
// into the cache of a core. A row may have more bytes, up to kMostRowBytes.
constexpr int64_t kTileBytes = int64_t{64} << 10, kMostRowBytes = int64_t{256} << 10;
// Fewer tiles would not occupy the cores of a machine.
constexpr int64_t kLeastTiles = 16;
// The time to find the part grows with the square of the number of ops.
constexpr size_t kMostOps = 2000;

// Returns whether an op of this kind may be part of the loop. Reductions are not, because their
// order depends on the number of rows; products are not, because they are faster on many rows.
bool computes_rows(const Op& op) {
  if (op.def->effect) return false;
  if (is_control_flow(op)) {
    const std::vector<FunctionRef> regions = control_regions(op);
    return std::all_of(regions.begin(), regions.end(), [](const FunctionRef& region) {
      return std::all_of(region->ops.begin(), region->ops.end(), computes_rows);
    });
  }
  const Lowering& lower = op.def->lower;
  if (const auto* library = std::get_if<Library>(&lower))
    return library->kind == LibraryKind::kCall || library->kind == LibraryKind::kGather;
  return std::holds_alternative<Pointwise>(lower) || std::holds_alternative<IndexMap>(lower);
}

// Returns whether fusion may compute the op in the kernels that read its result.
bool is_fusable(const Op& op) {
  return std::holds_alternative<Pointwise>(op.def->lower) ||
         std::holds_alternative<IndexMap>(op.def->lower);
}

// Records the last scalar operation that an op emits.
class LastOperation final : public ExprBuilder {
 public:
  explicit LastOperation(std::span<const Type> operands) {
    for (const Type& type : operands) this->operands.push_back(add(type.dtype));
  }
  Expr apply(ScalarOp op, DType result, std::span<const Expr>) override {
    last = op;
    return add(result);
  }
  Expr constant(DType dtype, const void*) override { return add(dtype); }
  Expr index(int, DType dtype) override { return add(dtype); }
  DType dtype_of(Expr expr) const override { return dtypes_[static_cast<size_t>(expr.id)]; }

  std::vector<Expr> operands;
  std::optional<ScalarOp> last;

 private:
  Expr add(DType dtype) {
    dtypes_.push_back(dtype);
    return {static_cast<int>(dtypes_.size()) - 1};
  }
  std::vector<DType> dtypes_;
};

class Finder {
 public:
  explicit Finder(const Function& f) : f_(f), producers_(f.producers()), users_(f.users()) {
    is_output_.assign(f.types.size(), false);
    for (ValueId v : f.outputs) is_output_[static_cast<size_t>(v)] = true;
  }

  std::optional<RowPart> find() {
    if (f_.ops.size() > kMostOps) return std::nullopt;
    for (size_t i = 0; i < f_.ops.size(); ++i)
      if (is_large_loop(f_.ops[i])) loops_.push_back(i);
    if (loops_.empty() || !is_of_one_device()) return std::nullopt;
    for (const auto& [value, dim] : candidates())
      if (try_rows(value, dim)) return std::move(part_);
    return std::nullopt;
  }

 private:
  const Type& type(ValueId v) const { return f_.type(v); }
  const Op* producer(ValueId v) const {
    const int op = producers_[static_cast<size_t>(v)];
    return op < 0 ? nullptr : &f_.ops[static_cast<size_t>(op)];
  }
  int row_dim(ValueId v) const { return part_.row_dim[static_cast<size_t>(v)]; }
  bool inside(const Op& op) const { return part_.inside[static_cast<size_t>(&op - &f_.ops[0])]; }

  bool is_large_loop(const Op& op) const {
    if (!is_control_flow(op) || !computes_rows(op)) return false;
    const ControlFlow flow = control_flow_of(op);
    if (!flow.is_loop() || flow.trip_count == 1) return false;
    int64_t bytes = 0;
    for (ValueId v : op.operands) bytes += type(v).bytes();
    for (ValueId v : op.results) bytes += type(v).bytes();
    return bytes >= kLeastLoopBytes;
  }

  // Ops with effects could change their order. Values that differ between devices would need a type
  // for both meshes.
  bool is_of_one_device() const {
    return std::none_of(f_.ops.begin(), f_.ops.end(), has_effect) &&
           std::all_of(f_.types.begin(), f_.types.end(),
                       [](const Type& t) { return t.varying.empty() && !t.sharding; });
  }

  Factors factors_of(const Op& op) const {
    return op.def->factors(f_.types_of(op.operands), f_.types_of(op.results), op.params);
  }

  // Returns dimensions whose indices may be the rows: those of the first loop's largest operand
  // that are dimension 0 of a value from which it is computed, then dimension 0 of the operand.
  std::vector<std::pair<ValueId, int>> candidates() const {
    const ValueIds& operands = f_.ops[loops_[0]].operands;
    const ValueId largest =
        *std::max_element(operands.begin(), operands.end(),
                          [&](ValueId a, ValueId b) { return type(a).bytes() < type(b).bytes(); });
    std::vector<std::pair<ValueId, int>> out;
    for (int d = 1; d < type(largest).rank(); ++d)
      if (is_outermost_before(largest, d)) out.emplace_back(largest, d);
    if (type(largest).rank() > 0) out.emplace_back(largest, 0);
    return out;
  }

  bool is_outermost_before(ValueId v, int dim) const {
    while (dim != 0) {
      const Op* op = producer(v);
      if (!op || is_control_flow(*op) || !op->def->factors) return false;
      const Factors factors = factors_of(*op);
      const auto result = static_cast<size_t>(std::find(op->results.begin(), op->results.end(), v) -
                                              op->results.begin());
      const DimFactors& of_dim = factors.results[result][static_cast<size_t>(dim)];
      if (of_dim.size() != 1) return false;
      bool found = false;
      for (size_t k = 0; k < op->operands.size() && !found; ++k)
        for (size_t d = 0; d < factors.operands[k].size() && !found; ++d) {
          if (factors.operands[k][d] != of_dim) continue;
          v = op->operands[k];
          dim = static_cast<int>(d);
          found = true;
        }
      if (!found) return false;
    }
    return true;
  }

  // Makes part_ if tiles of this dimension of the value divide all values of a part.
  bool try_rows(ValueId value, int dim) {
    rows_ = type(value).shape[dim];
    if (rows_ < kLeastTiles) return false;
    const int64_t row_bytes = ceil_div(type(value).bytes(), rows_);
    if (row_bytes > kMostRowBytes) return false;
    int64_t in_tile = 1;
    for (int64_t n = 2; n * row_bytes <= kTileBytes && n * kLeastTiles <= rows_; ++n)
      if (rows_ % n == 0) in_tile = n;
    part_ = {.tiles = rows_ / in_tile, .mesh = Mesh::abstract({rows_ / in_tile}, {"rows"})};
    spread_rows(value, dim);
    collect();
    return contains(part_.inside, true) && cut() && find_borders();
  }

  // Finds the dimension that tiles divide in every value, by the propagation of shardings.
  void spread_rows(ValueId value, int dim) {
    Function f = f_;
    f.outputs.push_back(value);
    ShardingRequest request;
    request.inputs.resize(f.inputs.size());
    request.outputs.resize(f.outputs.size());
    std::vector<DimSpec> spec(static_cast<size_t>(type(value).rank()), DimSpec(None));
    spec[static_cast<size_t>(dim)] = DimSpec("rows");
    request.outputs.back() = NamedSharding(part_.mesh, PartitionSpec(spec));
    const Function spread =
        sharding::propagate(sharding::pin_shardings(f, part_.mesh, request), part_.mesh, request);
    TESSERA_CHECK(spread.types.size() >= f_.types.size(), "propagation keeps all values");
    part_.row_dim.assign(f_.types.size(), -1);
    for (size_t v = 0; v < f_.types.size(); ++v) {
      const Type& t = spread.types[v];
      TESSERA_CHECK(t.same_array(f_.types[v]), "propagation keeps the numbers of values");
      for (int d = 0; d < t.rank(); ++d)
        if (t.shape[d] == rows_ && t.sharding->num_shards(d) == part_.tiles) part_.row_dim[v] = d;
    }
  }

  // Returns whether the op computes each tile of its results from the same tile of its operands.
  bool is_by_rows(const Op& op) const {
    if (!computes_rows(op)) return false;
    const auto has_rows = [&](ValueId v) { return row_dim(v) >= 0; };
    if (is_control_flow(op))  // make_row_loop() finds out about its regions
      return std::any_of(op.results.begin(), op.results.end(), has_rows);
    if (!op.def->factors || !std::all_of(op.results.begin(), op.results.end(), has_rows))
      return false;
    const Factors factors = factors_of(op);
    int row = -1;
    const auto agrees = [&](ValueId v, const TensorFactors& dims) {
      const int d = row_dim(v);
      if (d < 0) return true;
      const DimFactors& of_dim = dims[static_cast<size_t>(d)];
      if (of_dim.size() != 1 || (row >= 0 && row != of_dim[0])) return false;
      row = of_dim[0];
      return true;
    };
    for (size_t r = 0; r < op.results.size(); ++r)
      if (!agrees(op.results[r], factors.results[r])) return false;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (!agrees(op.operands[k], factors.operands[k])) return false;
      // An operand with these rows that is not divided would have to be divided here.
      if (row_dim(op.operands[k]) >= 0) continue;
      for (const DimFactors& dim : factors.operands[k])
        if (contains(dim, row)) return false;
    }
    return factors.factors[static_cast<size_t>(row)].kind == FactorKind::kPass;
  }

  // Collects the loops, the ops by rows that follow from one of them, and those that lead to any of
  // these.
  void collect() {
    const size_t n = f_.ops.size();
    std::vector<bool> by_rows(n), leads(n, false), follows(n, false);
    for (size_t i = 0; i < n; ++i)
      by_rows[i] = !is_repeated(f_, f_.ops[i]) && is_by_rows(f_.ops[i]);
    for (size_t i : loops_) follows[i] = by_rows[i];
    for (size_t i = 0; i < n; ++i)
      for (ValueId v : f_.ops[i].operands) {
        const int from = producers_[static_cast<size_t>(v)];
        if (by_rows[i] && from >= 0 && follows[static_cast<size_t>(from)]) follows[i] = true;
      }
    for (size_t i = n; i-- > 0;)
      for (ValueId v : f_.ops[i].results)
        for (int user : users_[static_cast<size_t>(v)]) {
          const auto k = static_cast<size_t>(user);
          if (by_rows[i] && (leads[k] || follows[k])) leads[i] = true;
        }
    // What depends on the part through an op outside of it is not in the part.
    std::vector<bool> after(n, false);
    part_.inside.assign(n, false);
    for (size_t i = 0; i < n; ++i) {
      bool from_part = false;
      for (ValueId v : f_.ops[i].operands) {
        const int from = producers_[static_cast<size_t>(v)];
        if (from < 0) continue;
        after[i] = after[i] || after[static_cast<size_t>(from)];
        from_part = from_part || part_.inside[static_cast<size_t>(from)];
      }
      part_.inside[i] = (leads[i] || follows[i]) && !after[i];
      after[i] = after[i] || (from_part && !part_.inside[i]);
      follows[i] = follows[i] && part_.inside[i];
    }
    follows_ = std::move(follows);
  }

  // Drops the first ops of the part if otherwise more bytes would be stored between it and ops
  // outside of it. Returns false if a result would have other bits wherever the part begins.
  bool cut() {
    std::vector<size_t> leading;
    for (size_t i = 0; i < f_.ops.size(); ++i)
      if (part_.inside[i] && !follows_[i]) leading.push_back(i);
    double least = stored_bytes();
    std::vector<bool> best = part_.inside;
    for (size_t i : leading) {
      part_.inside[i] = false;
      const double bytes = stored_bytes();
      if (bytes >= least) continue;
      least = bytes;
      best = part_.inside;
    }
    part_.inside = std::move(best);
    return least < std::numeric_limits<double>::infinity();
  }

  // Returns the bytes of the values that are stored only because they are at the border of the
  // part; infinity if a result would have other bits, because a product is not fused into a sum.
  double stored_bytes() const {
    double bytes = 0;
    for (size_t v = 0; v < f_.types.size(); ++v) {
      const Op* from = producer(static_cast<ValueId>(v));
      if (!from || is_repeated(f_, *from) || !is_at_border(static_cast<ValueId>(v))) continue;
      if (users_[v].size() == 1 && !is_output_[v] && is_product(static_cast<ValueId>(v)))
        return std::numeric_limits<double>::infinity();
      if (is_fusable(*from) && !is_output_[v] && !follows_[static_cast<size_t>(producers_[v])])
        bytes += static_cast<double>(f_.types[v].bytes());
    }
    return bytes;
  }

  // Returns whether the value passes from inside of the part to the outside, or the other way.
  bool is_at_border(ValueId v) const {
    const Op* from = producer(v);
    const bool made_inside = from && inside(*from);
    if (made_inside && is_output_[static_cast<size_t>(v)]) return true;
    for (int user : users_[static_cast<size_t>(v)])
      if (part_.inside[static_cast<size_t>(user)] != made_inside) return true;
    return false;
  }

  // Returns whether the elements of the value are products that are computed for it.
  bool is_product(ValueId v) const {
    const Op* op = producer(v);
    if (!op) return false;
    if (std::holds_alternative<IndexMap>(op->def->lower)) return is_product(op->operands[0]);
    const auto* pointwise = std::get_if<Pointwise>(&op->def->lower);
    if (!pointwise || as_constant(*op)) return false;
    const std::vector<Type> operands = f_.types_of(op->operands);
    LastOperation builder(operands);
    pointwise->emit(builder, builder.operands, op->params, operands, type(v));
    return builder.last == ScalarOp::kMul;
  }

  // Sets the inputs and outputs. Returns false if tiles of one of them are not contiguous.
  bool find_borders() {
    for (const Op& op : f_.ops) {
      if (!inside(op)) continue;
      for (ValueId v : op.operands) add_input(v);
      for (ValueId v : op.results)
        if (is_at_border(v)) part_.outputs.push_back(v);
    }
    return std::all_of(part_.inputs.begin(), part_.inputs.end(),
                       [&](ValueId v) { return row_dim(v) <= 0; }) &&
           std::all_of(part_.outputs.begin(), part_.outputs.end(),
                       [&](ValueId v) { return row_dim(v) == 0; });
  }

  void add_input(ValueId v) {
    const Op* from = producer(v);
    if (from && inside(*from)) return;
    if (from && is_repeated(f_, *from)) {
      for (ValueId operand : from->operands) add_input(operand);
    } else if (!contains(part_.inputs, v)) {
      part_.inputs.push_back(v);
    }
  }

  const Function& f_;
  const std::vector<int> producers_;
  const std::vector<std::vector<int>> users_;
  std::vector<bool> is_output_;
  std::vector<size_t> loops_;
  int64_t rows_ = 0;
  RowPart part_;
  std::vector<bool> follows_;  // for each op inside: whether it is a loop or follows from one
};

}  // namespace

bool is_repeated(const Function& function, const Op& op) {
  if (const ops::ConstantParams* constant = ops::as_constant(op))
    return constant->is_splat() || constant->value.elements() <= 64;
  return std::holds_alternative<IndexMap>(op.def->lower) && op.operands.size() == 1 &&
         function.type(op.operands[0]).elements() == 1 && op.results.size() == 1;
}

std::optional<RowPart> find_row_part(const Function& function) { return Finder(function).find(); }

}  // namespace tessera::fusion
