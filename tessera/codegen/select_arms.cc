#include "tessera/codegen/select_arms.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Metadata.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace tessera::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr const char* kMark = "tessera.node";
// A wrong prediction of a branch takes about as long as kLeastSum instructions of vectors. If one
// arm is short, the other one is needed nearly always.
constexpr int kLeastWeight = 16, kLeastSum = 44;
constexpr int kWeightOfDivision = 8;

bool may_move(const Instruction& instruction) {
  return !llvm::isa<llvm::PHINode>(instruction) && !instruction.isTerminator() &&
         !instruction.mayReadOrWriteMemory() && !instruction.mayHaveSideEffects() &&
         !llvm::isa<llvm::AllocaInst>(instruction);
}

// Returns about how many instructions of vectors of 64 bytes it becomes.
int weight_of(const Instruction& instruction) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  if (!vector || llvm::isa<llvm::BitCastInst>(instruction)) return 0;
  const unsigned bits = vector->getScalarSizeInBits() * vector->getNumElements();
  const int registers = static_cast<int>(std::max(1U, bits / 512));
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  const bool divides = instruction.getOpcode() == Instruction::FDiv ||
                       (call && call->getIntrinsicID() == llvm::Intrinsic::sqrt);
  return registers * (divides ? kWeightOfDivision : 1);
}

// The selects of a node for the vectors of a block, in their order.
struct Group {
  int64_t node = 0;
  std::vector<llvm::SelectInst*> selects;
};
// Returns whether all operands of the select are known before the group's first select.
bool may_join(const llvm::SelectInst& select, const Group& group) {
  const Instruction& first = *group.selects.front();
  return std::all_of(select.op_begin(), select.op_end(), [&](const llvm::Use& use) {
    const auto* operand = llvm::dyn_cast<Instruction>(use.get());
    return !operand || operand->getParent() != first.getParent() || operand->comesBefore(&first);
  });
}
std::vector<Group> groups_of(BasicBlock& block) {
  std::vector<Group> groups;
  for (Instruction& instruction : block) {
    auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    const llvm::MDNode* mark = select ? select->getMetadata(kMark) : nullptr;
    if (!mark || !llvm::isa<llvm::FixedVectorType>(select->getCondition()->getType())) continue;
    const int64_t node =
        llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getSExtValue();
    if (groups.empty() || groups.back().node != node || !may_join(*select, groups.back()))
      groups.push_back({node, {}});
    groups.back().selects.push_back(select);
  }
  return groups;
}

// The instructions of a block that only one arm of its selects needs, in their order.
struct Arm {
  std::vector<Instruction*> own;
  int weight = 0;
};
Arm arm_of(const Group& group, unsigned operand) {
  Arm arm;
  std::unordered_map<Instruction*, unsigned> uses;  // those by the arm
  std::vector<Instruction*> open;
  const Instruction& first = *group.selects.front();
  const auto count_use = [&](Value* value) {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (!instruction || instruction->getParent() != first.getParent()) return;
    if (!may_move(*instruction) || !instruction->comesBefore(&first)) return;
    if (instruction->hasNUses(++uses[instruction])) open.push_back(instruction);
  };
  for (llvm::SelectInst* select : group.selects) count_use(select->getOperand(operand));
  while (!open.empty()) {
    Instruction* const instruction = open.back();
    open.pop_back();
    arm.own.push_back(instruction);
    arm.weight += weight_of(*instruction);
    for (Value* value : instruction->operands()) count_use(value);
  }
  std::sort(arm.own.begin(), arm.own.end(),
            [](const Instruction* a, const Instruction* b) { return a->comesBefore(b); });
  return arm;
}

// Returns whether any lane of any of the selects takes the arm.
Value* is_taken(llvm::IRBuilder<>& builder, const Group& group, unsigned operand) {
  Value* lanes = nullptr;
  for (llvm::SelectInst* select : group.selects) {
    Value* const mask = select->getCondition();
    Value* const taken = operand == 1 ? mask : builder.CreateNot(mask);
    lanes = lanes ? builder.CreateOr(lanes, taken) : taken;
  }
  const auto* type = llvm::cast<llvm::FixedVectorType>(lanes->getType());
  return builder.CreateIsNotNull(
      builder.CreateBitCast(lanes, builder.getIntNTy(type->getNumElements())));
}

// Moves an arm into a block that runs if a lane takes it, and returns this block. The selects are
// in the block after it.
BasicBlock* move_arm(const Group& group, unsigned operand, const Arm& arm) {
  BasicBlock* const before = group.selects.front()->getParent();
  BasicBlock* const join = before->splitBasicBlock(group.selects.front(), "join");
  BasicBlock* const block =
      BasicBlock::Create(before->getContext(), "arm", before->getParent(), join);
  Instruction* const end = before->getTerminator();
  llvm::IRBuilder<> builder(end);
  builder.CreateCondBr(is_taken(builder, group, operand), block, join);
  end->eraseFromParent();
  builder.SetInsertPoint(block);
  Instruction* const jump = builder.CreateBr(join);
  for (Instruction* instruction : arm.own) instruction->moveBefore(jump);
  for (llvm::SelectInst* select : group.selects) {
    Value* const value = select->getOperand(operand);
    const auto* own = llvm::dyn_cast<Instruction>(value);
    if (!own || own->getParent() != block) continue;
    builder.SetInsertPoint(join, join->begin());
    llvm::PHINode* const phi = builder.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, block);
    phi->addIncoming(llvm::PoisonValue::get(value->getType()), before);
    select->setOperand(operand, phi);
  }
  return block;
}

// Visits the selects of a block from its end to its begin, and those of the new blocks.
void skip_arms_of(BasicBlock* block) {
  std::vector<Group> groups = groups_of(*block);
  std::vector<BasicBlock*> arms;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    if (group->selects.front()->getParent() != block) continue;  // it is in an arm
    const std::array<Arm, 2> both = {arm_of(*group, 1), arm_of(*group, 2)};
    if (std::min(both[0].weight, both[1].weight) < kLeastWeight) continue;
    if (both[0].weight + both[1].weight < kLeastSum) continue;
    for (unsigned operand : {1U, 2U}) arms.push_back(move_arm(*group, operand, both[operand - 1]));
  }
  for (BasicBlock* arm : arms) skip_arms_of(arm);
}

}  // namespace

void mark_select(Value* value, int node) {
  auto* const select = llvm::dyn_cast<llvm::SelectInst>(value);
  if (!select) return;
  llvm::LLVMContext& context = select->getContext();
  auto* const number = llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context), node);
  select->setMetadata(kMark, llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(number)));
}

void skip_unneeded_arms(llvm::Function& function) {
  std::vector<BasicBlock*> blocks;
  for (BasicBlock& block : function) blocks.push_back(&block);
  for (BasicBlock* block : blocks) skip_arms_of(block);
}

}  // namespace tessera::codegen
