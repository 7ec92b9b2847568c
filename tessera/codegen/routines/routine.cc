#include "tessera/codegen/routines/routine.h"

#include <algorithm>
#include <list>

#include "tessera/base/overloaded.h"
#include "tessera/codegen/canonical.h"
#include "tessera/codegen/emitter.h"
#include "tessera/codegen/few_elements.h"
#include "tessera/codegen/routines/routine_homes.h"
#include "tessera/codegen/routines/routine_workspace.h"
#include "tessera/fusion/schedule_walk.h"

namespace tessera::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr int64_t kConstantBytes = 4096;

bool is_code(const Schedule& s) {
  for (const Slot& slot : s.slots)
    if (slot.instances != 1 ||
        (slot.kind == Slot::Kind::kConstant && slot.literal.bytes() > kConstantBytes))
      return false;
  const auto is_code_step = Overloaded{
      [](const KernelStep&) { return true; },      [](const InstanceTableStep&) { return true; },
      [](const ViewStep&) { return true; },        [](const UpdateStep&) { return true; },
      [](const LoopStep&) { return true; },        [](const BranchStep&) { return true; },
      [](const DotStep&) { return false; },        [](const ConvolutionStep&) { return false; },
      [](const CollectiveStep&) { return false; }, [](const CallStep&) { return false; },
  };
  return std::all_of(s.steps.begin(), s.steps.end(),
                     [&](const Step& step) { return std::visit(is_code_step, step); });
}

// The memory of a slot. `padded`: it extends to whole vectors, as buffers of the routine itself do.
struct SlotMemory {
  Value* pointer = nullptr;
  bool padded = false;
};
using SlotMemories = std::vector<SlotMemory>;

class RoutineEmitter {
 public:
  RoutineEmitter(const Routine& routine, const Target& target, llvm::Module& module,
                 llvm::Function* function);
  void run();

 private:
  Value* i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  BasicBlock* new_block(const char* name) {
    return BasicBlock::Create(b_.getContext(), name, function_);
  }
  SlotMemory local(int64_t bytes);
  SlotMemory constant(const Literal& literal);
  void copy(SlotMemory to, SlotMemory from, int64_t bytes);
  Value* row_of(Value* base, Value* row, int64_t bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(row, i64(bytes)));
  }

  // Emits the steps of a schedule. `writable` marks the inputs that may be updated in place; empty:
  // none.
  void emit(const Schedule& s, const SlotMemories& inputs, const SlotMemories& outputs,
            std::vector<bool> writable = {});
  void emit(const KernelStep& step, const SlotMemories& at);
  void emit_here(const Kernel& kernel, int64_t elements, const Target& target,
                 const std::vector<Value*>& pointers, const std::vector<int64_t>& padded);
  void emit(const UpdateStep& step, const Schedule& s, const SlotMemories& at);
  Value* clamped_start(DType dtype, Value* pointer, int64_t largest);
  // The part of a box from dimension `dim` on as rows of `run` contiguous bytes.
  struct Rows {
    Dims extents, to_strides, from_strides;  // in bytes
    int64_t run = 0;
  };
  void copy_rows(const Rows& rows, size_t dim, Value* to, Value* from);
  void emit(const LoopStep& loop, const Schedule& around, const SlotMemories& at);
  void emit(const BranchStep& step, const Schedule& around, const SlotMemories& at);

  // A small carry has two buffers: a trip reads one and writes the other, which is then copied to
  // the first, so that both can be registers. A large carry alternates between its final memory and
  // a second buffer; the first trip reads it in its initial memory:
  //   trip     0       1        2
  //   reads    start   first    second
  //   writes   first   second   first
  // A carry that the body updates in place has only its final memory.
  struct Carry {
    SlotMemory start, end;
    int64_t bytes = 0;
    SlotMemory now, next;  // read and written by the trip whose code is emitted
    // The two buffers of a large carry; the memories that a trip reads, writes, and leaves alone.
    SlotMemory first, second;
    llvm::PHINode *reads = nullptr, *writes = nullptr, *spare = nullptr;
    bool is_large() const { return first.pointer != nullptr; }
  };
  std::vector<Carry> place_carries(const LoopStep& loop, const Schedule& around,
                                   const SlotMemories& at);
  void open_carry(Carry& carry, BasicBlock* before);
  void turn_carry(Carry& carry, BasicBlock* last);
  void close_carry(const Carry& carry);
  Value* goes_on(const LoopStep& loop, Value* trip, const SlotMemories& inputs);
  void add_slices(const LoopStep& loop, const std::vector<int>& slots, Value* trip,
                  const Schedule& around, const SlotMemories& at, SlotMemories& out);

  const Routine& routine_;
  const Target& target_;
  llvm::Module& module_;
  LongFunctions long_functions_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::Instruction* entry_end_ = nullptr;
  Value* workspace_ = nullptr;
  HomeFinder homes_;
  int64_t used_ = 0, stack_ = 0;
};

