#include "tessera/runtime/donors.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/fusion/in_place.h"

namespace tessera::runtime {
namespace {

using namespace fusion;

const Slot& slot_at(const Schedule& s, int i) { return s.slots[static_cast<size_t>(i)]; }
const SlotLocation& location_at(const StoragePlan& plan, int slot) {
  return plan.slots[static_cast<size_t>(slot)];
}
const Storage& storage_at(const StoragePlan& plan, int i) {
  return plan.storages[static_cast<size_t>(i)];
}

bool contains(const std::vector<int>& numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// What a kernel does with each of its buffers.
class KernelBuffers {
 public:
  KernelBuffers(const KernelStep& step, const StoragePlan& plan)
      : loads_(step.slots.size()), stores_(step.slots.size()) {
    for (size_t b = 0; b < step.slots.size(); ++b) {
      if (step.slots[b] < 0) continue;
      const SlotLocation& location = location_at(plan, step.slots[b]);
      const auto [it, is_new] = buffer_of_.emplace(location.storage, static_cast<int>(b));
      if (!is_new || !location.map.empty()) it->second = -1;
    }
    const std::vector<KernelLoop>& loops = step.kernel.loops;
    if (loops.size() != 1 || !loops[0].extents.empty() || !loops[0].reductions.empty()) return;
    for (const KernelStore& store : loops[0].stores)
      add(stores_[static_cast<size_t>(store.buffer)], store.address,
          store.guard < 0 && !stores_[static_cast<size_t>(store.buffer)].address);
    for (const KernelNode& node : step.kernel.nodes)
      if (node.kind == NodeKind::kLoad)
        add(loads_[static_cast<size_t>(node.buffer)], node.address,
            node.dynamic.empty() && node.guard < 0);
  }

  // Returns the only buffer that is in the storage, if it is all of it; otherwise -1.
  int buffer_of(int storage) const {
    const auto found = buffer_of_.find(storage);
    return found == buffer_of_.end() ? -1 : found->second;
  }
  // Returns whether the kernel reads `in` at each index before it writes `out` there, and nowhere
  // else: then both may share memory.
  bool updates_in_place(int in, int out) const {
    const Access &load = loads_[static_cast<size_t>(in)],
                 &store = stores_[static_cast<size_t>(out)];
    if (!store.address || store.several || load.several) return false;
    return !load.address || *load.address == *store.address;
  }

 private:
  struct Access {
    const Affine* address = nullptr;  // null: none
    bool several = false;             // other addresses too
  };
  static void add(Access& access, const Affine& address, bool simple) {
    access.several = access.several || !simple || (access.address && *access.address != address);
    access.address = &address;
  }

  std::unordered_map<int, int> buffer_of_;
  std::vector<Access> loads_, stores_;  // by buffer
};

class DonorSearch {
 public:
  DonorSearch(const Schedule& s, const StoragePlan& plan, const std::vector<bool>& mapped)
      : s_(s), plan_(plan), mapped_(mapped) {}

  Donors run() {
    std::vector<bool> holds_result(plan_.storages.size());
    for (int slot : s_.outputs)
      holds_result[static_cast<size_t>(location_at(plan_, slot).storage)] = true;
    std::unordered_map<int64_t, int> group_of;
    Donors donors;
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      const Storage& in = plan_.storages[i];
      if (in.kind != Storage::Kind::kInput || in.total() == 0) continue;
      const auto [it, is_new] =
          group_of.emplace(in.total(), static_cast<int>(donors.groups.size()));
      if (is_new) donors.groups.emplace_back();
      donors.groups[static_cast<size_t>(it->second)].push_back(
          {in.index, in.last, static_cast<bool>(holds_result[i])});
    }
    for (std::vector<Donors::Input>& group : donors.groups)
      std::stable_sort(group.begin(), group.end(),
                       [](const auto& a, const auto& b) { return a.last < b.last; });
    donors.outputs.resize(static_cast<size_t>(plan_.own_outputs));
    for (size_t i = 0; i < plan_.storages.size(); ++i) {
      const Storage& out = plan_.storages[i];
      if (out.kind != Storage::Kind::kOutput) continue;
      Donors::Output& output = donors.outputs[static_cast<size_t>(out.index)];
      output = {.bytes = out.total(), .first = out.first};
      const auto group = group_of.find(out.total());
      if (group == group_of.end()) continue;
      output.group = group->second;
      if (out.first >= 0 && out.first < static_cast<int>(s_.steps.size()))
        output.updated = updated_inputs(static_cast<int>(i));
    }
    return donors;
  }

 private:
  // Returns the inputs in whose memory the step that first writes the storage `own` may write it,
  // although it reads them.
  std::vector<int> updated_inputs(int own) {
    const Storage& out = storage_at(plan_, own);
    const auto step_number = static_cast<size_t>(out.first);
    const Step& step = s_.steps[step_number];
    std::vector<int> inputs;
    const auto ends_here = [&](const Storage& in) {
      return in.kind == Storage::Kind::kInput && in.last == out.first &&
             in.total() == out.total() && in.bytes == out.bytes;
    };
    for (const auto& [from, to] : pairs_of(step_number)) {
      const SlotLocation &a = location_at(plan_, from), &b = location_at(plan_, to);
      if (b.storage != own || !a.map.empty() || !b.map.empty()) continue;
      const Storage& in = storage_at(plan_, a.storage);
      if (ends_here(in) && !mapped_[static_cast<size_t>(in.index)] &&
          slot_at(s_, from).axes == slot_at(s_, to).axes &&
          count_reads(plan_, step, a.storage) == 1 && !contains(inputs, in.index))
        inputs.push_back(in.index);
    }
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) return inputs;
    const KernelBuffers& buffers = buffers_of(*kernel);
    const int out_buffer = buffers.buffer_of(own);
    if (out_buffer < 0) return inputs;
    const Slot& written = slot_at(s_, kernel->slots[static_cast<size_t>(out_buffer)]);
    for (size_t b = 0; b < kernel->slots.size(); ++b) {
      if (kernel->slots[b] < 0) continue;
      const Slot& read = slot_at(s_, kernel->slots[b]);
      const int storage = location_at(plan_, kernel->slots[b]).storage;
      if (ends_here(storage_at(plan_, storage)) &&
          buffers.buffer_of(storage) == static_cast<int>(b) && read.axes == written.axes &&
          itemsize(read.dtype) == itemsize(written.dtype) &&
          buffers.updates_in_place(static_cast<int>(b), out_buffer))
        inputs.push_back(storage_at(plan_, storage).index);
    }
    return inputs;
  }

  const std::vector<std::pair<int, int>>& pairs_of(size_t step) {
    const auto [it, is_new] = pairs_.try_emplace(step);
    if (is_new) it->second = in_place_slots(s_.steps[step], plan_.nested[step]);
    return it->second;
  }
  const KernelBuffers& buffers_of(const KernelStep& step) {
    return buffers_.try_emplace(&step, step, plan_).first->second;
  }

  const Schedule& s_;
  const StoragePlan& plan_;
  const std::vector<bool>& mapped_;
  std::unordered_map<size_t, std::vector<std::pair<int, int>>> pairs_;  // of steps
  std::unordered_map<const KernelStep*, KernelBuffers> buffers_;
};

}  // namespace

Donors find_donors(const Schedule& s, const StoragePlan& plan, const std::vector<bool>& mapped) {
  return DonorSearch(s, plan, mapped).run();
}

}  // namespace tessera::runtime
