#include "tessera/ops/indexing/scatter_evaluate.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/core/fold_element.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {
namespace {

struct Set {};

template <class Kind, class T>
T folded(T old, T update) {
  if constexpr (std::is_same_v<Kind, Set>) {
    return update;
  } else {
    return fold_element<Kind::value, T>(old, update);
  }
}

// Columns [begin, end) of each run of one window.
template <class Kind, class T>
void fold_window(const IndexedWindows::Runs& runs, T* out, const T* updates, int64_t begin,
                 int64_t end) {
  for (size_t k = 0; k < runs.in_operand.size(); ++k) {
    T* to = out + runs.in_operand[k];
    const T* from = updates + runs.in_windows[k];
    for (int64_t i = begin; i < end; ++i) to[i] = folded<Kind, T>(to[i], from[i]);
  }
}

template <class F>
void visit_kind(ScatterKind kind, F&& f) {
  switch (kind) {
    case ScatterKind::kSet:
      return f(Set{});
    case ScatterKind::kAdd:
      return visit_fold(ReduceKind::kSum, f);
    case ScatterKind::kMul:
      return visit_fold(ReduceKind::kProduct, f);
    case ScatterKind::kMin:
      return visit_fold(ReduceKind::kMin, f);
    case ScatterKind::kMax:
      return visit_fold(ReduceKind::kMax, f);
    case ScatterKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a custom update has a body");
}

// A window's elements are distinct, so its body may run on all of them at once.
void fold_custom(const Function& body, const IndexedWindows::Runs& runs, DType dtype,
                 std::byte* out, const std::byte* updates) {
  const auto item = static_cast<size_t>(itemsize(dtype));
  const auto run_bytes = static_cast<size_t>(runs.run) * item;
  const Shape shape{static_cast<int64_t>(runs.in_operand.size()) * runs.run};
  std::vector<Literal> args(2, Literal(dtype, shape));
  for (size_t k = 0; k < runs.in_operand.size(); ++k) {
    std::memcpy(args[0].mutable_raw() + k * run_bytes,
                out + static_cast<size_t>(runs.in_operand[k]) * item, run_bytes);
    std::memcpy(args[1].mutable_raw() + k * run_bytes,
                updates + static_cast<size_t>(runs.in_windows[k]) * item, run_bytes);
  }
  const Literal result = evaluate_function(body, args)[0];
  for (size_t k = 0; k < runs.in_operand.size(); ++k)
    std::memcpy(out + static_cast<size_t>(runs.in_operand[k]) * item, result.raw() + k * run_bytes,
                run_bytes);
}

constexpr int64_t kSerialElements = 1 << 14;  // fewer are not worth a task
constexpr int64_t kColumns = 64;              // of a task

// One scatter's geometry, worked out once.
struct Scatter {
  ScatterKind kind;
  FunctionRef body;
  DType dtype, index_dtype;
  IndexedWindows windows;
  IndexedWindows::Runs runs;
  std::vector<int64_t> updates_at;
  int64_t operand_elements;

  Scatter(const ScatterParams& p, const Type& operand, const Type& indices, const Type& updates)
      : kind(p.kind),
        body(p.body),
        dtype(operand.dtype),
        index_dtype(indices.dtype),
        windows(scatter_windows(p, operand.shape, indices.shape, updates.shape)),
        operand_elements(operand.elements()) {
    if (updates.elements() == 0) return;
    runs = windows.runs();
    updates_at = windows.window_offsets();
  }

  void run(const void* indices, const void* updates, void* out) const {
    const auto count = static_cast<int64_t>(updates_at.size());
    std::vector<int64_t> bases(updates_at.size());
    const int64_t window = runs.run * static_cast<int64_t>(runs.in_operand.size());
    const bool serial = count * window < kSerialElements || num_threads() == 1;
    parallel_for_ranges(count, serial ? count : ceil_div(count, 4 * num_threads()),
                        [&](int64_t begin, int64_t end) {
                          windows.bases(index_dtype, indices, false, begin, end,
                                        bases.data() + begin);
                        });
    if (kind == ScatterKind::kCustom) {
      const auto item = static_cast<int64_t>(itemsize(dtype));
      for (size_t w = 0; w < bases.size(); ++w)
        if (bases[w] >= 0)
          fold_custom(*body, runs, dtype, static_cast<std::byte*>(out) + bases[w] * item,
                      static_cast<const std::byte*>(updates) + updates_at[w] * item);
      return;
    }
    visit_kind(kind, [&](auto constant) {
      visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
        using Kind = decltype(constant);
        auto fold = [&](int64_t w, int64_t begin, int64_t end) {
          fold_window<Kind, T>(runs, static_cast<T*>(out) + bases[w],
                               static_cast<const T*>(updates) + updates_at[w], begin, end);
        };
        // Every element gets its updates in order, whichever task it belongs to.
        if (serial) {
          for (int64_t w = 0; w < count; ++w)
            if (bases[w] >= 0) fold(w, 0, runs.run);
        } else if (runs.run >= 2 * kColumns) {
          const int64_t grain =
              std::max(kColumns, ceil_div(ceil_div(runs.run, num_threads()), 16) * 16);
          parallel_for_ranges(runs.run, grain, [&](int64_t begin, int64_t end) {
            for (int64_t w = 0; w < count; ++w)
              if (bases[w] >= 0) fold(w, begin, end);
          });
        } else if (windows.disjoint()) {
          const int64_t tasks = num_threads();
          parallel_for(tasks, [&](int64_t task) {
            const int64_t first = task * operand_elements / tasks,
                          last = (task + 1) * operand_elements / tasks;
            for (int64_t w = 0; w < count; ++w)
              if (bases[w] >= first && bases[w] < last) fold(w, 0, runs.run);
          });
        } else {
          for (int64_t w = 0; w < count; ++w)
            if (bases[w] >= 0) fold(w, 0, runs.run);
        }
      });
    });
  }
};

Type type_of(const Literal& x) { return {x.dtype(), x.shape()}; }

}  // namespace

std::vector<Literal> evaluate_scatter(std::span<const Literal> x, const ScatterParams& p) {
  Literal out = x[0];
  const Scatter scatter(p, type_of(x[0]), type_of(x[1]), type_of(x[2]));
  if (x[2].elements() > 0) scatter.run(x[1].raw(), x[2].raw(), out.mutable_raw());
  return {out};
}

HostCall scatter_call(const OpParams& params, std::span<const Type> operands,
                      std::span<const Type> results) {
  const auto scatter = std::make_shared<const Scatter>(params.as<ScatterParams>(), operands[0],
                                                       operands[1], operands[2]);
  const auto bytes = static_cast<int64_t>(results[0].elements() * itemsize(results[0].dtype));
  const bool none = operands[2].elements() == 0;
  return [=](std::span<const void* const> in, std::span<void* const> out) {
    constexpr int64_t kChunk = 1 << 20;
    if (in[0] != out[0])
      parallel_for_ranges(bytes, kChunk, [&](int64_t begin, int64_t end) {
        std::memcpy(static_cast<std::byte*>(out[0]) + begin,
                    static_cast<const std::byte*>(in[0]) + begin, static_cast<size_t>(end - begin));
      });
    if (!none) scatter->run(in[1], in[2], out[0]);
  };
}

}  // namespace tessera::ops
