#include "tessera/runtime/executable.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cluster/processes.h"
#include "tessera/cluster/timeline.h"
#include "tessera/codegen/compiler.h"
#include "tessera/runtime/convolutions/result_kernel.h"
#include "tessera/runtime/convolutions/weights_kernel.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/routine_code.h"
#include "tessera/runtime/step_recorder.h"

namespace tessera::runtime {

// Returns the name of a step in the timeline. Transfers record their own names there.
std::string name_of(const Step& step, const Schedule& s) {
  const auto shape = [&](int slot) {
    return fmt::format("{}", s.slots[static_cast<size_t>(slot)].shape);
  };
  return std::visit(
      Overloaded{
          [&](const KernelStep& k) {
            const StepSlots used = step_slots(Step(k));
            return "kernel " + (used.writes.empty() ? "" : shape(used.writes[0]));
          },
          [&](const DotStep& d) { return "dot " + shape(d.lhs) + " . " + shape(d.rhs); },
          [&](const ConvolutionStep& c) { return "convolution " + shape(c.out); },
          [&](const CollectiveStep& c) { return c.what; },
          [&](const CallStep& c) { return c.name; },
          [&](const UpdateStep& u) { return "update " + shape(u.update) + " of " + shape(u.out); },
          [&](const LoopStep&) { return std::string("loop"); },
          [&](const BranchStep&) { return std::string("branch"); },
          [&](const InstanceTableStep&) { return std::string("table"); },
          [&](const ViewStep&) { return std::string("view"); },
      },
      step);
}

// Builds an executable with a memory plan, and the nested executables except those of unlikely
// branches. One call compiles all kernels in parallel.
class ExecutableBuilder {
 public:
  ExecutableBuilder(const Schedule& schedule, const MemoryPlan& memory, const KernelSource& compile)
      : compile_(compile) {
    std::vector<const KernelStep*> steps;
    std::vector<codegen::Routine> loops;
    collect(schedule, memory, steps, loops);
    std::vector<const Kernel*> kernels;
    for (const KernelStep* step : steps) kernels.push_back(&step->kernel);
    std::vector<KernelCode> codes;
    if (!kernels.empty()) codes = compile(kernels);
    TESSERA_CHECK(codes.size() == kernels.size());
    for (size_t i = 0; i < steps.size(); ++i) kernels_[steps[i]] = std::move(codes[i]);
    if (loops.empty()) return;
    codes = codegen::KernelCompiler::process().compile(loops);
    TESSERA_CHECK(codes.size() == loops.size());
    for (size_t i = 0; i < loops.size(); ++i) routines_[loops[i].loop] = std::move(codes[i]);
  }

  std::unique_ptr<Executable> build(const Schedule& s, MemoryPlan memory) {
    std::vector<StepMemory> steps = std::exchange(memory.steps, {});
    fill_constants(memory.storage);
    std::unique_ptr<Executable> e(new Executable(std::move(memory)));
    const StoragePlan& plan = e->plan();
    std::vector<std::unique_ptr<StepCode>> codes(s.steps.size());
    // For each convolution, the step at whose place it runs.
    std::vector<size_t> place(s.steps.size());
    std::iota(place.begin(), place.end(), 0);
    for (size_t i = 0; i < steps.size(); ++i)
      if (steps[i].convolution >= 0) place[static_cast<size_t>(steps[i].convolution)] = i;
    std::vector<bool> packs(s.steps.size(), false);  // kernels that run when weights are packed
    const auto weights_kernels = find_weights_kernels(s, plan);
    for (size_t i = 0; i < s.steps.size(); ++i) {
      if (!weights_kernels[i]) continue;
      packs[static_cast<size_t>(weights_kernels[i]->step)] = true;
      extend_use(*e, weights_kernels[i]->source, static_cast<int>(place[i]));
    }
    for (size_t i = 0; i < s.steps.size(); ++i) {
      if (plan.is_view[i] || packs[i] || steps[i].convolution >= 0) continue;
      if (const auto* convolution = std::get_if<ConvolutionStep>(&s.steps[i])) {
        codes[place[i]] = make_convolution_code(
            *convolution, s, weights_of(s, weights_kernels[i]),
            place[i] == i ? std::nullopt : reader_of(*convolution, s, plan, place[i]));
      } else {
        codes[i] =
            std::visit([&](const auto& step) { return make(step, s, steps[i]); }, s.steps[i]);
      }
    }
    add_codes(*e, s, std::move(codes), steps);
    add_refs(*e, s);
    e->pack_constants();
    return e;
  }

