// Custom calls of programs that JAX lowers for its CPU platform, as ops of ops/factor:
// lapack_{s,d,c,z}<routine>_ffi; calls of the same factorisations on other platforms that have
// LAPACK's form; and ApproxTopK.
//
// The layouts and aliases of a call describe how XLA stores the arrays, which has no meaning here.
// `mhlo.backend_config` has the routine's own parameters, with letters as their codes.
#include <map>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/refine_shapes.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/eig.h"
#include "tessera/ops/factor/eigh.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/reflectors.h"
#include "tessera/ops/factor/schur.h"
#include "tessera/ops/factor/svd.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/factor/tridiagonal.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/ops/structural/sort_order.h"

namespace tessera::interchange::foreign {
namespace {

using namespace factor;
using Values = std::vector<ValueId>;
using lax::linalg::SvdAlgorithm;
using lax::linalg::Transpose;

// One call in the text.
class Call {
 public:
  explicit Call(OpReader& reader) : reader_(reader) {
    for (const char* about : {"operand_layouts", "result_layouts", "output_operand_aliases",
                              "api_version", "has_side_effect"})
      reader.text.take(about);
    for (const char* name : {"backend_config", "mhlo.backend_config"})
      if (const TextAttr* config = reader.text.take(name))
        if (const auto* record = config->get<TextAttr::Record>()) config_ = record->entries;
  }

  // Returns the letter of that name, which is one of `known`, or the first of these if the call has
  // none.
  char letter(std::string_view name, std::string_view known) const {
    const TextAttr* value = find(name);
    if (!value) return known[0];
    const auto* code = value->get<TextAttr::Integer>();
    const char c = code ? static_cast<char>(code->value) : '\0';
    if (known.find(c) == std::string_view::npos)
      reader_.error(fmt::format("expected {} to be the code of one of the letters {}, got {}", name,
                                known, code ? std::to_string(code->value) : "no integer"));
    return c;
  }
  bool flag(std::string_view name) const {
    const TextAttr* value = find(name);
    const bool* flag = value ? value->get<bool>() : nullptr;
    if (!flag) reader_.error(fmt::format("expected the attribute {}, true or false", name));
    return *flag;
  }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const TextAttr* value = find(name);
    const auto* integer = value ? value->get<TextAttr::Integer>() : nullptr;
    return integer ? integer->value : otherwise;
  }
  // Returns zeros with a result's type, for a result that the routine leaves unchanged.
  ValueId zeros(size_t result) const {
    expect_results(result + 1);
    const Type& type = static_result(reader_, result);
    return filled(type.dtype, type.shape, 0);
  }
  ValueId filled(DType dtype, const Shape& shape, int32_t value) const {
    return add(constant_op, ConstantParams{convert_literal(Literal::scalar(value), dtype), shape},
               {});
  }
  // Adds an op and returns its results, or its only one.
  Values add_all(const OpDef& op, OpParams params, const Values& operands) const {
    return reader_.insert(op, std::move(params), operands);
  }
  ValueId add(const OpDef& op, OpParams params, const Values& operands) const {
    return add_all(op, std::move(params), operands)[0];
  }
  const Type& type(ValueId value) const { return reader_.type(value); }
  void expect_results(size_t count) const {
    if (reader_.result_types.size() < count)
      reader_.error(fmt::format("expected the types of {} results, got {}", count,
                                reader_.result_types.size()));
  }
  void expect_operands(size_t count) const {
    if (reader_.operands.size() != count)
      reader_.error(fmt::format("expected {} operands, got {}", count, reader_.operands.size()));
  }
  OpReader& reader() const { return reader_; }

