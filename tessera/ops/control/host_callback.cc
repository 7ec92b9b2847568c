#include "tessera/ops/control/host_callback.h"

#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "tessera/base/fork.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/control/callback_params.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/ops/control/whole_factors.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

using lax::BatchedHostFunction, lax::HostBatch, lax::HostCallOptions, lax::HostFunction,
    lax::VmapMethod;

// A function and its options; if vmap may call it, also its types for one example.
struct HostEntry {
  BatchedHostFunction function;
  HostCallOptions options = {};
  std::vector<Type> arguments = {}, results = {};

  // Returns the extents that vmap put in front of arguments and results, whose shapes are now `in`
  // and `out`.
  HostBatch batch(std::span<const Shape> in, const Shape& out) const {
    if (options.vmap_method == VmapMethod::kNone) return unmapped();
    const auto front = [](const Shape& shape, const Type& own) {
      return Dims(std::span(shape).first(shape.size() - own.shape.size()));
    };
    HostBatch all{.results = front(out, results[0])};
    for (size_t a = 0; a < arguments.size(); ++a)
      all.arguments.push_back(front(in[a], arguments[a]));
    return all;
  }
  void call(const HostBatch& batch, std::span<const void* const> in,
            std::span<void* const> out) const {
    switch (options.vmap_method) {
      case VmapMethod::kNone:
      case VmapMethod::kExpandDims:
      case VmapMethod::kBroadcastAll:
        return function(batch, in, out);
      case VmapMethod::kSequential:
        return call_each(batch.results.elements(), in, out);
    }
  }

 private:
  HostBatch unmapped() const {
    return {.arguments = std::vector<Dims>(arguments.size()), .results = {}};
  }
  static int64_t bytes(const Type& type) { return type.shape.elements() * itemsize(type.dtype); }
  void call_each(int64_t examples, std::span<const void* const> in,
                 std::span<void* const> out) const {
    const HostBatch none = unmapped();
    std::vector<const void*> from(arguments.size());
    std::vector<void*> to(results.size());
    for (int64_t i = 0; i < examples; ++i) {
      for (size_t a = 0; a < from.size(); ++a)
        from[a] = static_cast<const std::byte*>(in[a]) + i * bytes(arguments[a]);
      for (size_t r = 0; r < to.size(); ++r)
        to[r] = static_cast<std::byte*>(out[r]) + i * bytes(results[r]);
      function(none, from, to);
    }
  }
};

struct HostFunctions {
  ForkSafeMutex mutex;
  std::map<int64_t, std::shared_ptr<const HostEntry>> functions;
  // Numbers start at a random one: a program that another process traced must not name a function
  // of this process.
  int64_t next = static_cast<int64_t>(std::random_device()()) << 24;
};

HostFunctions& host_functions() {
  // It is never destroyed: threads may run programs while the process exits.
  static HostFunctions& all = *new HostFunctions;
  return all;
}

std::shared_ptr<const HostEntry> find_function(std::string_view op, int64_t number) {
  HostFunctions& all = host_functions();
  const std::lock_guard lock(all.mutex);
  const auto at = all.functions.find(number);
  if (at == all.functions.end())
    value_error(op,
                "expected the number of a function of this process, got {}; programs that call "
                "functions of the host run only where they were traced, while these are there",
                number);
  return at->second;
}

struct CallbackParams {
  int64_t function = 0;
  std::vector<std::string> dtypes;  // dtypes of the results
  std::vector<Dims> shapes;
};

constexpr std::string_view kPure = "pure_callback", kIo = "io_callback", kIf = "io_callback_if";

std::vector<Type> infer_callback(std::string_view op, std::span<const Type> operands,
                                 const CallbackParams& p) {
  if (p.dtypes.size() != p.shapes.size())
    value_error(op, "expected a dtype and a shape for each result, got {} dtypes and {} shapes",
                p.dtypes.size(), p.shapes.size());
  if (op == kIf && (operands.empty() || operands[0].dtype != bool_ || operands[0].shape.rank() > 0))
    type_error(op, "expected a bool[] first, which says whether it is called, got {}",
               operands.empty() ? std::string("none") : describe(operands[0]));
  const AxisNames varying = varying_union(operands);
  std::vector<Type> out;
  for (size_t r = 0; r < p.dtypes.size(); ++r) {
    for (int64_t n : p.shapes[r])
      if (n < 0) shape_error(op, "expected shapes with sizes >= 0, got {}", p.shapes[r]);
    out.push_back(
        {.dtype = dtype_from_mlir_name(p.dtypes[r]), .shape = p.shapes[r], .varying = varying});
  }
  return out;
}

