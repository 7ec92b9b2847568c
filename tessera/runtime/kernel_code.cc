// Kernel steps: runs instances x ranges of the parallel index as tasks.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdlib>

#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/codegen/compiler.h"
#include "tessera/runtime/routine_code.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Which indices a node depends on: the inner ones of its loop, the last parallel one, others. The
// code computes a node that does not depend on the innermost index once for a row, or once.
constexpr unsigned kOnInner = 1, kOnLast = 2, kOnRow = 4;

unsigned dependence(const Affine& address, const Dims& parallel) {
  const auto moves = [](int64_t stride) { return stride != 0; };
  unsigned out = std::any_of(address.inner.begin(), address.inner.end(), moves) ? kOnInner : 0U;
  for (size_t d = 0; d < address.parallel.size(); ++d)
    if (address.parallel[d] != 0 && parallel[d] > 1)
      out |= d + 1 == parallel.size() ? kOnLast : kOnRow;
  return out;
}

std::vector<unsigned> dependences(const Kernel& kernel) {
  std::vector<unsigned> out;
  for (const KernelNode& node : kernel.nodes) {
    unsigned on = node.kind == NodeKind::kReduced ? kOnLast : 0U;
    if (node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex)
      on = dependence(node.address, kernel.parallel);
    for (int arg : node.args) on |= out[static_cast<size_t>(arg)];
    for (const auto& [index, stride] : node.dynamic) on |= out[static_cast<size_t>(index)];
    if (node.guard >= 0) on |= out[static_cast<size_t>(node.guard)];
    out.push_back(on);
  }
  return out;
}

// Returns the nanoseconds for one parallel index.
double parallel_cost(const Kernel& kernel) {
  double inner = 0;
  for (const KernelLoop& loop : kernel.loops) inner += static_cast<double>(loop.extents.elements());
  inner /= static_cast<double>(std::max<size_t>(1, kernel.loops.size()));
  const double row = kernel.parallel.empty() ? 1 : static_cast<double>(kernel.parallel.back());
  const std::vector<unsigned> on = dependences(kernel);
  double ns = 0;
  for (size_t k = 0; k < kernel.nodes.size(); ++k) {
    const KernelNode& node = kernel.nodes[k];
    const double times = on[k] & kOnInner  ? inner
                         : on[k] & kOnLast ? std::min(1.0, inner)
                         : on[k] & kOnRow  ? std::min(1.0, inner) / std::max(1.0, row)
                                           : 0;
    if (node.kind == NodeKind::kScalarOp) ns += times * scalar_op_info(node.op).cost.ns;
    if (node.kind == NodeKind::kLoad)
      ns += times * (0.06 * static_cast<double>(itemsize(node.dtype)) +
                     (node.dynamic.empty() || (on[k] & ~kOnRow) == 0 ? 0 : 1));
  }
  for (const KernelLoop& loop : kernel.loops)
    for (const KernelStore& store : loop.stores)
      ns += inner * 0.06 *
            static_cast<double>(itemsize(kernel.nodes[static_cast<size_t>(store.node)].dtype));
  return std::max(0.02, ns);
}

// Blocks of the parallel index, for kernels that read an operand across: neighbouring columns of
// the result read different cache lines, and its neighbouring rows read the same ones. In the order
// of the index all lines of the operand would pass through the cache once a row.
//
// Example: a result of (32, 34320) that reads five arrays of (34320, 32): a block is all 32 rows of
// 384 columns, which read 5 * 384 lines of four rows each.
struct Blocks {
  int64_t outer = 1, rows = 1, columns = 1;   // the parallel index, in order
  int64_t block_rows = 0, block_columns = 0;  // 0: not in blocks
  int64_t row_blocks() const { return ceil_div(rows, block_rows); }
  int64_t column_blocks() const { return ceil_div(columns, block_columns); }
  int64_t count() const { return outer * row_blocks() * column_blocks(); }
  // Calls range(begin, end) for each row of a block.
  template <class F>
  void each_row(int64_t block, F&& range) const {
    const int64_t first = block % column_blocks() * block_columns, at = block / column_blocks(),
                  row = at % row_blocks() * block_rows, end = std::min(rows, row + block_rows);
    for (int64_t r = row; r < end; ++r) {
      const int64_t start = (at / row_blocks() * rows + r) * columns;
      range(start + first, start + std::min(columns, first + block_columns));
    }
  }
};

constexpr int64_t kLine = 64;

// Returns the outermost dimension along which a load that reads across goes through its lines, or
// -1.
int dim_along_lines(const Kernel& kernel, const KernelNode& node) {
  const Dims& step = node.address.parallel;
  const int64_t size = itemsize(node.dtype);
  if (node.kind != NodeKind::kLoad || std::abs(step.back()) * size < kLine) return -1;
  for (size_t d = 0; d + 1 < step.size(); ++d)
    if (step[d] != 0 && std::abs(step[d]) * size < kLine && kernel.parallel[d] > 1)
      return static_cast<int>(d);
  return -1;
}