 private:
  // Collects the kernels, and the loops that are compiled as a whole.
  static void collect(const Schedule& s, const MemoryPlan& memory,
                      std::vector<const KernelStep*>& out, std::vector<codegen::Routine>& loops) {
    for (size_t i = 0; i < s.steps.size(); ++i) {
      const std::vector<std::unique_ptr<MemoryPlan>>& nested = memory.steps[i].nested;
      if (const auto* k = std::get_if<KernelStep>(&s.steps[i])) out.push_back(k);
      if (const auto* l = std::get_if<LoopStep>(&s.steps[i])) {
        if (memory.steps[i].is_routine) {
          loops.push_back({l, &s});
          continue;
        }
        if (l->cond) collect(*l->cond, *nested[1], out, loops);
        collect(*l->body, *nested[0], out, loops);
      }
      if (const auto* b = std::get_if<BranchStep>(&s.steps[i]))
        for (size_t branch = 0; branch < b->branches.size(); ++branch)
          if (nested[branch]) collect(*b->branches[branch], *nested[branch], out, loops);
    }
  }

  std::unique_ptr<StepCode> make(const KernelStep& k, const Schedule& s, StepMemory&) {
    return make_kernel_code(k, s, kernels_.at(&k));
  }
  std::unique_ptr<StepCode> make(const DotStep& d, const Schedule& s, StepMemory&) {
    return make_dot_code(d, s);
  }
  std::unique_ptr<StepCode> make(const ConvolutionStep&, const Schedule&, StepMemory&) {
    return unreachable();
  }
  std::unique_ptr<StepCode> make(const CollectiveStep& c, const Schedule& s, StepMemory&) {
    return make_collective_code(c, s);
  }
  std::unique_ptr<StepCode> make(const CallStep& c, const Schedule& s, StepMemory&) {
    return make_call_code(c, s);
  }
  std::unique_ptr<StepCode> make(const UpdateStep& u, const Schedule& s, StepMemory&) {
    return make_update_code(u, s);
  }
  std::unique_ptr<StepCode> make(const LoopStep& l, const Schedule& s, StepMemory& memory) {
    if (memory.is_routine) return make_routine_code(l, routines_.at(&l));
    std::unique_ptr<Executable> body = build(*l.body, std::move(*memory.nested[0])), cond;
    if (memory.parallel_trips) return make_parallel_loop_code(l, s, std::move(body));
    if (l.cond) cond = build(*l.cond, std::move(*memory.nested[1]));
    return make_loop_code(l, s, std::move(memory.loop), std::move(cond), std::move(body));
  }
  std::unique_ptr<StepCode> make(const BranchStep& b, const Schedule& s, StepMemory& memory) {
    std::vector<std::unique_ptr<Executable>> branches;
    for (size_t i = 0; i < b.branches.size(); ++i)
      branches.push_back(memory.nested[i] ? build(*b.branches[i], std::move(*memory.nested[i]))
                                          : nullptr);
    return make_branch_code(b, s, std::move(branches), memory.in_place, compile_);
  }
  std::unique_ptr<StepCode> make(const ViewStep&, const Schedule&, StepMemory&) {
    return unreachable();
  }
  std::unique_ptr<StepCode> make(const InstanceTableStep&, const Schedule&, StepMemory&) {
    return unreachable();
  }
  static std::unique_ptr<StepCode> unreachable() {
    TESSERA_CHECK(false, "build() makes the code of convolutions, and views have none");
    return nullptr;
  }

