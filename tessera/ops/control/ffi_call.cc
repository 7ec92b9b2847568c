#include "tessera/ops/control/ffi_call.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tessera/base/fork.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/ops/control/whole_factors.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

using lax::FfiAlias;
using lax::FfiVmap;

constexpr std::string_view kCall = "ffi_call", kEffect = "ffi_call_with_effect";

struct FfiTargets {
  ForkSafeMutex mutex;
  std::map<std::string, std::shared_ptr<const FfiTarget>> by_name;
};

FfiTargets& ffi_targets() {
  // It is never destroyed: threads may compile programs while the process exits.
  static FfiTargets& all = *new FfiTargets;
  return all;
}

std::shared_ptr<const FfiTarget> find_target(const std::string& name) {
  FfiTargets& all = ffi_targets();
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_name.find(name);
  if (at == all.by_name.end())
    value_error(kCall,
                "expected a target that is registered in this process, got '{}'; register it by "
                "ffi::register_handler, or in Python by jax.ffi.register_ffi_target(..., "
                "platform=\"tessera\"), before the call is compiled",
                name);
  return at->second;
}

size_t bytes_of(const Type& type) {
  return static_cast<size_t>(type.shape.elements() * itemsize(type.dtype));
}

// --- What the params mean ---

std::vector<Type> result_types(const FfiCallParams& p) {
  std::vector<Type> out;
  for (size_t r = 0; r < p.dtypes.size(); ++r)
    out.push_back({.dtype = dtype_from_mlir_name(p.dtypes[r]), .shape = p.shapes[r]});
  return out;
}

// Returns the type that the target sees of an array that is stored with its dimensions in this
// order.
Type in_order(Type type, const Dims& order) {
  const Shape stored = type.shape;
  for (size_t i = 0; i < order.size(); ++i) type.shape[order[i]] = stored[static_cast<int64_t>(i)];
  return type;
}

Type without_leading(Type type) {
  type.shape = Shape(std::vector<int64_t>(type.shape.begin() + 1, type.shape.end()));
  return type;
}

