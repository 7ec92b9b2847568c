#include "outside.h"

#include <map>
#include <mutex>

#include "tessera/fusion/schedule_walk.h"
#include "tests/codegen/watched.h"

namespace tessera::costs {

using namespace codegen;

namespace {

// The limit of all operands' elements, because arrays of zeros are made for all.
constexpr int64_t kMostElements = 1 << 20;

bool may_reach_outside(const Kernel& kernel) {
  int64_t elements = 0;
  for (const KernelBuffer& buffer : kernel.buffers) elements += buffer.elements;
  return elements <= kMostElements &&
         std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& node) {
           return node.kind == NodeKind::kLoad && node.guard >= 0;
         });
}

int64_t outside_of(const Kernel& kernel) {
  const Target target = host_target();
  // A vector may reach over the end of an operand; it is twice as long for complex numbers, and a
  // short row may follow it.
  const int64_t near = 4 * target.vector_bytes;
  const int64_t farthest = test::Watched(target).farthest(kernel);
  return farthest < near ? 0 : farthest;
}

}  // namespace

Outside farthest_outside(const Schedule& schedule) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, int64_t>;
  const std::lock_guard lock(mutex);
  Outside out;
  for_each_step(schedule, [&](const Step& step, const Schedule&) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel || !may_reach_outside(kernel->kernel)) return;
    const std::string text = to_string(kernel->kernel);
    const auto [entry, is_new] = known.try_emplace(text, 0);
    if (is_new) entry->second = outside_of(kernel->kernel);
    if (entry->second > out.bytes) out = {text, entry->second};
  });
  return out;
}

}  // namespace tessera::costs