  ConvolutionWeights weights_of(const Schedule& s, const std::optional<WeightsKernel>& found) {
    if (!found) return {};
    const auto& step = std::get<KernelStep>(s.steps[static_cast<size_t>(found->step)]);
    return {&step.kernel, kernels_.at(&step), found->source};
  }
  std::optional<ResultKernel> reader_of(const ConvolutionStep& convolution, const Schedule& s,
                                        const StoragePlan& plan, size_t kernel) {
    const auto& step = std::get<KernelStep>(s.steps[kernel]);
    return ResultKernel(step, s, plan, kernels_.at(&step), convolution.out);
  }
  // Records that the step reads the slot, so that no earlier step overwrites its memory.
  static void extend_use(Executable& e, int slot, int step) {
    StoragePlan& plan = e.memory_.storage;
    Storage& storage =
        plan.storages[static_cast<size_t>(plan.slots[static_cast<size_t>(slot)].storage)];
    storage.last = std::max(storage.last, step);
  }

  // Adds the steps in order, except that a transfer begins as soon as its operand is ready, and
  // ends just before its result is read.
  static void add_codes(Executable& e, const Schedule& s,
                        std::vector<std::unique_ptr<StepCode>> codes,
                        const std::vector<StepMemory>& steps) {
    using Part = Executable::Code::Part;
    std::vector<std::shared_ptr<StepCode>> shared(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) shared[i] = std::move(codes[i]);
    std::vector<bool> spans(codes.size(), false);
    for (const TransferSpan& span : e.plan().transfers)
      spans[static_cast<size_t>(span.step)] = true;
    const auto add = [&](Part part, size_t i) {
      e.codes_.push_back({part, shared[i], e.plan().workspaces[i]});
      const int convolution = steps[i].convolution;
      e.names_.push_back(convolution < 0 ? name_of(s.steps[i], s)
                                         : name_of(s.steps[static_cast<size_t>(convolution)], s) +
                                               " and " + name_of(s.steps[i], s));
    };
    const auto begin = [&](int after) {
      for (const TransferSpan& span : e.plan().transfers)
        if (span.after == after) add(Part::kStart, static_cast<size_t>(span.step));
    };
    const auto end = [&](int until) {
      for (const TransferSpan& span : e.plan().transfers)
        if (span.until == until) add(Part::kFinish, static_cast<size_t>(span.step));
    };
    begin(-1);
    for (size_t i = 0; i < shared.size(); ++i) {
      end(static_cast<int>(i));
      if (shared[i] && !spans[i]) add(Part::kAll, i);
      begin(static_cast<int>(i));
    }
    end(static_cast<int>(shared.size()));
  }

  static void add_refs(Executable& e, const Schedule& s) {
    e.num_slots_ = s.slots.size();
    e.static_tables_.reserve(s.slots.size());
    for (size_t i = 0; i < s.slots.size(); ++i) {
      const SlotLocation& location = e.plan().slots[i];
      if (location.storage < 0) continue;
      const int64_t bytes = e.plan().storages[static_cast<size_t>(location.storage)].bytes;
      Executable::StaticRef ref{static_cast<int>(i), location.storage, 0, bytes, nullptr};
      if (!location.map.empty()) {
        const std::vector<int32_t>& map = location.map;
        const int64_t step = map.size() > 1 ? map[1] - map[0] : 0;
        bool affine = true;
        for (size_t k = 0; k < map.size(); ++k)
          affine = affine && map[k] == map[0] + static_cast<int64_t>(k) * step;
        if (affine) {
          ref.offset = map[0] * bytes;
          ref.stride = step * bytes;
        } else {
          std::vector<int64_t>& table = e.static_tables_.emplace_back();
          for (int32_t k : map) table.push_back(k * bytes);
          ref.table = table.data();
        }
      }
      e.static_refs_.push_back(ref);
    }
    e.input_is_dense_.resize(s.inputs.size(), false);
    for (int i : e.plan().dense_inputs) e.input_is_dense_[static_cast<size_t>(i)] = true;
    for (int i : s.inputs)
      e.input_storages_.push_back(e.plan().slots[static_cast<size_t>(i)].storage);
    add_moved_slots(e);
  }