std::vector<Literal> evaluate_callback(std::string_view op, std::span<const Literal> operands,
                                       const CallbackParams& p) {
  std::vector<const void*> in;
  for (const Literal& x : operands) in.push_back(x.raw());
  std::vector<Literal> out;
  std::vector<void*> to;
  for (size_t r = 0; r < p.dtypes.size(); ++r)
    out.emplace_back(dtype_from_mlir_name(p.dtypes[r]), p.shapes[r]);
  for (Literal& x : out) to.push_back(x.mutable_raw());
  const std::span<const void* const> arguments(in);
  const auto entry = find_function(op, p.function);
  const size_t first = op == kIf ? 1 : 0;  // after the condition
  std::vector<Shape> shapes;
  for (const Literal& x : operands.subspan(first)) shapes.push_back(x.shape());
  const HostBatch batch = entry->batch(shapes, p.shapes[0]);
  if (op != kIf || *static_cast<const bool*>(in[0]))
    entry->call(batch, arguments.subspan(first), to);
  return out;
}

// Returns the code of a call, which shares ownership of the function.
template <const std::string_view& op>
HostCall callback_call(const OpParams& params, std::span<const Type> operands,
                       std::span<const Type> results) {
  const auto function = find_function(op, params.as<CallbackParams>().function);
  std::vector<Shape> shapes;
  for (const Type& type : operands.subspan(op == kIf ? 1 : 0)) shapes.push_back(type.shape);
  const HostBatch batch = function->batch(shapes, results[0].shape);
  if (op != kIf)
    return [function, batch](std::span<const void* const> in, std::span<void* const> out) {
      function->call(batch, in, out);
    };
  std::vector<size_t> bytes;
  for (const Type& type : results)
    bytes.push_back(static_cast<size_t>(type.shape.elements() * itemsize(type.dtype)));
  return [function, batch, bytes](std::span<const void* const> in, std::span<void* const> out) {
    if (*static_cast<const bool*>(in[0])) return function->call(batch, in.subspan(1), out);
    for (size_t r = 0; r < bytes.size(); ++r) std::memset(out[r], 0, bytes[r]);
  };
}

void count_up(const HostBatch&, std::span<const void* const>, std::span<void* const> out) {
  for (int64_t i = 0; i < 6; ++i) static_cast<float*>(out[0])[i] = static_cast<float>(i);
}

template <const std::string_view& op>
std::vector<Sample> callback_samples() {
  std::vector<Type> operands{{float32, {2, 3}}};
  static const int64_t number = lax::add_host_function(count_up, operands, operands,
                                                       {.vmap_method = VmapMethod::kSequential});
  if (op == kIf) operands.insert(operands.begin(), Type{bool_, {}});
  return {{.operands = operands, .params = CallbackParams{number, {"f32"}, {Dims{2, 3}}}}};
}

constexpr const char* kNoJvp =
    "a function of the host has no derivative; give the function around it one with custom_jvp or "
    "custom_vjp";
constexpr const char* kNoTranspose = "a function of the host is not known to be linear";
constexpr const char* kNoBatch = "the partitioner makes this op, after vmap";

// Returns x repeated along a new leading dimension of this extent.
Array repeated_in_front(const Array& x, int64_t extent) {
  Shape shape{extent};
  Dims kept;
  for (int64_t d = 0; d < x.ndim(); ++d) {
    shape.push_back(x.shape()[d]);
    kept.push_back(d + 1);
  }
  return lax::broadcast_in_dim(x, shape, kept);
}

// Maps a callback: all operands and results get the mapped dimension in front.
BatchResult batch_callback(std::string_view op, const OpDef& def, std::span<const Array> x,
                           std::span<const int> dims, CallbackParams p) {
  const HostCallOptions options = find_function(op, p.function)->options;
  if (options.ordered)
    value_error(op,
                "expected an ordered call outside vmap, got one of a mapped function, whose calls "
                "have no order across examples; call it outside vmap, or without `ordered`");
  if (options.vmap_method == VmapMethod::kNone)
    value_error(op,
                "expected a function that says how vmap calls it, got one of whole arrays; give "
                "pure_callback a vmap_method, or call it outside vmap, on the batch");
  int64_t size = 0;  // size of the mapped dimension; at least one operand has it
  for (size_t i = 0; i < x.size(); ++i)
    if (dims[i] >= 0) size = x[i].shape()[dims[i]];
  const int64_t unmapped = options.vmap_method == VmapMethod::kExpandDims ? 1 : size;
  std::vector<Array> operands;
  for (size_t i = 0; i < x.size(); ++i)
    operands.push_back(dims[i] >= 0 ? lax::move_to_front(x[i], dims[i])
                                    : repeated_in_front(x[i], unmapped));
  for (Dims& shape : p.shapes) shape.insert(shape.begin(), size);
  BatchResult out{bind_op(def, std::move(p), operands), {}};
  out.dims.assign(out.results.size(), 0);
  return out;
}