bool is_order(const Dims& order, int64_t rank) {
  std::vector<char> seen(static_cast<size_t>(rank), 0);
  if (static_cast<int64_t>(order.size()) != rank) return false;
  for (int64_t d : order) {
    if (d < 0 || d >= rank || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = 1;
  }
  return true;
}

// Returns one call of the target, with types as they are in memory (before in_order).
FfiCallSite stored_site(std::span<const Type> operands, std::span<const Type> results,
                        const FfiCallParams& p) {
  FfiCallSite out{.attributes = decode(p.attributes)};
  for (size_t k = p.guarded ? 1 : 0; k < operands.size(); ++k) {
    const bool stepped = p.trips > 0 && p.stepped[out.operands.size()] == 1;
    out.operands.push_back(stepped ? without_leading(operands[k]) : operands[k]);
  }
  for (const Type& type : results)
    if (!p.without_results) out.results.push_back(p.trips > 0 ? without_leading(type) : type);
  for (const Dims& alias : p.aliases) out.aliases.push_back({alias[0], alias[1]});
  return out;
}

// --- Rules ---

void check_trips(std::string_view op, std::span<const Type> operands, std::span<const Type> results,
                 const FfiCallParams& p) {
  if (p.trips == 0) return;
  if (p.trips < 0 || p.stepped.size() != operands.size())
    value_error(op, "expected for each of {} operands whether calls step through it, got {}",
                operands.size(), p.stepped);
  const auto has_trips = [&](const Type& type) {
    return type.shape.rank() > 0 && type.shape[0] == p.trips;
  };
  for (size_t k = 0; k < operands.size(); ++k)
    if (p.stepped[k] == 1 && !has_trips(operands[k]))
      shape_error(op, "expected operand {} with the leading extent {}, got {}", k, p.trips,
                  operands[k].shape);
  for (const Type& type : results)
    if (!has_trips(type))
      shape_error(op, "expected results with the leading extent {}, got {}", p.trips, type.shape);
}

void check_aliases(std::string_view op, std::span<const Type> operands,
                   std::span<const Type> results, const FfiCallParams& p) {
  for (const Dims& alias : p.aliases) {
    const auto is_one = [](int64_t i, size_t n) { return i >= 0 && static_cast<size_t>(i) < n; };
    if (alias.size() != 2 || !is_one(alias[0], operands.size()) ||
        !is_one(alias[1], results.size()))
      value_error(op, "expected aliases of one of {} operands and one of {} results, got {}",
                  operands.size(), results.size(), alias);
    const Type& from = operands[static_cast<size_t>(alias[0])];
    const Type& to = results[static_cast<size_t>(alias[1])];
    if (from.dtype != to.dtype || from.shape != to.shape)
      type_error(op,
                 "expected an operand and a result of the same type as aliases, got {} and {}; "
                 "leave the alias of operand {} out",
                 describe(from), describe(to), alias[0]);
  }
}

std::vector<Type> infer_ffi(std::string_view op, std::span<const Type> operands,
                            const FfiCallParams& p) {
  if (p.dtypes.size() != p.shapes.size())
    value_error(op, "expected a dtype and a shape for each result, got {} dtypes and {} shapes",
                p.dtypes.size(), p.shapes.size());
  if (p.guarded && (operands.empty() || operands[0].dtype != bool_ || operands[0].shape.rank() > 0))
    type_error(op, "expected a bool[] first, which says whether it is called, got {}",
               operands.empty() ? std::string("none") : describe(operands[0]));
  for (const Dims& shape : p.shapes)
    for (int64_t n : shape)
      if (n < 0) shape_error(op, "expected shapes with sizes >= 0, got {}", shape);
  std::vector<Type> out = result_types(p);
  const std::span<const Type> arguments = operands.subspan(p.guarded ? 1 : 0);
  check_trips(op, arguments, out, p);
  const FfiCallSite site = stored_site(operands, out, p);
  check_aliases(op, site.operands, site.results, p);
  if (!p.orders.empty()) {
    bool valid = p.orders.size() == site.operands.size() + site.results.size();
    for (size_t i = 0; valid && i < p.orders.size(); ++i)
      valid = is_order(
          p.orders[i],
          (i < site.operands.size() ? site.operands[i] : site.results[i - site.operands.size()])
              .shape.rank());
    if (!valid)
      value_error(
          op,
          "expected an order of the dimensions of each operand and result, got {} that do not fit",
          p.orders.size());
  }
  const AxisNames varying = varying_union(operands);
  for (Type& type : out) type.varying = varying;
  return out;
}

// Returns the code of one call, or that of p.trips calls with one member of the leading dimension
// each.
HostCall stepped(HostCall call, const FfiCallSite& site, const FfiCallParams& p) {
  if (p.trips == 0) return call;
  std::vector<size_t> in_steps, out_steps;
  for (size_t k = 0; k < site.operands.size(); ++k)
    in_steps.push_back(p.stepped[k] == 1 ? bytes_of(site.operands[k]) : 0);
  for (const Type& type : site.results) out_steps.push_back(bytes_of(type));
  return [=, call = std::move(call), trips = p.trips](std::span<const void* const> in,
                                                      std::span<void* const> out) {
    std::vector<const void*> from(in.begin(), in.end());
    std::vector<void*> to(out.begin(), out.end());
    for (int64_t trip = 0; trip < trips; ++trip) {
      call(from, to);
      for (size_t k = 0; k < from.size(); ++k)
        from[k] = static_cast<const std::byte*>(from[k]) + in_steps[k];
      for (size_t r = 0; r < to.size(); ++r) to[r] = static_cast<std::byte*>(to[r]) + out_steps[r];
    }
  };
}

HostCall code_of(const FfiCallParams& p, std::span<const Type> operands,
                 std::span<const Type> results) {
  const FfiCallSite stored = stored_site(operands, results, p);
  FfiCallSite site = stored;
  for (size_t i = 0; i < p.orders.size(); ++i) {
    Type& type =
        i < site.operands.size() ? site.operands[i] : site.results[i - site.operands.size()];
    type = in_order(type, p.orders[i]);
  }
  HostCall call = stepped(find_target(p.target)->instantiate(site), stored, p);
  if (!p.guarded) return call;
  std::vector<size_t> bytes;
  for (const Type& type : results) bytes.push_back(bytes_of(type));
  return
      [call = std::move(call), bytes](std::span<const void* const> in, std::span<void* const> out) {
        if (*static_cast<const bool*>(in[0])) return call(in.subspan(1), out);
        for (size_t r = 0; r < bytes.size(); ++r) std::memset(out[r], 0, bytes[r]);
      };
}

HostCall lower_ffi(const OpParams& params, std::span<const Type> operands,
                   std::span<const Type> results) {
  return code_of(params.as<FfiCallParams>(), operands, results);
}

std::vector<Literal> evaluate_ffi(std::span<const Literal> operands, const FfiCallParams& p) {
  std::vector<Type> types;
  std::vector<const void*> in;
  for (const Literal& x : operands) {
    types.push_back({.dtype = x.dtype(), .shape = x.shape()});
    in.push_back(x.raw());
  }
  std::vector<Literal> out;
  std::vector<void*> to;
  const std::vector<Type> results = result_types(p);
  for (const Type& type : results) out.emplace_back(type.dtype, type.shape);
  for (Literal& x : out) to.push_back(x.mutable_raw());
  code_of(p, types, results)(in, to);
  return out;
}

Factors ffi_factors(std::span<const Type> operands, std::span<const Type> results,
                    const FfiCallParams&) {
  return whole_factors(operands, results);
}

// --- vmap ---

// Returns x with dimension `dim` first.
Array with_leading(const Array& x, int dim) {
  if (dim == 0) return x;
  Dims order{dim};
  for (int64_t d = 0; d < x.type().shape.rank(); ++d)
    if (d != dim) order.push_back(d);
  return lax::transpose(x, order);
}

// Returns `n` copies of x along a new leading dimension.
Array repeated(const Array& x, int64_t n) {
  Dims to;
  std::vector<int64_t> shape{n};
  for (int64_t d = 0; d < x.type().shape.rank(); ++d) {
    to.push_back(d + 1);
    shape.push_back(x.type().shape[d]);
  }
  return lax::broadcast_in_dim(x, Shape(shape), to);
}

Dims with_leading_extent(int64_t n, Dims dims) {
  dims.insert(dims.begin(), n);
  return dims;
}

Dims with_leading_dim(const Dims& order) {
  Dims out{0};
  for (int64_t d : order) out.push_back(d + 1);
  return out;
}

// merged() and split() merge and split the two leading dimensions of a batch of batches.
Array merged(const Array& x) {
  const Shape& s = x.type().shape;
  std::vector<int64_t> shape{s[0] * s[1]};
  shape.insert(shape.end(), s.begin() + 2, s.end());
  return lax::reshape(x, Shape(shape));
}
Array split(const Array& x, int64_t first) {
  const Shape& s = x.type().shape;
  std::vector<int64_t> shape{first, s[0] / first};
  shape.insert(shape.end(), s.begin() + 1, s.end());
  return lax::reshape(x, Shape(shape));
}

// Maps a call that is a batch of calls already: all calls become one batch.
std::vector<Array> batch_of_batches(const OpDef& op, std::vector<Array> x,
                                    std::span<const int> dims, int64_t n, FfiCallParams p) {
  const int64_t inner = p.trips;
  for (size_t k = 0; k < x.size(); ++k) {
    if (p.stepped[k] != 1) x[k] = dims[k] < 0 ? repeated(x[k], inner) : x[k];
    if (p.stepped[k] != 1 && dims[k] >= 0) {
      // (n, ...) -> (inner, n, ...) -> (n, inner, ...)
      Dims order{1, 0};
      const Array all = repeated(x[k], inner);
      for (int64_t d = 2; d < all.type().shape.rank(); ++d) order.push_back(d);
      x[k] = lax::transpose(all, order);
    } else if (dims[k] < 0) {
      x[k] = repeated(x[k], n);
    }
    x[k] = merged(x[k]);
  }
  p.trips = n * inner;
  p.stepped.assign(x.size(), 1);
  for (Dims& shape : p.shapes) shape[0] = p.trips;
  std::vector<Array> out;
  for (const Array& y : bind_op(op, p, x)) out.push_back(split(y, n));
  return out;
}

BatchResult ffi_batch(const OpDef& op, std::span<const Array> operands, std::span<const int> dims,
                      FfiCallParams p) {
  if (p.vmap == FfiVmap::kNone)
    value_error(kCall,
                "expected a call of '{}' outside of vmap, got one inside; say in FfiOptions::vmap "
                "how it is called on a batch",
                p.target);
  // At least one operand is mapped if a batching rule runs.
  const auto mapped = std::find_if(dims.begin(), dims.end(), [](int d) { return d >= 0; });
  const int64_t n = operands[static_cast<size_t>(mapped - dims.begin())].shape()[*mapped];
  std::vector<Array> x;
  for (size_t k = 0; k < operands.size(); ++k)
    x.push_back(dims[k] < 0 ? operands[k] : with_leading(operands[k], dims[k]));
  if (p.trips > 0) {
    std::vector<Array> out = batch_of_batches(op, std::move(x), dims, n, std::move(p));
    const std::vector<int> leading(out.size(), 0);
    return {std::move(out), leading};
  }
  for (Dims& shape : p.shapes) shape = with_leading_extent(n, shape);
  if (p.vmap == FfiVmap::kSequential) {
    p.trips = n;
    for (size_t k = 0; k < x.size(); ++k) p.stepped.push_back(dims[k] >= 0 ? 1 : 0);
  } else {
    for (Dims& order : p.orders) order = with_leading_dim(order);
    for (size_t k = 0; k < x.size(); ++k)
      if (dims[k] < 0) x[k] = repeated(x[k], p.vmap == FfiVmap::kBroadcastAll ? n : 1);
  }
  std::vector<Array> out = bind_op(op, p, x);
  const std::vector<int> leading(out.size(), 0);
  return {std::move(out), leading};
}

// --- Definitions ---

// A target for the property tests. It accepts any operands, and fills the first result with 0, 1,
// 2, ...
class CountUp : public FfiTarget {
 public:
  HostCall instantiate(const FfiCallSite& site) const override {
    return [n = site.results[0].shape.elements()](auto, std::span<void* const> out) {
      for (int64_t i = 0; i < n; ++i) static_cast<float*>(out[0])[i] = static_cast<float>(i);
    };
  }
};

std::vector<Sample> ffi_samples() {
  static const bool known = (set_ffi_target("tessera.count_up", std::make_shared<CountUp>()), true);
  TESSERA_CHECK(known, "a target for samples");
  return {{.operands = {{float32, {2, 3}}},
           .params = FfiCallParams{.target = "tessera.count_up",
                                   .dtypes = {"f32"},
                                   .shapes = {Dims{2, 3}},
                                   .attributes = encode({{"axis", int32_t{1}}, {"name", "x"}}),
                                   .vmap = FfiVmap::kSequential}}};
}

constexpr const char* kNoJvp =
    "a native function has no derivative; give the function around it one with custom_jvp or "
    "custom_vjp";
constexpr const char* kNoTranspose = "a native function is not known to be linear";

template <const std::string_view& op, const OpDef*& self, bool effect>
const OpDef& define_ffi() {
  const OpDef& out = define<FfiCallParams>(
      {.name = op,
       .dialect = "tessera",
       .attributes = {"target", "dtypes", "shapes", "attributes", "aliases", "orders", "vmap",
                      "trips", "stepped", "without_results", "guarded"},
       .infer = [](std::span<const Type> operands,
                   const FfiCallParams& p) { return infer_ffi(op, operands, p); },
       .evaluate = [](std::span<const Literal> x,
                      const FfiCallParams& p) { return evaluate_ffi(x, p); },
       .factors = ffi_factors,
       .lower = Library{LibraryKind::kCall, lower_ffi},
       .jvp = absent(kNoJvp),
       .transpose = absent(kNoTranspose),
       .batch = [](std::span<const Array> x, std::span<const int> dims,
                   const FfiCallParams& p) { return ffi_batch(*self, x, dims, p); },
       .samples = ffi_samples,
       .effect = effect,
       .narrow = NarrowOperands::kAsTheyAre});
  self = &out;
  return out;
}

const OpDef* call_op = nullptr;
const OpDef* effect_op = nullptr;

}  // namespace