Blocks find_blocks(const Kernel& kernel, double element_ns) {
  // Of lines: fewer stay in the cache from one row to the next, and more lines than kBlockLines may
  // not.
  constexpr int64_t kCachedLines = 4096, kBlockLines = 2048, kLeastColumns = 128;
  Blocks out;
  if (kernel.vectorize != Kernel::Vectorize::kParallel || kernel.parallel.size() < 2) return out;
  for (const KernelLoop& loop : kernel.loops)
    if (!loop.extents.empty()) return out;
  int64_t loads = 0;
  int dim = -1;
  for (const KernelNode& node : kernel.nodes) {
    const int along = dim_along_lines(kernel, node);
    if (along < 0) continue;
    ++loads;
    dim = dim < 0 ? along : std::min(dim, along);
  }
  if (dim < 0 || codegen::has_tiles(kernel)) return out;
  const auto extent = [&](size_t d) { return kernel.parallel[d]; };
  const auto row_dim = static_cast<size_t>(dim);
  for (size_t d = 0; d < row_dim; ++d) out.outer *= extent(d);
  out.rows = extent(row_dim);
  for (size_t d = row_dim + 1; d < kernel.parallel.size(); ++d) out.columns *= extent(d);
  if (loads * out.columns <= kCachedLines) return out;
  const int64_t columns =
      std::max(kLeastColumns, kBlockLines / loads / kLeastColumns * kLeastColumns);
  if (out.columns <= columns) return out;
  out.block_columns = columns;
  const auto rows = static_cast<int64_t>(kTaskNs / (element_ns * static_cast<double>(columns)));
  out.block_rows = std::min(out.rows, ceil_div(rows + 1, kLine) * kLine);
  return out;
}

struct BufferUse {
  int slot;        // -1 for scratch memory
  int64_t offset;  // the offset in the task's scratch memory
  InstanceMap map;
};

class KernelStepCode final : public StepCode {
 public:
  KernelStepCode(const KernelStep& step, const Schedule& schedule, KernelCode code)
      : code_(std::move(code)),
        elements_(step.kernel.parallel_elements()),
        instances_(instance_count(schedule, step.axes)) {
    for (size_t i = 0; i < step.slots.size(); ++i) {
      const KernelBuffer& buffer = step.kernel.buffers[i];
      if (step.slots[i] < 0) {
        buffers_.push_back({-1, scratch_, InstanceMap()});
        scratch_ += ceil_div(buffer.elements * itemsize(buffer.dtype), 64) * 64;
      } else {
        const Slot& slot = schedule.slots[static_cast<size_t>(step.slots[i])];
        buffers_.push_back({step.slots[i], 0, InstanceMap(schedule, step.axes, slot.axes)});
      }
    }
    const double element_ns = parallel_cost(step.kernel);
    const double total =
        element_ns * static_cast<double>(elements_) * static_cast<double>(instances_);
    blocks_ = find_blocks(step.kernel, element_ns);
    if (blocks_.block_rows > 0) {
      const int64_t chunks = blocks_.count(), all = instances_ * chunks,
                    units = std::clamp<int64_t>(
                        static_cast<int64_t>(kTaskNs * static_cast<double>(all) / total), 1, all);
      division_ = short_division_ = {0, chunks, units, ceil_div(all, units)};
      return;
    }
    if (total <= kInlineNs) return;  // all work is one task
    const int64_t unit = std::max<int64_t>(1, codegen::split_unit(step.kernel));
    constexpr double kWantedTasks = 8;
    division_ = divide(element_ns, unit, kTaskNs);
    short_division_ =
        divide(element_ns, unit, std::clamp(total / kWantedTasks, kShortTaskNs, kTaskNs));
  }

  int64_t code_bytes() const override { return code_.bytes; }
  void run(const SlotRef* slots, std::byte*) const override {
    if (elements_ == 0) return;
    ThreadPool& pool = thread_pool();
    const bool awake = short_division_.tasks > division_.tasks && pool.awake();
    const Division& d = awake ? short_division_ : division_;
    if (d.tasks <= 1 && blocks_.block_rows == 0) {
      for (int64_t i = 0; i < instances_; ++i) call(slots, i, 0, elements_);
      return;
    }
    const auto task = [&](int64_t t) { run_task(slots, d, t); };
    awake ? pool.parallel_for_awake(d.tasks, task) : pool.parallel_for(d.tasks, task);
  }

 private:
  // How the parallel indices of all instances are divided. A chunk is a range of `grain` indices or
  // a block; a task has `units` chunks.
  struct Division {
    int64_t grain = 0, chunks = 1, units = 1, tasks = 1;
  };

