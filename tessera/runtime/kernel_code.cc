// Kernel steps: runs instances x ranges of the parallel index as tasks.
#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/codegen/compiler.h"
#include "tessera/runtime/routine_code.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Returns the nanoseconds for one parallel index.
double parallel_cost(const Kernel& kernel) {
  double inner = 0;
  for (const KernelLoop& loop : kernel.loops) inner += static_cast<double>(loop.extents.elements());
  inner /= static_cast<double>(std::max<size_t>(1, kernel.loops.size()));
  double ns = 0;
  for (const KernelNode& node : kernel.nodes) {
    if (node.kind == NodeKind::kScalarOp) ns += scalar_op_info(node.op).cost.ns;
    if (node.kind == NodeKind::kLoad)
      ns += 0.06 * static_cast<double>(itemsize(node.dtype)) + (node.dynamic.empty() ? 0 : 1);
  }
  for (const KernelLoop& loop : kernel.loops)
    for (const KernelStore& store : loop.stores)
      ns +=
          0.06 * static_cast<double>(itemsize(kernel.nodes[static_cast<size_t>(store.node)].dtype));
  return std::max(0.02, ns * inner);
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
    if (total <= kInlineNs) return;  // all work is one task
    const int64_t unit = std::max<int64_t>(1, codegen::split_unit(step.kernel));
    const auto wanted = static_cast<int64_t>(kTaskNs / element_ns) + 1;
    grain_ = std::min(elements_, ceil_div(wanted, unit) * unit);
    chunks_ = grain_ > 0 ? ceil_div(elements_, grain_) : 0;
    units_ = chunks_ > 1
                 ? 1
                 : std::max<int64_t>(
                       1, static_cast<int64_t>(kTaskNs * static_cast<double>(instances_) / total));
    tasks_ = ceil_div(instances_ * chunks_, units_);
  }

  int64_t code_bytes() const override { return code_.bytes; }
  void run(const SlotRef* slots, std::byte*) const override {
    if (elements_ == 0) return;
    if (tasks_ <= 1) {
      for (int64_t i = 0; i < instances_; ++i) call(slots, i, 0, elements_);
      return;
    }
    parallel_for(tasks_, [&](int64_t task) {
      const int64_t end = std::min(instances_ * chunks_, (task + 1) * units_);
      for (int64_t unit = task * units_; unit < end; ++unit) {
        const int64_t begin = unit % chunks_ * grain_;
        call(slots, unit / chunks_, begin, std::min(elements_, begin + grain_));
      }
    });
  }

 private:
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
  int64_t grain_ = 0, chunks_ = 1, units_ = 1, tasks_ = 1;
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