 private:
  const TextAttr* find(std::string_view name) const {
    for (const auto& [key, value] : config_)
      if (key == name) return &value;
    return nullptr;
  }
  OpReader& reader_;
  TextAttr::Entries config_;
};

// --- Routines: (call, operands) -> results ---

// A factor that is NaN means that there is none; info is then 1, the number of the first row.
Values potrf(const Call& call, const Values& x) {
  const bool lower = call.letter("uplo", "LU") == 'L';
  const ValueId l = call.add(cholesky_op, CholeskyParams{lower}, x);
  const Type matrix = call.type(l);
  const Shape batch = batch_with(matrix, {});
  if (rows_of(matrix) == 0) return {l, call.filled(int32, batch, 0)};
  const Dims start(matrix.shape.size(), 0), strides(matrix.shape.size(), 1);
  const ValueId corner =
      call.add(slice_op, SliceParams{start, batch_with(matrix, {1, 1}), strides}, {l});
  const ValueId first = call.add(reshape_op, ReshapeParams{batch}, {corner});
  const ValueId failed =
      call.add(compare_op, CompareParams{Comparison::kNe, CompareType::kFloat}, {first, first});
  return {l, call.add(convert_op, ConvertParams{int32}, {failed})};
}

// LAPACK's pivots count from 1.
Values getrf(const Call& call, const Values& x) {
  const Values out = call.add_all(lu_op, NoParams{}, x);
  const ValueId one = call.filled(int32, call.type(out[1]).shape, 1);
  return {out[0], call.add(add_op, NoParams{}, {out[1], one}), out[3]};
}

Values geqrf(const Call& call, const Values& x) { return call.add_all(geqrf_op, NoParams{}, x); }
Values geqp3(const Call& call, const Values& x) { return call.add_all(geqp3_op, NoParams{}, x); }
Values orgqr(const Call& call, const Values& x) {
  return call.add_all(householder_product_op, NoParams{}, x);
}
Values ormqr(const Call& call, const Values& x) {
  return call.add_all(ormqr_op, OrmqrParams{call.flag("left"), call.flag("transpose")}, x);
}

Values trsm(const Call& call, const Values& x) {
  const char transposition = call.letter("trans_x", "NTC");
  return call.add_all(
      triangular_solve_op,
      TriangularSolveParams{call.letter("side", "LR") == 'L', call.letter("uplo", "LU") == 'L',
                            call.letter("diag", "NU") == 'U',
                            transposition == 'N'   ? Transpose::kNoTranspose
                            : transposition == 'T' ? Transpose::kTranspose
                                                   : Transpose::kAdjoint},
      x);
}

Values syevd(const Call& call, const Values& x) {
  call.letter("mode", "V");
  return call.add_all(eigh_op, EighParams{call.letter("uplo", "LU") == 'L'}, x);
}

// The first result is the overwritten operand.
Values singular_values(const Call& call, const Values& x, SvdAlgorithm algorithm) {
  const char mode = call.letter("mode", "ASN");
  const Values out = call.add_all(svd_op, SvdParams{mode == 'A', mode != 'N', algorithm}, x);
  if (mode == 'N') return {x[0], out[0], call.zeros(2), call.zeros(3), out[1]};
  return {x[0], out[0], out[1], out[2], out[3]};
}
Values gesdd(const Call& call, const Values& x) {
  return singular_values(call, x, SvdAlgorithm::kDivideAndConquer);
}
Values gesvd(const Call& call, const Values& x) {
  return singular_values(call, x, SvdAlgorithm::kQr);
}

// The eigenvalues `w` of a real matrix are two results.
void add_eigenvalues(const Call& call, ValueId w, DType matrix, Values& out) {
  if (is_complex(matrix)) {
    out.push_back(w);
  } else {
    out.push_back(call.add(real_op, NoParams{}, {w}));
    out.push_back(call.add(imag_op, NoParams{}, {w}));
  }
}

Values geev(const Call& call, const Values& x) {
  const bool left = call.letter("compute_left", "VN") == 'V',
             right = call.letter("compute_right", "VN") == 'V';
  const Values found = call.add_all(eig_op, EigParams{left, right}, x);
  Values out;
  add_eigenvalues(call, found[0], call.type(x[0]).dtype, out);
  out.push_back(left ? found[1] : call.zeros(out.size()));
  out.push_back(right ? found[1 + left] : call.zeros(out.size()));
  out.push_back(found.back());
  return out;
}

Values gees(const Call& call, const Values& x) {
  call.letter("sort", "N");
  const bool vectors = call.letter("mode", "VN") == 'V';
  const Values found = call.add_all(schur_op, SchurParams{vectors}, x);
  Values out{found[0], vectors ? found[1] : call.zeros(1)};
  add_eigenvalues(call, found[1 + vectors], call.type(x[0]).dtype, out);
  // The number of selected values.
  out.push_back(call.filled(int32, call.type(found.back()).shape, 0));
  out.push_back(found.back());
  return out;
}

Values gehrd(const Call& call, const Values& x) {
  const int64_t n = call.type(x[0]).rank() > 0 ? call.type(x[0]).shape.back() : 0;
  if (call.integer("low", 1) != 1 || call.integer("high", n) != n)
    call.reader().error(fmt::format("expected low 1 and high {}, all rows, got {} and {}", n,
                                    call.integer("low", 1), call.integer("high", n)));
  return call.add_all(hessenberg_op, NoParams{}, x);
}

Values sytrd(const Call& call, const Values& x) {
  return call.add_all(tridiagonal_op, TridiagonalParams{call.letter("uplo", "LU") == 'L'}, x);
}

// The overwritten diagonals come first.
Values gtsv(const Call& call, const Values& x) {
  const Values out = call.add_all(tridiagonal_solve_op, TridiagonalSolveParams{false}, x);
  return {x[0], x[1], x[2], out[0], out[1]};
}
Values perturbed(const Call& call, const Values& x) {
  return {call.add(tridiagonal_solve_op, TridiagonalSolveParams{true}, x)};
}

Values lu_decomposition(const Call& call, const Values& x) {
  Values out = call.add_all(lu_op, NoParams{}, x);
  out.pop_back();
  return out;
}

// --- Targets ---

struct Target {
  std::string_view name;
  size_t operands;
  Values (*results)(const Call&, const Values&);
};

constexpr Target kAllDtypes[] = {{"potrf", 1, potrf}, {"getrf", 1, getrf}, {"geqrf", 1, geqrf},
                                 {"geqp3", 2, geqp3}, {"trsm", 2, trsm},   {"gesdd", 1, gesdd},
                                 {"gesvd", 1, gesvd}, {"geev", 1, geev},   {"gees", 1, gees},
                                 {"gehrd", 1, gehrd}, {"gtsv", 4, gtsv}};
constexpr Target kReal[] = {
    {"orgqr", 2, orgqr}, {"ormqr", 3, ormqr}, {"syevd", 1, syevd}, {"sytrd", 1, sytrd}};
constexpr Target kComplex[] = {
    {"ungqr", 2, orgqr}, {"unmqr", 3, ormqr}, {"heevd", 1, syevd}, {"hetrd", 1, sytrd}};
constexpr Target kOthers[] = {{"Qr", 1, geqrf},
                              {"ProductOfElementaryHouseholderReflectors", 2, orgqr},
                              {"LuDecomposition", 1, lu_decomposition},
                              {"tridiagonal_solve_perturbed_ffi", 4, perturbed}};

using Targets = std::map<std::string, Target, std::less<>>;

Targets make_targets() {
  Targets out;
  const auto add = [&](std::string name, const Target& target) {
    const bool added = out.emplace(std::move(name), target).second;
    TESSERA_CHECK(added, "two targets {}", target.name);
  };
  const auto add_lapack = [&](std::string_view letters, std::span<const Target> all) {
    for (const Target& target : all)
      for (const char letter : letters)
        add(fmt::format("lapack_{}{}_ffi", letter, target.name), target);
  };
  add_lapack("sdcz", kAllDtypes);
  add_lapack("sd", kReal);
  add_lapack("cz", kComplex);
  for (const Target& target : kOthers) add(std::string(target.name), target);
  return out;
}

// Returns the targets by the name of the call.
const Targets& targets() {
  static const Targets& all = *new Targets(make_targets());
  return all;
}

// Returns a sort with this comparator, as a simple order by keys if it is one.
SortParams sort_by(const Call& call, const Values& x, int64_t dimension, FunctionRef comparator) {
  std::vector<DType> dtypes;
  for (ValueId v : x) dtypes.push_back(call.type(v).dtype);
  // The first elements of a sort by a default order are selected
  // (fusion/rewrites/simplify_sorts.h).
  std::optional<SortOrder> order = order_of(*comparator);
  if (order) {
    for (SortKey& key : *order)
      if (key.nans == NanOrder::kUnordered) key.nans = NanOrder::kLargest;
    for (bool descending : {false, true})
      for (bool total : {false, true})
        if (*order == default_order(1, descending, total, dtypes))
          return {dimension, true, 1, descending, total};
  }
  return {dimension, true, 1, false, false, std::move(comparator)};
}

}  // namespace