const OpDef& ffi_call_op = define_ffi<kCall, call_op, false>();
const OpDef& ffi_effect_op = define_ffi<kEffect, effect_op, true>();

bool is_ffi_call(const ir::Op& op) { return op.def == &ffi_call_op || op.def == &ffi_effect_op; }

void set_ffi_target(const std::string& name, std::shared_ptr<const FfiTarget> target) {
  FfiTargets& all = ffi_targets();
  const std::lock_guard lock(all.mutex);
  all.by_name[name].swap(target);
}

bool has_ffi_target(const std::string& name) {
  FfiTargets& all = ffi_targets();
  const std::lock_guard lock(all.mutex);
  return all.by_name.count(name) > 0;
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

std::vector<Array> ffi_call(const std::string& target, const std::vector<ir::Type>& results,
                            const std::vector<Array>& args, const FfiOptions& options) {
  SourceScope source(kCall);
  find_target(target);
  const bool none = results.empty();  // then the op's result is a token
  FfiCallParams p{.target = target,
                  .attributes = encode(options.attributes),
                  .vmap = options.vmap,
                  .without_results = none};
  for (const Type& type : none ? std::vector{ir::token_type()} : results) {
    p.dtypes.emplace_back(mlir_name(type.dtype));
    p.shapes.push_back(type.shape);
  }
  for (const FfiAlias& alias : options.aliases) p.aliases.push_back({alias.operand, alias.result});
  std::vector<Array> out =
      bind_op(options.has_side_effect ? ffi_effect_op : ffi_call_op, std::move(p), args);
  return none ? std::vector<Array>() : out;
}

}  // namespace tessera::lax