RoutineEmitter::RoutineEmitter(const Routine& routine, const Target& target, llvm::Module& module,
                               llvm::Function* function)
    : routine_(routine),
      target_(target),
      module_(module),
      function_(function),
      b_(module.getContext()) {}

void RoutineEmitter::run() {
  BasicBlock *entry = new_block("entry"), *start = new_block("start");
  b_.SetInsertPoint(entry);
  entry_end_ = b_.CreateBr(start);
  b_.SetInsertPoint(start);
  const std::vector<int> slots = routine_slots(*routine_.loop);
  SlotMemories at(routine_.around->slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    at[static_cast<size_t>(slots[i])] = {function_->getArg(static_cast<unsigned>(i)), false};
  for (int slot : slots)
    if (const auto start = constant_start(routine_, slot))
      at[static_cast<size_t>(slot)] = constant(*start);
  workspace_ = function_->getArg(static_cast<unsigned>(slots.size()));
  emit(*routine_.loop, *routine_.around, at);
  b_.CreateRetVoid();
  TESSERA_CHECK(used_ <= routine_workspace(routine_), "{} bytes of workspace", used_);
}

SlotMemory RoutineEmitter::local(int64_t bytes) {
  bytes = std::max<int64_t>(64, padded_bytes(bytes));
  constexpr int64_t kLargestStack = 32 << 10;
  if (bytes <= kStackBytes && stack_ + bytes <= kLargestStack) {
    stack_ += bytes;
    llvm::IRBuilder<> entry(entry_end_);
    auto* slot =
        entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes)));
    slot->setAlignment(llvm::Align(64));
    return {slot, true};
  }
  llvm::IRBuilder<> entry(entry_end_);
  Value* pointer =
      entry.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), workspace_, static_cast<uint64_t>(used_));
  used_ += bytes;
  return {pointer, true};
}

SlotMemory RoutineEmitter::constant(const Literal& literal) {
  std::vector<uint8_t> bytes(static_cast<size_t>(std::max<int64_t>(1, literal.bytes())));
  std::transform(literal.raw(), literal.raw() + literal.bytes(), bytes.begin(),
                 [](std::byte b) { return static_cast<uint8_t>(b); });
  auto* data = llvm::ConstantDataArray::get(b_.getContext(), bytes);
  auto* global = new llvm::GlobalVariable(module_, data->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, data);
  global->setAlignment(llvm::Align(64));
  return {global, false};
}

// Between padded buffers whole cache lines are copied, which stay in vector registers.
void RoutineEmitter::copy(SlotMemory to, SlotMemory from, int64_t bytes) {
  if (to.pointer == from.pointer || bytes == 0) return;
  const bool whole = to.padded && from.padded;
  b_.CreateMemCpy(to.pointer, llvm::Align(whole ? 64 : 1), from.pointer,
                  llvm::Align(whole ? 64 : 1),
                  static_cast<uint64_t>(whole ? padded_bytes(bytes) : bytes));
}