const std::vector<std::string>& lapack_targets() {
  static const std::vector<std::string>& names = *new std::vector<std::string>([] {
    std::vector<std::string> out;
    for (const auto& [name, target] : targets()) out.push_back(name);
    return out;
  }());
  return names;
}

Values lapack_call(OpReader& reader) {
  const auto* name = reader.require("call_target_name").get<std::string>();
  const auto target = targets().find(*name);
  TESSERA_CHECK(target != targets().end(), "a call of {}", *name);
  // A call that JAX does not emit goes to the registered handler, which describes its own errors.
  if (reader.operands.size() != target->second.operands && ops::has_ffi_target(*name))
    return ffi_call(reader);
  const Call call(reader);
  call.expect_operands(target->second.operands);
  return target->second.results(call, reader.operands);
}

// Returns the k largest, or smallest, elements along a dimension and their indices. They are exact,
// which satisfies any recall. Without aggregation the result is as long as the program says.
Values approx_top_k(OpReader& reader) {
  const Call call(reader);
  reader.require("call_target_name");
  const auto* called = reader.require("called_computations").get<TextAttr::List>();
  const auto* comparator =
      called && called->items.size() == 1 ? called->items[0].get<FunctionRef>() : nullptr;
  if (!comparator) reader.error("expected one called computation, a comparator");
  const size_t count = reader.operands.size() / 2;
  if (count == 0 || reader.operands.size() % 2 || reader.result_types.size() != count)
    reader.error("expected operands, an initial value for each, and the types of as many results");
  const int64_t rank = reader.type(reader.operands[0]).rank(),
                dimension = call.integer("reduction_dim", -1);
  if (dimension < 0 || dimension >= rank)
    reader.error(fmt::format("expected a reduction_dim in [0, {}), got {}", rank, dimension));
  const Values arrays(reader.operands.begin(),
                      reader.operands.begin() + static_cast<int64_t>(count));
  Values out = call.add_all(sort_op, sort_by(call, arrays, dimension, *comparator), arrays);
  const Dims start(static_cast<size_t>(rank), 0), strides(static_cast<size_t>(rank), 1);
  for (size_t r = 0; r < count; ++r) {
    const Shape sorted = call.type(out[r]).shape, &wanted = static_result(reader, r).shape;
    Dims limit = sorted;
    limit[dimension] = wanted.rank() == rank ? wanted[dimension] : sorted[dimension] + 1;
    if (limit[dimension] > sorted[dimension])
      reader.error(fmt::format("expected a result of at most {} elements, got {}",
                               sorted[dimension], wanted));
    out[r] = call.add(slice_op, SliceParams{start, limit, strides}, {out[r]});
  }
  return out;
}

}  // namespace tessera::interchange::foreign