  // Finds the slots that a nested executable moves between executions.
  static void add_moved_slots(Executable& e) {
    const StoragePlan& plan = e.plan();
    std::vector<std::vector<int>> slots(plan.storages.size());
    for (const Executable::StaticRef& ref : e.static_refs_)
      slots[static_cast<size_t>(ref.storage)].push_back(ref.slot);
    for (int storage : e.input_storages_)
      e.input_slots_.push_back(slots[static_cast<size_t>(storage)]);
    for (const MemoryPlan::Output& out : e.memory_.outputs) {
      e.own_output_slots_.emplace_back();
      if (out.own >= 0)
        e.own_output_slots_.back() =
            slots[static_cast<size_t>(plan.slots[static_cast<size_t>(out.slot)].storage)];
    }
  }

  KernelSource compile_;
  std::unordered_map<const KernelStep*, KernelCode> kernels_;
  std::unordered_map<const LoopStep*, KernelCode> routines_;
};

namespace {
std::atomic<int64_t> executables_made{0};
}  // namespace

Executable::Executable(MemoryPlan memory)
    : memory_(std::move(memory)), number_(++executables_made) {
  for (size_t i = 0; i < memory_.storage.storages.size(); ++i)
    packed_constants_.emplace_back(KeepPacked::kFirstUse);
}

int64_t Executable::num_made() { return executables_made; }

std::unique_ptr<Executable> Executable::make(const Schedule& schedule,
                                             const KernelSource& compile) {
  MemoryPlan memory = plan_memory(schedule);
  ExecutableBuilder builder(schedule, memory, compile);
  return builder.build(schedule, std::move(memory));
}

int64_t Executable::code_bytes() const {
  constexpr int64_t kSlotBytes = 256, kStepBytes = 512;
  int64_t bytes = static_cast<int64_t>(num_slots_) * kSlotBytes;
  for (const Code& code : codes_)
    if (code.part != Code::Part::kFinish) bytes += kStepBytes + code.code->code_bytes();
  for (const Storage& storage : memory_.storage.storages)
    if (storage.kind == Storage::Kind::kConstant) bytes += storage.total();
  for (const LazyPackedWeights& packed : packed_constants_) bytes += packed.bytes();
  return bytes;
}

void Executable::pack_constants() const {
  const std::vector<Storage>& storages = memory_.storage.storages;
  std::vector<SlotRef> constants(num_slots_);
  for (const StaticRef& ref : static_refs_) {
    const auto i = static_cast<size_t>(ref.storage);
    if (storages[i].kind == Storage::Kind::kConstant)
      constants[static_cast<size_t>(ref.slot)] = {storages[i].constant.data() + ref.offset,
                                                  ref.stride, ref.table, &packed_constants_[i]};
  }
  for (const Code& code : codes_)
    if (code.part == Code::Part::kAll) code.code->pack_constants(constants.data());
}

void Executable::bind(Frame& frame, std::span<const SlotRef> inputs,
                      std::span<std::byte* const> own_outputs, std::byte* arena) const {
  frame.arena = arena;
  frame.refs.resize(num_slots_);
  boost::container::small_vector<std::byte*, 24> bases(memory_.storage.storages.size());
  boost::container::small_vector<const LazyPackedWeights*, 24> packed(bases.size(), nullptr);
  // Inputs with instances that are not in order without gaps.
  boost::container::small_vector<size_t, 4> scattered;
  for (size_t i = 0; i < bases.size(); ++i) {
    const Storage& s = memory_.storage.storages[i];
    switch (s.kind) {
      case Storage::Kind::kInput: {
        const SlotRef& input = inputs[static_cast<size_t>(s.index)];
        bases[i] = input.base;
        if (!memory_.storage.overwritten[static_cast<size_t>(s.index)]) packed[i] = input.packed;
        if (input.table || (input.stride != s.bytes && s.instances > 1)) scattered.push_back(i);
        break;
      }
      case Storage::Kind::kOutput:
        bases[i] = own_outputs[static_cast<size_t>(s.index)];
        break;
      case Storage::Kind::kArena:
        bases[i] = arena + s.offset;
        break;
      case Storage::Kind::kConstant:
        bases[i] = s.constant.data();
        packed[i] = &packed_constants_[i];
        break;
    }
  }
  for (size_t i : scattered) {
    const Storage& s = memory_.storage.storages[i];
    if (!input_is_dense_[static_cast<size_t>(s.index)]) continue;
    const SlotRef& input = inputs[static_cast<size_t>(s.index)];
    frame.copies.push_back(Buffer::allocate(s.total()));
    bases[i] = frame.copies.back().data();
    packed[i] = nullptr;
    const CopyPattern whole = make_copy_pattern({s.bytes}, {1}, {1}, 1);
    std::vector<RegionCopy> copies;
    for (int64_t k = 0; k < s.instances; ++k)
      copies.push_back({whole, bases[i] + k * s.bytes, input.at(k)});
    run_copies(copies);
  }
  for (const StaticRef& ref : static_refs_)
    frame.refs[static_cast<size_t>(ref.slot)] = {
        bases[static_cast<size_t>(ref.storage)] + ref.offset, ref.stride, ref.table,
        packed[static_cast<size_t>(ref.storage)]};
  for (size_t i : scattered) {
    const int index = memory_.storage.storages[i].index;
    if (!input_is_dense_[static_cast<size_t>(index)])
      bind_storage(frame, i, inputs[static_cast<size_t>(index)], packed[i]);
  }
}

// Binds the slots of an input with instances at any addresses, by a table for this run.
void Executable::bind_storage(Frame& frame, size_t storage, const SlotRef& input,
                              const LazyPackedWeights* packed) const {
  for (const StaticRef& ref : static_refs_) {
    if (static_cast<size_t>(ref.storage) != storage) continue;
    const std::vector<int32_t>& map = memory_.storage.slots[static_cast<size_t>(ref.slot)].map;
    if (map.empty()) {
      frame.refs[static_cast<size_t>(ref.slot)] = {input.base, input.stride, input.table, packed};
      continue;
    }
    std::vector<int64_t>& table = frame.tables.emplace_back();
    for (int32_t k : map) table.push_back(input.at(k) - input.base);
    frame.refs[static_cast<size_t>(ref.slot)] = {input.base, 0, table.data(), packed};
  }
}

void Executable::run_code(const Code& code, const Frame& frame) const {
  std::byte* workspace = frame.arena + code.workspace;
  switch (code.part) {
    case Code::Part::kAll:
      code.code->run(frame.refs.data(), workspace);
      return;
    case Code::Part::kStart:
      static_cast<const TransferCode&>(*code.code).start(frame.refs.data(), workspace);
      return;
    case Code::Part::kFinish:
      static_cast<const TransferCode&>(*code.code).finish();
      return;
  }
}

void Executable::execute(const Frame& frame) const {
  if (StepRecorder::is_recording() || cluster::Timeline::current()) return execute_timed(frame);
  cluster::Processes* const processes = cluster::Processes::current();
  for (const Code& code : codes_) {
    run_code(code, frame);
    if (processes) processes->progress();
  }
}

// Executes the steps and records their times. Transfers record theirs in the timeline themselves.
void Executable::execute_timed(const Frame& frame) const {
  using cluster::Timeline;
  const std::shared_ptr<StepRecorder> recorder = StepRecorder::current();
  Timeline* const timeline = Timeline::current();
  cluster::Processes* const processes = cluster::Processes::current();
  for (size_t i = 0; i < codes_.size(); ++i) {
    const int64_t begin = Timeline::now();
    {
      std::optional<StepRecorder::Run> run;
      if (recorder) run.emplace(*recorder, number_, i, names_[i]);
      run_code(codes_[i], frame);
    }
    if (timeline && codes_[i].part == Code::Part::kAll)
      timeline->add(Timeline::Kind::kStep, names_[i], begin, Timeline::now());
    if (processes) processes->progress();
  }
}

void Executable::bind_nested(Frame& frame, std::span<const SlotRef> inputs,
                             std::span<const SlotRef> outputs, std::byte* arena) const {
  boost::container::small_vector<std::byte*, 8> own(memory_.nested_offsets.size(), nullptr);
  // Outputs that are computed in place though they are not in order without gaps.
  boost::container::small_vector<int, 4> scattered;
  frame.outputs.assign(outputs.begin(), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const MemoryPlan::Output& out = memory_.outputs[i];
    if (out.own < 0) {
      frame.copied.push_back(static_cast<int>(i));
      continue;
    }
    const Storage& storage = memory_.storage.storages[static_cast<size_t>(
        memory_.storage.slots[static_cast<size_t>(out.slot)].storage)];
    const bool dense = !outputs[i].table && (outputs[i].stride == out.bytes || out.instances == 1);
    if (dense || !storage.spanned) {
      own[static_cast<size_t>(out.own)] = outputs[i].base;
      if (!dense) scattered.push_back(static_cast<int>(i));
      continue;
    }
    frame.copies.push_back(Buffer::allocate(storage.total()));
    own[static_cast<size_t>(out.own)] = frame.copies.back().data();
    frame.copied.push_back(static_cast<int>(i));
  }
  for (size_t k = 0; k < own.size(); ++k)
    if (memory_.nested_offsets[k] >= 0) own[k] = arena + memory_.nested_offsets[k];
  bind(frame, inputs, own, arena);
  for (int i : scattered)
    bind_storage(
        frame,
        static_cast<size_t>(
            memory_.storage.slots[static_cast<size_t>(memory_.outputs[static_cast<size_t>(i)].slot)]
                .storage),
        outputs[static_cast<size_t>(i)], nullptr);
}

void Executable::move_input(Frame& frame, size_t input, int64_t bytes) const {
  for (int slot : input_slots_[input]) frame.refs[static_cast<size_t>(slot)].base += bytes;
}

void Executable::move_output(Frame& frame, size_t output, int64_t bytes) const {
  frame.outputs[output].base += bytes;
  if (std::find(frame.copied.begin(), frame.copied.end(), static_cast<int>(output)) !=
      frame.copied.end())
    return;
  for (int slot : own_output_slots_[output]) frame.refs[static_cast<size_t>(slot)].base += bytes;
}

void Executable::execute_nested(const Frame& frame) const {
  execute(frame);
  if (frame.copied.empty()) return;
  // This thread does copies of at most this size, since handing them to other threads would cost
  // more.
  constexpr int64_t kCopyHere = int64_t{64} << 10;
  std::vector<RegionCopy> large;
  for (int i : frame.copied) {
    const MemoryPlan::Output& out = memory_.outputs[static_cast<size_t>(i)];
    const SlotRef& from = frame.refs[static_cast<size_t>(out.slot)];
    const SlotRef& to = frame.outputs[static_cast<size_t>(i)];
    for (int64_t k = 0; k < out.instances; ++k) {
      if (from.at(k) == to.at(k)) continue;
      if (out.bytes * out.instances <= kCopyHere) {
        std::memcpy(to.at(k), from.at(k), static_cast<size_t>(out.bytes));
      } else {
        large.push_back({make_copy_pattern({out.bytes}, {1}, {1}, 1), to.at(k), from.at(k)});
      }
    }
  }
  if (!large.empty()) run_copies(large);
}

}  // namespace tessera::runtime