void RoutineEmitter::emit(const Schedule& s, const SlotMemories& inputs,
                          const SlotMemories& outputs, std::vector<bool> writable) {
  SlotMemories at(s.slots.size());
  for (size_t i = 0; i < inputs.size(); ++i) at[static_cast<size_t>(s.inputs[i])] = inputs[i];
  for (size_t i = 0; i < s.slots.size(); ++i)
    if (s.slots[i].kind == Slot::Kind::kConstant) at[i] = constant(s.slots[i].literal);
  writable.resize(s.inputs.size(), false);
  const std::vector<size_t> root = homes_.find(s, writable).home;
  for (const Step& step : s.steps) {
    if (const auto* t = std::get_if<InstanceTableStep>(&step))
      at[static_cast<size_t>(t->out)] = constant(t->values.at(0));
  }
  // A result is computed in its final memory, unless its slot has memory already (an input or a
  // constant).
  for (size_t k = 0; k < outputs.size(); ++k) {
    SlotMemory& memory = at[root[static_cast<size_t>(s.outputs[k])]];
    if (!memory.pointer) memory = outputs[k];
  }
  for (const Step& step : s.steps)
    for (int i : step_slots(step).writes) {
      const size_t slot = root[static_cast<size_t>(i)];
      if (!at[slot].pointer) at[slot] = local(s.slots[slot].bytes());
    }
  for (size_t i = 0; i < root.size(); ++i) at[i] = at[root[i]];
  for (const Step& step : s.steps) {
    if (const auto* k = std::get_if<KernelStep>(&step)) emit(*k, at);
    if (const auto* u = std::get_if<UpdateStep>(&step)) emit(*u, s, at);
    if (const auto* l = std::get_if<LoopStep>(&step)) emit(*l, s, at);
    if (const auto* b = std::get_if<BranchStep>(&step)) emit(*b, s, at);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto slot = static_cast<size_t>(s.outputs[k]);
    copy(outputs[k], at[slot], s.slots[slot].bytes());
  }
}

void RoutineEmitter::emit(const KernelStep& step, const SlotMemories& at) {
  const int64_t elements = step.kernel.parallel_elements();
  if (elements == 0) return;
  const Kernel kernel = canonical(step.kernel);
  std::vector<Value*> pointers;
  std::vector<int64_t> padded;
  for (size_t i = 0; i < step.slots.size(); ++i) {
    const KernelBuffer& buffer = step.kernel.buffers[i];
    const SlotMemory memory = step.slots[i] < 0 ? local(buffer.elements * itemsize(buffer.dtype))
                                                : at[static_cast<size_t>(step.slots[i])];
    pointers.push_back(memory.pointer);
    padded.push_back(memory.padded ? buffer.elements : 0);
  }
  Target target = target_;
  if (has_few_elements(kernel, elements, kernel_lanes(kernel, target.vector_bytes))) {
    for (int64_t i = 0; i < elements; ++i)
      emit_here(kernel_of_element(kernel, i), 1, target, pointers, padded);
    return;
  }
  // Vectors are not wider than the data, since a half full one would be in memory, with a mask.
  if (kernel.vectorize == Kernel::Vectorize::kParallel && kernel.parallel.size() == 1 &&
      elements <= kernel_lanes(kernel, 32))
    target.vector_bytes = 32;
  emit_here(kernel, elements, target, pointers, padded);
}

void RoutineEmitter::emit_here(const Kernel& kernel, int64_t elements, const Target& target,
                               const std::vector<Value*>& pointers,
                               const std::vector<int64_t>& padded) {
  Ir ir(module_, target, kernel_lanes(kernel, target.vector_bytes));
  ir.alloca_point = entry_end_;
  ir.long_functions = &long_functions_;
  ir.builder.SetInsertPoint(b_.GetInsertBlock());
  KernelEmitter(kernel, ir, function_).run_here(pointers, padded, elements);
  b_.SetInsertPoint(ir.builder.GetInsertBlock());
}

// Returns an integer scalar clamped to [0, largest].
Value* RoutineEmitter::clamped_start(DType dtype, Value* pointer, int64_t largest) {
  Value* start = b_.CreateLoad(b_.getIntNTy(static_cast<unsigned>(8 * itemsize(dtype))), pointer);
  if (!is_signed(dtype)) {
    start = b_.CreateZExt(start, b_.getInt64Ty());
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, start, i64(largest));
  }
  start = b_.CreateSExt(start, b_.getInt64Ty());
  start = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, i64(0));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, start, i64(largest));
}

void RoutineEmitter::copy_rows(const Rows& rows, size_t dim, Value* to, Value* from) {
  if (dim == rows.extents.size()) {
    b_.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), static_cast<uint64_t>(rows.run));
    return;
  }
  BasicBlock *before = b_.GetInsertBlock(), *row = new_block("row"), *after = new_block("rows");
  b_.CreateBr(row);
  b_.SetInsertPoint(row);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(i64(0), before);
  copy_rows(rows, dim + 1, row_of(to, i, rows.to_strides[dim]),
            row_of(from, i, rows.from_strides[dim]));
  Value* next = b_.CreateAdd(i, i64(1));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, i64(rows.extents[dim])), row, after);
  b_.SetInsertPoint(after);
}