  // Makes tasks of about `task_ns` of ranges that are multiples of `unit`.
  Division divide(double element_ns, int64_t unit, double task_ns) const {
    const auto wanted = static_cast<int64_t>(task_ns / element_ns) + 1;
    Division d;
    d.grain = std::min(elements_, ceil_div(wanted, unit) * unit);
    d.chunks = d.grain > 0 ? ceil_div(elements_, d.grain) : 0;
    if (d.chunks <= 1)
      d.units = std::max<int64_t>(
          1, static_cast<int64_t>(task_ns / (element_ns * static_cast<double>(elements_))));
    d.tasks = ceil_div(instances_ * d.chunks, d.units);
    return d;
  }

  void run_task(const SlotRef* slots, const Division& d, int64_t task) const {
    const int64_t end = std::min(instances_ * d.chunks, (task + 1) * d.units);
    for (int64_t unit = task * d.units; unit < end; ++unit) {
      const int64_t instance = unit / d.chunks, chunk = unit % d.chunks;
      if (blocks_.block_rows > 0) {
        blocks_.each_row(chunk, [&](int64_t from, int64_t to) { call(slots, instance, from, to); });
      } else {
        call(slots, instance, chunk * d.grain, std::min(elements_, (chunk + 1) * d.grain));
      }
    }
  }

  void call(const SlotRef* slots, int64_t instance, int64_t begin, int64_t end) const {
    if (scratch_ == 0) return call(slots, instance, begin, end, nullptr);
    const Workspace<std::byte> scratch(scratch_);
    call(slots, instance, begin, end, scratch.data());
  }

  void call(const SlotRef* slots, int64_t instance, int64_t begin, int64_t end,
            std::byte* scratch) const {
    boost::container::small_vector<void*, 16> pointers(buffers_.size(),
                                                       boost::container::default_init);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const BufferUse& use = buffers_[i];
      pointers[i] = use.slot < 0 ? scratch + use.offset : slots[use.slot].at(use.map(instance));
    }
    code_(pointers.data(), begin, end);
  }

  KernelCode code_;
  std::vector<BufferUse> buffers_;
  int64_t elements_, instances_, scratch_ = 0;
  Division division_, short_division_;  // the latter if other threads are awake
  Blocks blocks_;
};

class CallStepCode final : public StepCode {
 public:
  CallStepCode(const CallStep& step, const Schedule& schedule)
      : fn_(step.fn), instances_(instance_count(schedule, step.axes)) {
    auto use = [&](int slot) {
      return BufferUse{
          slot, 0,
          InstanceMap(schedule, step.axes, schedule.slots[static_cast<size_t>(slot)].axes)};
    };
    for (int slot : step.in) in_.push_back(use(slot));
    for (int slot : step.out) out_.push_back(use(slot));
  }
  // Every library call is large enough for a task. A single call uses all threads.
  void run(const SlotRef* slots, std::byte*) const override {
    const auto call = [&](int64_t i) {
      boost::container::small_vector<const void*, 8> in;
      boost::container::small_vector<void*, 8> out;
      for (const BufferUse& use : in_) in.push_back(slots[use.slot].at(use.map(i)));
      for (const BufferUse& use : out_) out.push_back(slots[use.slot].at(use.map(i)));
      fn_(std::span<const void* const>(in.data(), in.size()),
          std::span<void* const>(out.data(), out.size()));
    };
    instances_ == 1 ? call(0) : parallel_for(instances_, call);
  }

 private:
  std::function<void(std::span<const void* const>, std::span<void* const>)> fn_;
  std::vector<BufferUse> in_, out_;
  int64_t instances_;
};

}  // namespace

double kernel_ns(const Kernel& kernel) {
  return parallel_cost(kernel) * static_cast<double>(kernel.parallel_elements());
}

InstanceMap::InstanceMap(const Schedule& s, const AxisList& step_axes, const AxisList& slot_axes) {
  if (axes_size(s.mesh, slot_axes) == 1) {
    factor_ = 0;
  } else if (step_axes != slot_axes) {
    map_ = instance_map(s, step_axes, slot_axes);
  }
}

KernelSource process_kernels() {
  return [](std::span<const Kernel* const> kernels) {
    return codegen::KernelCompiler::process().compile(kernels);
  };
}

std::unique_ptr<StepCode> make_kernel_code(const KernelStep& step, const Schedule& schedule,
                                           KernelCode code) {
  return std::make_unique<KernelStepCode>(step, schedule, std::move(code));
}
std::unique_ptr<StepCode> make_call_code(const CallStep& step, const Schedule& schedule) {
  return std::make_unique<CallStepCode>(step, schedule);
}

}  // namespace tessera::runtime
