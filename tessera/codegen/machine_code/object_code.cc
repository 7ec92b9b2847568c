#include "tessera/codegen/machine_code/object_code.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/codegen/emitter.h"
#include "tessera/codegen/machine_code/llvm_passes.h"
#include "tessera/codegen/select_arms.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {
namespace {

// Returns whether the kernel contains exp_low or another op of the low part of a function. Most of
// its code is the code of the function, which such kernels contain as well.
bool has_common_code(const Kernel& kernel) {
  return std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& node) {
    return node.kind == NodeKind::kScalarOp &&
           (node.op == ScalarOp::kExpLow || node.op == ScalarOp::kExpm1Low ||
            node.op == ScalarOp::kSinLow || node.op == ScalarOp::kCosLow);
  });
}

}  // namespace

ObjectEmitter::ObjectEmitter(const Target& target) : target_(target) { initialize_llvm(); }
ObjectEmitter::~ObjectEmitter() = default;

std::unique_ptr<llvm::TargetMachine> ObjectEmitter::borrow() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto machine = std::move(idle_.back());
      idle_.pop_back();
      return machine;
    }
  }
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TESSERA_CHECK(target, "{}", error);
  llvm::TargetOptions options;
  // The emitter fuses products and sums itself, in the same way on every target.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, target_.cpu, target_.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
}

void ObjectEmitter::give_back(std::unique_ptr<llvm::TargetMachine> machine) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(machine));
}

std::string ObjectEmitter::emit(const Kernel& kernel, const std::string& symbol, Output output) {
  return emit([&](llvm::Module& module) { emit_kernel(kernel, target_, module, symbol); },
              has_common_code(kernel) ? Passes::kShare : Passes::kNone, output);
}
std::string ObjectEmitter::emit(const Routine& routine, const std::string& symbol, Output output) {
  return emit([&](llvm::Module& module) { emit_routine(routine, target_, module, symbol); },
              Passes::kAll, output);
}

std::string ObjectEmitter::emit(const std::function<void(llvm::Module&)>& fill, Passes passes,
                                Output output) {
  auto machine = borrow();
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  fill(module);
#ifndef NDEBUG
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  TESSERA_CHECK(!llvm::verifyModule(module, &problems), "{}", problem);
#endif
  if (passes == Passes::kAll) simplify(module, *machine);
  if (passes == Passes::kShare) remove_common_subexpressions(module, *machine);
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) skip_unneeded_arms(function);
  std::string text;
  if (output == Output::kIr) {
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
  } else {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager emission;
    const auto type = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile
                                                : llvm::CodeGenFileType::AssemblyFile;
    TESSERA_CHECK(!machine->addPassesToEmitFile(emission, out, nullptr, type));
    emission.run(module);
    text.assign(bytes.begin(), bytes.end());
  }
  give_back(std::move(machine));
  return text;
}

}  // namespace tessera::codegen
