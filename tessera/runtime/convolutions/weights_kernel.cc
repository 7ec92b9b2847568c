#include "tessera/runtime/convolutions/weights_kernel.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "tessera/base/hash.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/codegen/compiler.h"
#include "tessera/runtime/routine_code.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

class WeightsKernelForm final : public PackedForm {
 public:
  WeightsKernelForm(const Kernel& kernel, KernelCode code, PackedFormRef then)
      : text_(to_string(kernel)),
        code_(std::move(code)),
        then_(std::move(then)),
        elements_(kernel.parallel_elements()) {
    const int64_t unit = std::max<int64_t>(1, codegen::split_unit(kernel));
    grain_ = ceil_div(static_cast<int64_t>(kTaskNs /
                                           (kernel_ns(kernel) / static_cast<double>(elements_))) +
                          1,
                      unit) *
             unit;
    for (const KernelBuffer& buffer : kernel.buffers) {
      const int64_t bytes = buffer.elements * itemsize(buffer.dtype);
      offsets_.push_back(buffer.kind == BufferKind::kScratch ? scratch_ : 0);
      kinds_.push_back(buffer.kind);
      if (buffer.kind == BufferKind::kScratch) scratch_ += ceil_div(bytes, 64) * 64;
      if (buffer.kind == BufferKind::kOutput) result_bytes_ = bytes;
    }
  }
  int64_t bytes() const override { return then_ ? then_->bytes() : result_bytes_; }
  void pack(const std::byte* from, std::byte* to) const override {
    if (!then_) return compute(from, to);
    const Buffer result = Buffer::allocate(result_bytes_);
    compute(from, result.data());
    then_->pack(result.data(), to);
  }

 private:
  size_t hash() const override {
    return hash_combine(std::hash<std::string>()(text_), std::hash<const void*>()(then_.get()));
  }
  bool equals(const PackedForm& form) const override {
    const auto* other = dynamic_cast<const WeightsKernelForm*>(&form);
    return other && other->then_ == then_ && other->text_ == text_;
  }

  void compute(const std::byte* from, std::byte* to) const {
    parallel_for_ranges(elements_, grain_, [&](int64_t begin, int64_t end) {
      const Workspace<std::byte> scratch(std::max<int64_t>(64, scratch_));
      std::vector<void*> pointers;
      for (size_t i = 0; i < kinds_.size(); ++i)
        pointers.push_back(kinds_[i] == BufferKind::kInput    ? const_cast<std::byte*>(from)
                           : kinds_[i] == BufferKind::kOutput ? to
                                                              : scratch.data() + offsets_[i]);
      code_(pointers.data(), begin, end);
    });
  }

  std::string text_;
  KernelCode code_;
  PackedFormRef then_;  // null if the kernel's result is the form
  int64_t elements_;    // how many values the parallel index has
  int64_t grain_ = 1;   // how many of them are one task
  std::vector<BufferKind> kinds_;
  std::vector<int64_t> offsets_;  // where scratch buffers begin; 0 for other buffers
  int64_t scratch_ = 0, result_bytes_ = 0;
};

// The steps that read and write each storage, without views.
struct StorageUses {
  std::vector<std::vector<int>> readers, writers;
  StorageUses(const Schedule& s, const StoragePlan& plan)
      : readers(plan.storages.size()), writers(plan.storages.size()) {
    for (size_t i = 0; i < s.steps.size(); ++i) {
      if (plan.is_view[i]) continue;
      const StepSlots used = step_slots(s.steps[i]);
      const auto add = [&](const std::vector<int>& slots, std::vector<std::vector<int>>& to) {
        for (int slot : slots) {
          const int storage = plan.slots[static_cast<size_t>(slot)].storage;
          if (storage >= 0) to[static_cast<size_t>(storage)].push_back(static_cast<int>(i));
        }
      };
      add(used.reads, readers);
      add(used.writes, writers);
    }
  }
};

// Returns whether no step overwrites the contents of the memory during a run.
bool is_kept(const StoragePlan& plan, const Storage& storage) {
  switch (storage.kind) {
    case Storage::Kind::kInput:
      return !plan.overwritten[static_cast<size_t>(storage.index)];
    case Storage::Kind::kConstant:
      return true;
    case Storage::Kind::kOutput:
    case Storage::Kind::kArena:
      return false;
  }
  return false;
}

std::optional<WeightsKernel> weights_kernel(const Schedule& s, const StoragePlan& plan,
                                            const StorageUses& uses, int convolution) {
  const auto slot = [&](int i) -> const Slot& { return s.slots[static_cast<size_t>(i)]; };
  const auto location = [&](int i) -> const SlotLocation& {
    return plan.slots[static_cast<size_t>(i)];
  };
  const auto& step = std::get<ConvolutionStep>(s.steps[static_cast<size_t>(convolution)]);
  const SlotLocation& weights = location(step.rhs);
  if (weights.storage < 0 || !weights.map.empty()) return std::nullopt;
  const auto at = static_cast<size_t>(weights.storage);
  if (plan.storages[at].kind != Storage::Kind::kArena || uses.writers[at].size() != 1 ||
      uses.readers[at] != std::vector<int>{convolution} ||
      location(step.lhs).storage == weights.storage)  // an array is convolved with itself
    return std::nullopt;
  const int writer = uses.writers[at][0];
  const auto* kernel = std::get_if<KernelStep>(&s.steps[static_cast<size_t>(writer)]);
  if (!kernel) return std::nullopt;
  const StepSlots used = step_slots(*kernel);
  const auto inputs =
      std::count_if(kernel->kernel.buffers.begin(), kernel->kernel.buffers.end(),
                    [](const KernelBuffer& b) { return b.kind == BufferKind::kInput; });
  if (used.reads.size() != 1 || used.writes.size() != 1 || inputs != 1 ||
      kernel->kernel.parallel_elements() == 0)
    return std::nullopt;
  const int source = used.reads[0], result = used.writes[0];
  // Each instance of the kernel must compute one whole instance of the weights.
  if (!location(result).map.empty() || slot(result).bytes() != slot(step.rhs).bytes() ||
      slot(result).axes != slot(step.rhs).axes || location(source).storage < 0 ||
      !is_kept(plan, plan.storages[static_cast<size_t>(location(source).storage)]))
    return std::nullopt;
  return WeightsKernel{writer, source};
}

}  // namespace

std::vector<std::optional<WeightsKernel>> find_weights_kernels(const Schedule& schedule,
                                                               const StoragePlan& plan) {
  std::vector<std::optional<WeightsKernel>> found(schedule.steps.size());
  const StorageUses uses(schedule, plan);
  for (size_t i = 0; i < schedule.steps.size(); ++i)
    if (std::holds_alternative<ConvolutionStep>(schedule.steps[i]))
      found[i] = weights_kernel(schedule, plan, uses, static_cast<int>(i));
  return found;
}

PackedFormRef weights_kernel_form(const Kernel& kernel, KernelCode code, PackedFormRef then) {
  return shared_form(std::make_shared<WeightsKernelForm>(kernel, std::move(code), std::move(then)));
}

}  // namespace tessera::runtime
