#include "tessera/runtime/convolutions/result_kernel.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/runtime/convolutions/conv_shape.h"
#include "tessera/runtime/routine_code.h"

namespace tessera::runtime {
namespace {

// With this many tiles, all threads compute the kernel as they compute the convolution.
constexpr double kManyTiles = 8;

// Returns whether the address is the flat index of the parallel dimensions.
bool is_flat_index(const Affine& address, const Dims& parallel) {
  if (address.offset != 0) return false;
  int64_t stride = 1;
  for (size_t d = parallel.size(); d-- > 0;) {
    if (parallel[d] != 1 && address.parallel[d] != stride) return false;
    stride *= parallel[d];
  }
  return true;
}

// Returns whether the kernel computes each element from the same element of the buffers in
// `result`, and reads other buffers along their rows.
bool is_elementwise(const Kernel& k, const std::vector<bool>& result) {
  if (k.vectorize != Kernel::Vectorize::kParallel || k.loops.size() != 1 || k.parallel.empty() ||
      !k.loops[0].extents.empty() || !k.loops[0].reductions.empty())
    return false;
  return std::all_of(k.nodes.begin(), k.nodes.end(), [&](const KernelNode& node) {
    if (node.kind != NodeKind::kLoad) return true;
    if (!node.dynamic.empty()) return false;
    return result[static_cast<size_t>(node.buffer)] ? is_flat_index(node.address, k.parallel)
                                                    : std::abs(node.address.parallel.back()) <= 1;
  });
}

class Joiner {
 public:
  Joiner(const Schedule& s, StoragePlan& plan) : s_(s), plan_(plan) {}

  std::vector<int> run() {
    std::vector<int> found(s_.steps.size(), -1);
    for (size_t i = 0; i < s_.steps.size(); ++i) {
      const auto* convolution = std::get_if<ConvolutionStep>(&s_.steps[i]);
      if (!convolution) continue;
      const size_t j = reader(*convolution, i);
      if (j == 0 || !joins(*convolution, i, j)) continue;
      found[j] = static_cast<int>(i);
      join(i, j);
    }
    return found;
  }

 private:
  const Slot& slot(int i) const { return s_.slots[static_cast<size_t>(i)]; }
  const SlotLocation& location(int i) const { return plan_.slots[static_cast<size_t>(i)]; }
  int storage(int slot) const { return location(slot).storage; }
  Storage& storage_of(int slot) { return plan_.storages[static_cast<size_t>(storage(slot))]; }

  // Returns the first step that reads the result of step i if all steps before it are kernels,
  // which may run before the convolution; otherwise 0.
  size_t reader(const ConvolutionStep& c, size_t i) const {
    for (size_t j = i + 1; j < s_.steps.size(); ++j) {
      if (plan_.is_view[j]) continue;
      if (!std::holds_alternative<KernelStep>(s_.steps[j])) return 0;
      const StepSlots used = step_slots(s_.steps[j]);
      const auto uses = [&](const std::vector<int>& slots, int slot) {
        return std::any_of(slots.begin(), slots.end(),
                           [&](int v) { return storage(v) == storage(slot); });
      };
      if (uses(used.reads, c.out)) return j;
      if (uses(used.writes, c.lhs) || uses(used.writes, c.rhs)) return 0;
    }
    return 0;
  }

  bool joins(const ConvolutionStep& c, size_t i, size_t j) const {
    const auto* k = std::get_if<KernelStep>(&s_.steps[j]);
    if (!k || k->axes != c.axes || !is_temporary(c, i, j)) return false;
    const Slot& result = slot(c.out);
    std::vector<bool> reads;
    for (const int used : k->slots) {
      if (used < 0) return false;
      reads.push_back(storage(used) == storage(c.out));
      if (reads.back() && (!location(used).map.empty() || slot(used).axes != result.axes))
        return false;
    }
    // The tiles that are not computed yet still read the operands.
    for (const int written : step_slots(*k).writes)
      for (const int v : {c.lhs, c.rhs, c.out})
        if (storage(written) == storage(v)) return false;
    return k->kernel.parallel_elements() == result.shape.elements() &&
           is_elementwise(k->kernel, reads) && has_tiles(c, k->kernel);
  }

  // Returns whether the kernel is the only step that reads the convolution's result.
  bool is_temporary(const ConvolutionStep& c, size_t i, size_t j) const {
    if (!location(c.out).map.empty()) return false;
    const Storage& result = plan_.storages[static_cast<size_t>(storage(c.out))];
    return result.kind == Storage::Kind::kArena && !result.spanned &&
           result.first == static_cast<int>(i) && result.last == static_cast<int>(j);
  }

  // Returns whether the tiles of the convolution are ranges of its result's elements, and are small
  // enough parts of the kernel.
  bool has_tiles(const ConvolutionStep& c, const Kernel& kernel) const {
    const Slot &lhs = slot(c.lhs), &rhs = slot(c.rhs), &out = slot(c.out);
    if (lhs.dtype != float32 || out.dtype != float32 || out.shape.elements() == 0) return false;
    std::optional<LibraryConv> conv =
        library_conv(conv_shape(c.params, lhs.shape, rhs.shape, out.shape));
    if (!conv) return false;
    const std::vector<ConvTile> tiles = conv_tiles(*conv);
    const auto count = static_cast<double>(result_ranges(*conv, tiles).size());
    const double most_ns = std::max(conv_flops(*conv) * 0.01, count * kTaskNs);
    return count >= kManyTiles || (count > 0 && kernel_ns(kernel) <= most_ns);
  }

  void join(size_t i, size_t j) {
    const StepSlots convolution = step_slots(s_.steps[i]), kernel = step_slots(s_.steps[j]);
    for (const int v : convolution.reads)
      storage_of(v).last = std::max(storage_of(v).last, static_cast<int>(j));
    for (const int v : kernel.writes)
      if (storage_of(v).kind != Storage::Kind::kInput)
        storage_of(v).first = std::min(storage_of(v).first, static_cast<int>(i));
    for (const int v : convolution.writes) storage_of(v).in_tiles = true;
  }

  const Schedule& s_;
  StoragePlan& plan_;
};

}  // namespace

std::vector<int> join_result_kernels(const Schedule& schedule, StoragePlan& plan) {
  return Joiner(schedule, plan).run();
}

ResultKernel::ResultKernel(const KernelStep& step, const Schedule& schedule,
                           const StoragePlan& plan, KernelCode code, int result)
    : code_(std::move(code)),
      itemsize_(itemsize(schedule.slots[static_cast<size_t>(result)].dtype)) {
  const auto storage = [&](int slot) { return plan.slots[static_cast<size_t>(slot)].storage; };
  for (const int slot : step.slots) {
    const bool is_result = storage(slot) == storage(result);
    buffers_.push_back(
        {is_result ? -1 : slot,
         InstanceMap(schedule, step.axes, schedule.slots[static_cast<size_t>(slot)].axes)});
  }
}

void ResultKernel::run(const SlotRef* slots, int64_t instance, const std::byte* tile, int64_t begin,
                       int64_t count) const {
  // The kernel adds `begin` to its addresses, so it gets the address that the first element of the
  // whole result would have.
  const auto base = reinterpret_cast<uintptr_t>(tile) - static_cast<uintptr_t>(begin * itemsize_);
  boost::container::small_vector<void*, 16> pointers;
  for (const Use& use : buffers_)
    pointers.push_back(use.slot < 0 ? reinterpret_cast<void*>(base)
                                    : slots[use.slot].at(use.map(instance)));
  code_(pointers.data(), begin, begin + count);
}

}  // namespace tessera::runtime