void RoutineEmitter::emit(const UpdateStep& step, const Schedule& s, const SlotMemories& at) {
  const Slot &whole = s.slots[static_cast<size_t>(step.out)],
             &part = s.slots[static_cast<size_t>(step.update)];
  const SlotMemory out = at[static_cast<size_t>(step.out)];
  copy(out, at[static_cast<size_t>(step.in)], whole.bytes());
  if (part.shape.elements() == 0) return;
  const int64_t item = itemsize(whole.dtype);
  const Dims to = row_major_strides(whole.shape), from = row_major_strides(part.shape);
  Value* box = out.pointer;
  for (size_t d = 0; d < step.starts.size(); ++d) {
    const int64_t largest = whole.shape[d] - part.shape[d];
    if (largest == 0) continue;
    const auto start = static_cast<size_t>(step.starts[d]);
    box =
        row_of(box, clamped_start(s.slots[start].dtype, at[start].pointer, largest), to[d] * item);
  }
  Rows rows{.run = item};
  size_t d = step.starts.size();
  // The last dimensions are contiguous up to the first one that the box does not cover completely.
  for (bool contiguous = true; contiguous && d > 0; --d) {
    rows.run *= part.shape[d - 1];
    contiguous = part.shape[d - 1] == whole.shape[d - 1];
  }
  for (size_t k = 0; k < d; ++k) {
    if (part.shape[k] == 1) continue;
    rows.extents.push_back(part.shape[k]);
    rows.to_strides.push_back(to[k] * item);
    rows.from_strides.push_back(from[k] * item);
  }
  copy_rows(rows, 0, box, at[static_cast<size_t>(step.update)].pointer);
}

std::vector<RoutineEmitter::Carry> RoutineEmitter::place_carries(const LoopStep& loop,
                                                                 const Schedule& around,
                                                                 const SlotMemories& at) {
  std::vector<Carry> carries(loop.in.size());
  const bool to_second = !loop.cond && loop.trip_count % 2 == 0;
  std::vector<bool> in_place(carries.size(), false);
  for (const auto& pair : homes_.in_place(loop)) in_place[static_cast<size_t>(pair.first)] = true;
  for (size_t i = 0; i < carries.size(); ++i) {
    Carry& carry = carries[i];
    carry.start = at[static_cast<size_t>(loop.in[i])];
    carry.end = at[static_cast<size_t>(loop.out[i])];
    carry.bytes = around.slots[static_cast<size_t>(loop.out[i])].bytes();
    if (in_place[i]) {
      // The caller has copied the carries of the routine's own loop.
      if (&loop != routine_.loop) copy(carry.end, carry.start, carry.bytes);
      carry.now = carry.next = carry.end;
    } else if (carry.bytes <= kStackBytes) {
      carry.now = local(carry.bytes);
      carry.next = local(carry.bytes);
      copy(carry.now, carry.start, carry.bytes);
    } else {
      carry.first = carry.end;
      carry.second = local(carry.bytes);
      if (to_second) std::swap(carry.first, carry.second);
    }
  }
  return carries;
}

// Sets the memories of a large carry for a trip whose block is entered from `before`.
void RoutineEmitter::open_carry(Carry& carry, BasicBlock* before) {
  if (!carry.is_large()) return;
  const auto phi = [&](SlotMemory start) {
    llvm::PHINode* node = b_.CreatePHI(b_.getPtrTy(), 2);
    node->addIncoming(start.pointer, before);
    return node;
  };
  carry.reads = phi(carry.start);
  carry.writes = phi(carry.first);
  carry.spare = phi(carry.second);
  carry.now = {carry.reads, false};
  carry.next = {carry.writes, false};
}

// Sets the memories of the next trip, which is entered from `last`.
void RoutineEmitter::turn_carry(Carry& carry, BasicBlock* last) {
  if (!carry.is_large()) return;
  carry.reads->addIncoming(carry.writes, last);
  carry.writes->addIncoming(carry.spare, last);
  carry.spare->addIncoming(carry.writes, last);
}

