#include "tessera/runtime/program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/base/hash.h"
#include "tessera/base/parallel_copy.h"
#include "tessera/cluster/processes.h"
#include "tessera/fusion/locality.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/runtime/donors.h"
#include "tessera/runtime/overlap.h"

namespace tessera::runtime {
namespace {

// Returns which process runs each device of the program; null if this one runs all of them.
std::shared_ptr<const Locality> locality_of(const Mesh& mesh) {
  const cluster::Processes* processes = cluster::Processes::current();
  if (!processes || mesh.rank() == 0 || mesh.is_abstract()) return nullptr;
  std::vector<int> process_of;
  for (const Device& device : mesh.devices())
    process_of.push_back(static_cast<int>(device.process_index));
  return std::make_shared<const Locality>(mesh, std::move(process_of), processes->index());
}

bool crosses_processes(const Schedule& s) {
  bool crosses = false;
  for_each_step(s, [&](const Step& step, const Schedule&) {
    const auto* collective = std::get_if<CollectiveStep>(&step);
    crosses = crosses || (collective && collective->crosses);
  });
  return crosses;
}

// Computes match_instances for the instances of this process. Both sides are held indices.
std::vector<int32_t> match_local(const Schedule& s, const Slot& slot, const ArrayLayout& layout,
                                 bool slot_major) {
  AxisList all(static_cast<size_t>(s.mesh.rank()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int32_t> slot_numbers = instance_map(s.mesh, all, slot.axes);
  const std::vector<int32_t> here = s.local->instances(slot.axes);
  std::unordered_map<int64_t, size_t> positions;
  for (size_t p = 0; p < s.mesh.device_ids().size(); ++p) positions[s.mesh.device_ids()[p]] = p;
  std::vector<int32_t> map(static_cast<size_t>(slot_major ? slot.instances : layout.held_count()),
                           -1);
  const std::vector<Device> devices = layout.sharding.devices();
  for (size_t p = 0; p < devices.size(); ++p) {
    const auto found = positions.find(devices[p].id);
    if (found == positions.end()) continue;
    if (static_cast<int>(devices[p].process_index) != s.local->process()) continue;
    const int32_t number = slot_numbers[found->second];
    const auto of_slot =
        static_cast<int32_t>(std::lower_bound(here.begin(), here.end(), number) - here.begin());
    const auto of_layout = static_cast<int32_t>(layout.held_index(layout.device_instances[p]));
    int32_t& entry = map[static_cast<size_t>(slot_major ? of_slot : of_layout)];
    if (entry < 0) entry = slot_major ? of_layout : of_slot;
  }
  // A replicated value is on each device of the mesh, and an array on one device exists in every
  // process.
  for (int32_t& entry : map) {
    if (entry < 0 && (slot_major ? layout.instances : axes_size(s.mesh, slot.axes)) == 1) entry = 0;
    TESSERA_CHECK(entry >= 0, "{} and the program's {} have different devices in this process",
                  layout.sharding, s.mesh);
  }
  return map;
}

// Matches the instances of a slot and of a layout that the same device holds. If `slot_major`,
// returns the layout's instance for each instance of the slot, otherwise the slot's instance for
// each instance of the layout. All devices that hold an instance must agree on the other one.
std::vector<int32_t> match_instances(const Schedule& s, const Slot& slot, const ArrayLayout& layout,
                                     bool slot_major) {
  if (s.local) return match_local(s, slot, layout, slot_major);
  AxisList all(static_cast<size_t>(s.mesh.rank()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  const std::vector<int32_t> slot_instances = instance_map(s.mesh, all, slot.axes);
  const std::vector<int64_t>& mesh_ids = s.mesh.device_ids();
  const std::vector<int64_t> layout_ids = layout.sharding.device_ids();
  std::unordered_map<int64_t, size_t> positions;
  for (size_t p = 0; p < mesh_ids.size(); ++p) positions[mesh_ids[p]] = p;
  std::vector<int32_t> map(static_cast<size_t>(slot_major ? slot.instances : layout.instances), -1);
  for (size_t p = 0; p < layout_ids.size(); ++p) {
    // A program on one device runs wherever its data is.
    const auto found = positions.find(layout_ids[p]);
    if (slot_instances.size() > 1 && found == positions.end()) continue;
    const int32_t of_slot = slot_instances.size() > 1 ? slot_instances[found->second] : 0;
    const int32_t of_layout = layout.device_instances[p];
    int32_t& entry = map[static_cast<size_t>(slot_major ? of_slot : of_layout)];
    const int32_t value = slot_major ? of_layout : of_slot;
    if (slot_major)
      TESSERA_CHECK(entry < 0 || entry == value, "an input varies over more axes than its slot");
    if (entry < 0) entry = value;
  }
  // A replicated value is on each device of the mesh, even on those that its array does not
  // mention.
  for (int32_t& entry : map) {
    if (entry < 0 && (slot_major ? layout.instances : slot.instances) == 1) entry = 0;
    TESSERA_CHECK(entry >= 0, "{} and the program's {} have different devices", layout.sharding,
                  s.mesh);
  }
  return map;
}

struct Input {
  ArrayLayoutRef layout;
  std::vector<int32_t> map;  // slot instance -> layout instance; empty: the same number
  int64_t total = 0;         // the bytes of the slot's instances
};

struct Output {
  ArrayLayoutRef layout;
  Type type;
  int slot = -1;
  Storage::Kind kind = Storage::Kind::kArena;
  int index = -1;  // of the input or own output that contains it
  Buffer constant;
  std::vector<int32_t> map;  // layout instance -> slot instance; empty: the same number
  InstanceOffsets offsets;   // in the buffer, if they are known before the run
};

// Returns the offsets of the layout's instances, given those of the slot's instances.
InstanceOffsets compose(const std::vector<int32_t>& map, int64_t instances,
                        const std::function<int64_t(int64_t)>& slot_offset) {
  auto offset = [&](int64_t i) {
    return slot_offset(map.empty() ? i : map[static_cast<size_t>(i)]);
  };
  InstanceOffsets out{.offset = offset(0)};
  if (instances > 1) out.stride = offset(1) - offset(0);
  for (int64_t i = 0; i < instances; ++i) {
    if (offset(i) == out.offset + i * out.stride) continue;
    auto table = std::make_shared<std::vector<int64_t>>();
    for (int64_t k = 0; k < instances; ++k) table->push_back(offset(k));
    return {.table = std::move(table)};
  }
  return out;
}

}  // namespace

struct Program::State {
  std::unique_ptr<Executable> code;  // null if no device of the program is in this process
  // Set if several processes run the program together.
  std::optional<cluster::CallIdentity> identity;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  Donors donors;
};

Program::Program(const Schedule& of_all, std::vector<ArraySpec> inputs,
                 std::vector<ArraySpec> outputs, const KernelSource& compile,
                 ProgramIdentity identity) {
  const std::shared_ptr<const Locality> locality = locality_of(of_all.mesh);
  std::optional<Schedule> part;
  if (locality) part = overlap_transfers(localize(of_all, locality));
  const Schedule& s = part ? *part : of_all;
  TESSERA_CHECK(inputs.size() == s.inputs.size() && outputs.size() == s.outputs.size(),
                "{} and {} specs for {} and {}", inputs.size(), outputs.size(), s.inputs.size(),
                s.outputs.size());
  auto state = std::make_unique<State>();
  auto checked_layout = [](const ArraySpec& spec, const Slot& slot) {
    ArrayLayoutRef layout = array_layout(spec.dtype, spec.shape, spec.sharding, "program");
    TESSERA_CHECK(spec.dtype == slot.dtype && layout->local.elements() == slot.shape.elements(),
                  "{}{} as {} has shards of shape {}, the program {} of {}", spec.dtype, spec.shape,
                  spec.sharding, layout->local, slot.shape, slot.dtype);
    return layout;
  };
  if (locality && crosses_processes(s)) {
    const std::vector<int>& members = locality->processes();
    if (std::binary_search(members.begin(), members.end(), locality->process())) {
      identity.text += fmt::format("devices {}\n", fmt::join(of_all.mesh.device_ids(), ","));
      const size_t hash = hash_combine(std::hash<std::string>()(identity.name),
                                       std::hash<std::string>()(identity.text));
      state->identity = cluster::CallIdentity{
          hash, identity.name, [text = std::move(identity.text)] { return text; }, members};
    }
  }
  if (locality && locality->instances({}).empty()) {
    for (size_t i = 0; i < inputs.size(); ++i)
      state->inputs.push_back(
          {checked_layout(inputs[i], s.slots[static_cast<size_t>(s.inputs[i])]), {}, 0});
    for (size_t i = 0; i < outputs.size(); ++i) {
      Output out{.layout = checked_layout(outputs[i], s.slots[static_cast<size_t>(s.outputs[i])])};
      out.type = device_array_type(*out.layout, outputs[i].weak);
      state->outputs.push_back(std::move(out));
    }
    state_ = std::move(state);
    return;
  }
  state->code = Executable::make(s, compile);
  const StoragePlan& plan = state->code->plan();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Slot& slot = s.slots[static_cast<size_t>(s.inputs[i])];
    Input in{checked_layout(inputs[i], slot), {}, slot.bytes() * slot.instances};
    in.map = match_instances(s, slot, *in.layout, true);
    if (is_identity(in.map)) in.map.clear();
    state->inputs.push_back(std::move(in));
  }
  std::vector<bool> mapped;
  for (const Input& in : state->inputs) mapped.push_back(!in.map.empty());
  state->donors = find_donors(s, plan, mapped);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Slot& slot = s.slots[static_cast<size_t>(s.outputs[i])];
    const SlotLocation& location = plan.slots[static_cast<size_t>(s.outputs[i])];
    const Storage& storage = plan.storages[static_cast<size_t>(location.storage)];
    Output out{.layout = checked_layout(outputs[i], slot),
               .slot = s.outputs[i],
               .kind = storage.kind,
               .index = storage.index};
    out.type = device_array_type(*out.layout, outputs[i].weak);
    out.map = match_instances(s, slot, *out.layout, false);
    if (storage.kind == Storage::Kind::kConstant) out.constant = storage.constant;
    out.offsets = compose(out.map, out.layout->held_count(), [&](int64_t k) {
      return (location.map.empty() ? k : location.map[static_cast<size_t>(k)]) * storage.bytes;
    });
    if (is_identity(out.map)) out.map.clear();
    state->outputs.push_back(std::move(out));
  }
  state_ = std::move(state);
}

Program::~Program() = default;

const ArrayLayoutRef& Program::input_layout(size_t i) const { return state_->inputs.at(i).layout; }
const ArrayLayoutRef& Program::output_layout(size_t i) const {
  return state_->outputs.at(i).layout;
}
size_t Program::num_inputs() const { return state_->inputs.size(); }
size_t Program::num_outputs() const { return state_->outputs.size(); }
int64_t Program::code_bytes() const { return state_->code ? state_->code->code_bytes() : 0; }
int64_t Program::arena_bytes() const { return state_->code ? state_->code->arena_bytes() : 0; }

std::vector<DeviceArrayRef> Program::run(const std::vector<DeviceArrayRef>& inputs,
                                         std::span<const uint8_t> donate) const {
  boost::container::small_vector<const DeviceArray*, 16> pointers;
  for (const DeviceArrayRef& input : inputs) pointers.push_back(input.get());
  return run(std::span<const DeviceArray* const>(pointers.data(), pointers.size()), donate);
}

namespace {

// Returns the input's instances in the order of its slot. The tables that they point to are added
// to `tables`.
SlotRef input_ref(const Input& expected, const DeviceArray& array,
                  std::vector<std::vector<int64_t>>& tables) {
  const InstanceOffsets& o = array.offsets();
  // The slot is only read, unless the array is donated.
  SlotRef ref{const_cast<std::byte*>(array.buffer().data()) + o.offset, o.stride,
              o.table ? o.table->data() : nullptr, &array.packed()};
  if (expected.map.empty()) return ref;
  std::vector<int64_t>& table = tables.emplace_back();
  for (int32_t k : expected.map) table.push_back(ref.at(k) - ref.base);
  return {ref.base, 0, table.data(), ref.packed};
}

// The inputs of one run, and those that their owner donates. Their memory is not freed until the
// run ends; a donation that is not completed is reverted.
class InputUses {
 public:
  InputUses(std::span<const DeviceArray* const> inputs, std::span<const uint8_t> donate,
            std::span<const DeviceData* const> moved, const Donors& donors)
      : inputs_(inputs), donate_(donate), donors_(donors) {
    for (const DeviceArray* input : inputs) uses_.emplace_back(*input);
    only_.resize(donate.size(), 0);
    if (!donate.empty()) next_.resize(2 * donors.groups.size(), 0);
    try {
      for (size_t i = 0; i < donate.size(); ++i)
        if (donate[i]) only_[i] = donate_input(i, moved);
    } catch (...) {
      take_back();
      throw;
    }
    if (originals_.empty()) return;
    // The originals of copied inputs are not needed any more.
    done_ = true;
    for (const std::unique_ptr<Donation>& original : originals_) original->commit();
    originals_.clear();
  }
  ~InputUses() {
    if (!done_) take_back();
  }
  InputUses(const InputUses&) = delete;
  InputUses& operator=(const InputUses&) = delete;

  // Completes the donations, which deletes the donated arrays.
  void complete() { done_ = true; }

  // Called when all memory is allocated, before the first write. From then on, donated memory that
  // was taken contains neither the input's value nor yet a result.
  void begin_writing() {
    if (taken_) complete();
  }

  // Returns the memory of a donated input that nobody else holds and that the result may take from
  // its first step on; no memory if there is none.
  Buffer take_for(const Donors::Output& out) {
    if (donate_.empty() || out.group < 0) return {};
    for (int input : out.updated)
      if (Buffer memory = take(input)) return memory;
    const auto& group = donors_.groups[static_cast<size_t>(out.group)];
    for (size_t& next = next_[2 * static_cast<size_t>(out.group)];
         next < group.size() && group[next].last < out.first; ++next)
      if (Buffer memory = take(group[next].input)) return memory;
    return {};
  }
  // The same for a result that is copied there after the last step.
  Buffer take_after(const Donors::Output& out) {
    if (donate_.empty() || out.group < 0) return {};
    const auto& group = donors_.groups[static_cast<size_t>(out.group)];
    for (size_t& next = next_[2 * static_cast<size_t>(out.group) + 1]; next < group.size();
         ++next) {
      if (group[next].holds_result) continue;
      if (Buffer memory = take(group[next].input)) return memory;
    }
    return {};
  }

 private:
  // Returns the memory of an input if it is donated and nobody else holds it.
  Buffer take(int input) {
    const auto i = static_cast<size_t>(input);
    if (!donate_[i] || !only_[i]) return {};
    const DeviceArray& array = *inputs_[i];
    const bool whole = array.dense() && array.offsets().at(0) == 0;
    if (!whole || !array.buffer().unique()) return {};
    only_[i] = 0;
    taken_ = true;
    return array.buffer();
  }
  // Donates input i. Returns whether only this run uses it.
  uint8_t donate_input(size_t i, std::span<const DeviceData* const> moved) {
    const bool copied = !moved.empty() && moved[i];
    const DeviceData* given = copied ? moved[i] : inputs_[i];
    // An array that is passed twice in one call is donated once.
    if (!given_.insert(given).second) return 0;
    // A copied input is a view of the original, or in memory that nobody else has.
    if (copied) originals_.push_back(given->donate());
    const bool only = uses_[i].donate();
    donated_.push_back(&uses_[i]);
    return only ? 1 : 0;
  }
  void take_back() {
    for (ArrayUse* use : donated_) use->keep();
  }

  std::span<const DeviceArray* const> inputs_;
  std::span<const uint8_t> donate_;
  const Donors& donors_;
  // For each group of inputs, the first that may still give its memory, before and after the steps.
  boost::container::small_vector<size_t, 8> next_;
  boost::container::small_vector<ArrayUse, 16> uses_;
  std::vector<std::unique_ptr<Donation>> originals_;
  boost::container::flat_set<const DeviceData*, std::less<>,
                             boost::container::small_vector<const DeviceData*, 4>>
      given_;
  boost::container::small_vector<ArrayUse*, 4> donated_;
  boost::container::small_vector<uint8_t, 16> only_;
  bool done_ = false;
  bool taken_ = false;
};

// Returns a result of a run: memory of its own, a constant, or a view of an input.
DeviceArrayRef result_of(const Output& out, std::span<const Buffer> own,
                         std::span<const DeviceArray* const> inputs,
                         const Executable::Frame& frame) {
  switch (out.kind) {
    case Storage::Kind::kOutput:
      return std::make_shared<DeviceArray>(out.type, out.layout,
                                           own[static_cast<size_t>(out.index)], out.offsets);
    case Storage::Kind::kConstant:
      return std::make_shared<DeviceArray>(out.type, out.layout, out.constant, out.offsets);
    case Storage::Kind::kInput: {
      const SlotRef& ref = frame.refs[static_cast<size_t>(out.slot)];
      Buffer buffer;
      // A view that spans instances may be a view of a copy that was made for this run.
      for (const Buffer& copy : frame.copies)
        if (ref.base >= copy.data() && ref.base < copy.data() + copy.capacity()) buffer = copy;
      if (!buffer) buffer = inputs[static_cast<size_t>(out.index)]->buffer();
      const InstanceOffsets offsets = compose(out.map, out.layout->held_count(),
                                              [&](int64_t k) { return ref.at(k) - buffer.data(); });
      return std::make_shared<DeviceArray>(out.type, out.layout, std::move(buffer), offsets);
    }
    case Storage::Kind::kArena:
      break;
  }
  TESSERA_CHECK(false, "an output in the arena");
  return nullptr;
}

}  // namespace

std::vector<DeviceArrayRef> Program::run(std::span<const DeviceArray* const> inputs,
                                         std::span<const uint8_t> donate,
                                         std::span<const DeviceData* const> moved) const {
  const State& p = *state_;
  TESSERA_CHECK(inputs.size() == p.inputs.size(), "{} inputs for a program of {}", inputs.size(),
                p.inputs.size());
  TESSERA_CHECK(donate.empty() || donate.size() == inputs.size(), "{} donation flags",
                donate.size());
  InputUses uses(inputs, donate, moved, p.donors);
  if (!p.code) {
    std::vector<DeviceArrayRef> elsewhere;
    for (const Output& out : p.outputs)
      elsewhere.push_back(
          std::make_shared<DeviceArray>(out.type, out.layout, Buffer(), InstanceOffsets{}));
    uses.complete();
    return elsewhere;
  }
  Executable::Frame frame;
  boost::container::small_vector<SlotRef, 8> refs;
  std::vector<std::vector<int64_t>> tables;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DeviceArray& array = *inputs[i];
    if (array.layout() != p.inputs[i].layout)
      TESSERA_CHECK(same_placement(*array.layout(), *p.inputs[i].layout),
                    "input {} is {} on {}, not on {}", i, describe(array.type),
                    array.layout()->sharding, p.inputs[i].layout->sharding);
    refs.push_back(input_ref(p.inputs[i], array, tables));
  }

  // The buffers keep the memory alive until the results hold it.
  boost::container::small_vector<Buffer, 4> own;
  boost::container::small_vector<std::byte*, 4> own_data;
  boost::container::small_vector<size_t, 4> undonated;
  for (const Donors::Output& o : p.donors.outputs) {
    Buffer buffer = uses.take_for(o);
    if (!buffer) {
      undonated.push_back(own.size());
      buffer = Buffer::allocate(o.bytes);
    }
    own_data.push_back(buffer.data());
    own.push_back(std::move(buffer));
  }
  Buffer arena;
  if (p.code->arena_bytes() > 0) arena = Buffer::allocate(p.code->arena_bytes());
  // Declared after all memory that transfers use, so that the call ends before that is freed.
  std::optional<cluster::Processes::Call> call;
  if (p.identity) call.emplace(*cluster::Processes::current(), *p.identity);
  p.code->bind(frame, {refs.data(), refs.size()}, {own_data.data(), own_data.size()}, arena.data());
  uses.begin_writing();
  p.code->execute(frame);
  if (call) call->complete();
  // A result that could not be computed in place moves to the memory that was donated for it.
  for (size_t k : undonated)
    if (Buffer donated = uses.take_after(p.donors.outputs[k])) {
      copy_bytes(donated.data(), own[k].data(), p.donors.outputs[k].bytes);
      own[k] = std::move(donated);
    }

  std::vector<DeviceArrayRef> results;
  results.reserve(p.outputs.size());
  for (const Output& out : p.outputs)
    results.push_back(result_of(out, {own.data(), own.size()}, inputs, frame));
  uses.complete();
  return results;
}

}  // namespace tessera::runtime