using BatchRule = decltype(OpSpec<CallbackParams>::batch);

template <const std::string_view& op, bool effect>
const OpDef& define_callback(BatchRule batch) {
  return define<CallbackParams>(
      {.name = op,
       .dialect = "tessera",
       .attributes = {"function", "dtypes", "shapes"},
       .infer = [](std::span<const Type> operands,
                   const CallbackParams& p) { return infer_callback(op, operands, p); },
       .evaluate = [](std::span<const Literal> x,
                      const CallbackParams& p) { return evaluate_callback(op, x, p); },
       .factors = [](std::span<const Type> operands, std::span<const Type> results,
                     const CallbackParams&) { return whole_factors(operands, results); },
       .lower = Library{LibraryKind::kCall, callback_call<op>},
       .jvp = absent(kNoJvp),
       .transpose = absent(kNoTranspose),
       .batch = batch,
       .samples = callback_samples<op>,
       .effect = effect,
       .narrow = NarrowOperands::kAsTheyAre});
}

}  // namespace

const OpDef& pure_callback_op = define_callback<kPure, false>(
    [](std::span<const Array> x, std::span<const int> dims, const CallbackParams& p) {
      return batch_callback(kPure, pure_callback_op, x, dims, p);
    });
const OpDef& io_callback_op = define_callback<kIo, true>(
    [](std::span<const Array> x, std::span<const int> dims, const CallbackParams& p) {
      return batch_callback(kIo, io_callback_op, x, dims, p);
    });
const OpDef& io_callback_if_op = define_callback<kIf, true>(absent(kNoBatch));

OpParams callback_params(int64_t function, const std::vector<Type>& results) {
  CallbackParams out{.function = function};
  for (const Type& type : results) {
    out.dtypes.emplace_back(mlir_name(type.dtype));
    out.shapes.push_back(type.shape);
  }
  return out;
}

bool calls_host(const Op& op) {
  return op.def == &pure_callback_op || op.def == &io_callback_op || op.def == &io_callback_if_op ||
         is_ffi_call(op);
}

bool is_io_call(const Op& op) {
  if (op.def == &io_callback_if_op) return true;
  return op.def == &io_callback_op &&
         !find_function(kIo, op.params.as<CallbackParams>().function)->options.debug;
}

bool is_guardable(const ir::Op& op) {
  return op.def == &pure_callback_op || op.def == &io_callback_op ||
         (op.def == &ffi_effect_op && !op.params.as<FfiCallParams>().guarded);
}

ir::Op guarded(ir::Op op, ir::ValueId guard) {
  if (op.def == &ffi_effect_op) {
    FfiCallParams params = op.params.as<FfiCallParams>();
    params.guarded = true;
    op.params = std::move(params);
  } else {
    op.def = &io_callback_if_op;
  }
  op.operands.insert(op.operands.begin(), guard);
  return op;
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

int64_t add_entry(HostEntry entry) {
  HostFunctions& all = host_functions();
  const std::lock_guard lock(all.mutex);
  all.functions[all.next] = std::make_shared<const HostEntry>(std::move(entry));
  return all.next++;
}

}  // namespace

int64_t add_host_function(HostFunction function) {
  return add_entry(
      {[function = std::move(function)](const HostBatch&, std::span<const void* const> in,
                                        std::span<void* const> out) { function(in, out); }});
}

int64_t add_host_function(BatchedHostFunction function, std::vector<Type> arguments,
                          std::vector<Type> results, const HostCallOptions& options) {
  TESSERA_CHECK(!results.empty(), "a function of the host without a result");
  return add_entry({std::move(function), options, std::move(arguments), std::move(results)});
}

void remove_host_function(int64_t number) {
  std::shared_ptr<const HostEntry> last;  // destroyed after the lock is released
  HostFunctions& all = host_functions();
  const std::lock_guard lock(all.mutex);
  const auto at = all.functions.find(number);
  if (at == all.functions.end()) return;
  last = std::move(at->second);
  all.functions.erase(at);
}

std::vector<Array> pure_callback(int64_t function, const std::vector<ir::Type>& results,
                                 const std::vector<Array>& args) {
  SourceScope source(kPure);
  find_function(kPure, function);
  return bind_op(pure_callback_op, callback_params(function, results), args);
}

std::vector<Array> io_callback(int64_t function, const std::vector<ir::Type>& results,
                               const std::vector<Array>& args) {
  SourceScope source(kIo);
  find_function(kIo, function);
  // An op has a result; if the function has none, it is a token.
  const bool none = results.empty();
  const std::vector<Type> types = none ? std::vector{ir::token_type()} : results;
  std::vector<Array> out = bind_op(io_callback_op, callback_params(function, types), args);
  return none ? std::vector<Array>() : out;
}

}  // namespace tessera::lax