// Copies the carry to the memory of the loop's result after the last trip.
void RoutineEmitter::close_carry(const Carry& carry) {
  if (!carry.is_large()) return copy(carry.end, carry.now, carry.bytes);
  BasicBlock *move = new_block("move"), *there = new_block("there");
  b_.CreateCondBr(b_.CreateICmpEQ(carry.reads, carry.end.pointer), there, move);
  b_.SetInsertPoint(move);
  copy(carry.end, carry.now, carry.bytes);
  b_.CreateBr(there);
  b_.SetInsertPoint(there);
}

Value* RoutineEmitter::goes_on(const LoopStep& loop, Value* trip, const SlotMemories& inputs) {
  if (!loop.cond) return b_.CreateICmpSLT(trip, i64(loop.trip_count));
  const SlotMemory result = local(1);
  emit(*loop.cond, inputs, {result});
  return b_.CreateICmpNE(b_.CreateLoad(b_.getInt8Ty(), result.pointer), b_.getInt8(0));
}

// Appends to `out` the memory of row `trip` of each scanned or stacked slot.
void RoutineEmitter::add_slices(const LoopStep& loop, const std::vector<int>& slots, Value* trip,
                                const Schedule& around, const SlotMemories& at, SlotMemories& out) {
  Value* row = loop.reverse ? b_.CreateSub(i64(loop.trip_count - 1), trip) : trip;
  for (int slot : slots) {
    const auto i = static_cast<size_t>(slot);
    const int64_t slice = loop.trip_count ? around.slots[i].bytes() / loop.trip_count : 0;
    out.push_back({row_of(at[i].pointer, row, slice), false});
  }
}

void RoutineEmitter::emit(const LoopStep& loop, const Schedule& around, const SlotMemories& at) {
  std::vector<Carry> carries = place_carries(loop, around, at);
  BasicBlock *before = b_.GetInsertBlock(), *header = new_block("trip"), *body = new_block("body"),
             *exit = new_block("end");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* trip = b_.CreatePHI(b_.getInt64Ty(), 2);
  trip->addIncoming(i64(0), before);
  for (Carry& carry : carries) open_carry(carry, before);
  SlotMemories inputs, outputs;
  for (int slot : loop.consts) inputs.push_back(at[static_cast<size_t>(slot)]);
  for (const Carry& carry : carries) {
    inputs.push_back(carry.now);
    outputs.push_back(carry.next);
  }
  b_.CreateCondBr(goes_on(loop, trip, inputs), body, exit);

  b_.SetInsertPoint(body);
  add_slices(loop, loop.xs, trip, around, at, inputs);
  add_slices(loop, loop.ys, trip, around, at, outputs);
  emit(*loop.body, inputs, outputs,
       writable_inputs(*loop.body, homes_.in_place(loop), loop.consts.size()));
  for (const Carry& carry : carries)
    if (!carry.is_large()) copy(carry.now, carry.next, carry.bytes);
  BasicBlock* last = b_.GetInsertBlock();
  trip->addIncoming(b_.CreateAdd(trip, i64(1)), last);
  for (Carry& carry : carries) turn_carry(carry, last);
  b_.CreateBr(header);

  b_.SetInsertPoint(exit);
  for (const Carry& carry : carries) close_carry(carry);
}

void RoutineEmitter::emit(const BranchStep& step, const Schedule& around, const SlotMemories& at) {
  const auto index = static_cast<size_t>(step.index);
  const bool truth = around.slots[index].dtype == bool_;
  Value* chosen = b_.CreateLoad(truth ? b_.getInt8Ty() : b_.getInt32Ty(), at[index].pointer);
  if (truth) chosen = b_.CreateICmpNE(chosen, b_.getInt8(0));
  const auto memories = [&](const std::vector<int>& slots) {
    SlotMemories out;
    for (int slot : slots) out.push_back(at[static_cast<size_t>(slot)]);
    return out;
  };
  const SlotMemories inputs = memories(step.in), outputs = memories(step.out);
  const fusion::InPlace& in_place = homes_.in_place(step, around);
  BasicBlock* join = new_block("join");
  std::vector<BasicBlock*> branch_blocks;
  for (size_t k = 0; k < step.branches.size(); ++k) branch_blocks.push_back(new_block("way"));
  // An index out of range selects the last branch, as in StableHLO's case.
  auto* choice = b_.CreateSwitch(chosen, branch_blocks.back());
  auto* type = llvm::cast<llvm::IntegerType>(chosen->getType());
  for (size_t k = 0; k + 1 < branch_blocks.size() && (!truth || k < 2); ++k)
    choice->addCase(llvm::ConstantInt::get(type, k), branch_blocks[k]);
  for (size_t k = 0; k < branch_blocks.size(); ++k) {
    b_.SetInsertPoint(branch_blocks[k]);
    const Schedule& branch = *step.branches[k];
    SlotMemories starts = inputs;
    for (const auto& [in, result] : in_place) {
      if (!fusion::reads_input(branch, static_cast<size_t>(in))) continue;
      const SlotMemory& memory = outputs[static_cast<size_t>(result)];
      copy(memory, inputs[static_cast<size_t>(in)],
           branch.slots[static_cast<size_t>(branch.outputs[static_cast<size_t>(result)])].bytes());
      starts[static_cast<size_t>(in)] = memory;
    }
    emit(branch, starts, outputs, writable_inputs(branch, in_place, 0));
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

}  // namespace

fusion::InPlace routine_in_place(const LoopStep& loop) { return HomeFinder().in_place(loop); }

bool can_be_routine(const Routine& routine) {
  for (int slot : routine_slots(*routine.loop))
    if (routine.around->slots[static_cast<size_t>(slot)].instances != 1) return false;
  bool code = true;
  for_each_schedule(*routine.loop, [&](const Schedule& s) { code = code && is_code(s); });
  return code;
}

std::vector<int> routine_slots(const LoopStep& loop) {
  std::vector<int> out;
  for (const auto* slots : {&loop.consts, &loop.in, &loop.xs, &loop.out, &loop.ys})
    for (int slot : *slots)
      if (std::find(out.begin(), out.end(), slot) == out.end()) out.push_back(slot);
  return out;
}

void emit_routine(const Routine& routine, const Target& target, llvm::Module& module,
                  const std::string& name) {
  auto& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* index = llvm::Type::getInt64Ty(context);
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  const size_t count = routine_slots(*routine.loop).size() + 1;
  // What the loop reads does not overlap what it writes; the attributes of the inner function's
  // arguments say so to LLVM.
  auto* inner = llvm::Function::Create(
      llvm::FunctionType::get(nothing, std::vector<llvm::Type*>(count, pointer), false),
      llvm::Function::InternalLinkage, name + ".loop", module);
  auto* outer =
      llvm::Function::Create(llvm::FunctionType::get(nothing, {pointer, index, index}, false),
                             llvm::Function::ExternalLinkage, name, module);
  for (auto* function : {inner, outer}) set_function_attributes(*function, target);
  for (auto& arg : inner->args()) arg.addAttr(llvm::Attribute::NoAlias);
  inner->addFnAttr(llvm::Attribute::NoInline);
  RoutineEmitter(routine, target, module, inner).run();

  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", outer));
  std::vector<Value*> args;
  for (size_t i = 0; i < count; ++i)
    args.push_back(
        b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, outer->getArg(0), i)));
  // Carries that are updated in place are copied in the outer function, whose arguments may
  // overlap: the loop itself never reads such a carry's start, which may be the memory that it
  // updates.
  const std::vector<int> slots = routine_slots(*routine.loop);
  std::vector<bool> in_place(routine.loop->in.size(), false);
  for (const auto& pair : routine_in_place(*routine.loop))
    in_place[static_cast<size_t>(pair.first)] = true;
  const auto arg = [&](int slot) {
    return args[static_cast<size_t>(std::find(slots.begin(), slots.end(), slot) - slots.begin())];
  };
  for (size_t c = 0; c < in_place.size(); ++c) {
    if (!in_place[c]) continue;
    Value *from = arg(routine.loop->in[c]), *to = arg(routine.loop->out[c]);
    auto* start = llvm::BasicBlock::Create(context, "start", outer);
    auto* ready = llvm::BasicBlock::Create(context, "ready", outer);
    b.CreateCondBr(b.CreateICmpEQ(from, to), ready, start);
    b.SetInsertPoint(start);
    b.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1),
                   static_cast<uint64_t>(
                       routine.around->slots[static_cast<size_t>(routine.loop->out[c])].bytes()));
    b.CreateBr(ready);
    b.SetInsertPoint(ready);
  }
  b.CreateCall(inner, args);
  b.CreateRetVoid();
}

}  // namespace tessera::codegen
