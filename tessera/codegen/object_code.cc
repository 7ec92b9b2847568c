#include "tessera/codegen/object_code.h"

#include <dlfcn.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LoopLoadElimination.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/codegen/emitter.h"
#include "tessera/codegen/helpers.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {
namespace {

void initialize_llvm() {
  static const bool done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  static_cast<void>(done);
}

// Optimizes: moves loop-invariant code, keeps memory in registers, resolves constant branches. It
// does not reorder arithmetic, since no operation has fast-math flags.
void simplify(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes = builder.buildFunctionSimplificationPipeline(
      llvm::OptimizationLevel::O2, llvm::ThinOrFullLTOPhase::None);
  // Bounds of an index that its range keeps are removed. What a trip stores and the next one loads
  // stays in a register.
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::IndVarSimplifyPass()));
  passes.addPass(llvm::LoopLoadEliminationPass());
  passes.addPass(llvm::InstCombinePass());
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

// Removes common subexpressions: what is computed twice is computed once.
void share(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::legacy::FunctionPassManager passes(&module);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createEarlyCSEPass());
  passes.doInitialization();
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function);
  passes.doFinalization();
}

// Returns whether the kernel contains exp_low or another op of the low part of a function. Most of
// its code is the code of the function, which such kernels contain as well.
bool has_common_code(const Kernel& kernel) {
  return std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& node) {
    return node.kind == NodeKind::kScalarOp &&
           (node.op == ScalarOp::kExpLow || node.op == ScalarOp::kExpm1Low ||
            node.op == ScalarOp::kSinLow || node.op == ScalarOp::kCosLow);
  });
}

std::string message_of(llvm::Error error) { return llvm::toString(std::move(error)); }

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
  if (passes == Passes::kShare) share(module, *machine);
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

namespace {

using llvm::jitlink::JITLinkMemoryManager;
using llvm::jitlink::LinkGraph;

// Puts all sections of an object (machine code and its constants, never written) into one block.
class BlockMemory final : public JITLinkMemoryManager {
 public:
  explicit BlockMemory(CodeMemory& memory) : memory_(memory) {}

  void allocate(const llvm::jitlink::JITLinkDylib*, LinkGraph& graph,
                OnAllocatedFunction on_allocated) override {
    llvm::jitlink::BasicLayout layout(graph);
    size_t bytes = 0;
    for (auto& [group, segment] : layout.segments()) {
      if (writes(group.getMemProt()))
        return on_allocated(failure("it has data of its own to write"));
      bytes = llvm::alignTo(bytes, segment.Alignment) + segment.ContentSize + segment.ZeroFillSize;
    }
    if (!graph.allocActions().empty())
      return on_allocated(failure("it asks for calls when it is loaded"));
    CodeMemory::Block block;
    try {
      block = memory_.allocate(bytes);
    } catch (const RuntimeError& error) {
      return on_allocated(failure(error.what()));
    }
    size_t at = 0;
    for (auto& [group, segment] : layout.segments()) {
      at = llvm::alignTo(at, segment.Alignment);
      segment.WorkingMem = reinterpret_cast<char*>(block.data + at);
      segment.Addr = llvm::orc::ExecutorAddr::fromPtr(segment.WorkingMem);
      at += segment.ContentSize + segment.ZeroFillSize;
    }
    if (auto error = layout.apply()) {
      memory_.free(block);
      return on_allocated(std::move(error));
    }
    on_allocated(std::make_unique<InFlight>(memory_, block, &sealed));
  }
  void deallocate(std::vector<FinalizedAlloc>, OnDeallocatedFunction on_deallocated) override {
    on_deallocated(llvm::Error::success());
  }

  CodeMemory::Block sealed;  // the block of the last object

 private:
  class InFlight final : public InFlightAlloc {
   public:
    InFlight(CodeMemory& memory, CodeMemory::Block block, CodeMemory::Block* sealed)
        : memory_(memory), block_(block), sealed_(sealed) {}
    void abandon(OnAbandonedFunction on_abandoned) override {
      memory_.free(block_);
      on_abandoned(llvm::Error::success());
    }
    void finalize(OnFinalizedFunction on_finalized) override {
      try {
        memory_.seal(block_);
      } catch (const RuntimeError& error) {
        memory_.free(block_);
        return on_finalized(failure(error.what()));
      }
      *sealed_ = block_;
      on_finalized(FinalizedAlloc(llvm::orc::ExecutorAddr::fromPtr(block_.data)));
    }

   private:
    CodeMemory& memory_;
    CodeMemory::Block block_;
    CodeMemory::Block* sealed_;
  };
  static bool writes(llvm::orc::MemProt protection) {
    using llvm::orc::MemProt;
    return (static_cast<unsigned>(protection) & static_cast<unsigned>(MemProt::Write)) != 0;
  }
  static llvm::Error failure(const std::string& text) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
  }

  CodeMemory& memory_;
};

// Returns the address of a function that an object calls: a helper, otherwise a function of the C
// library that LLVM calls itself (memset, fma of a scalar, ...).
void* address_of(llvm::StringRef name) {
  for (const auto& [helper, address] : helper_symbols())
    if (name == helper) return address;
  return ::dlsym(RTLD_DEFAULT, name.str().c_str());
}

struct Linked {
  void* address = nullptr;
  std::string problem;
};

// Links one object at once; everything that it refers to is known already.
class LinkOne final : public llvm::jitlink::JITLinkContext {
 public:
  LinkOne(BlockMemory& memory, const std::string& symbol, Linked* out)
      : JITLinkContext(nullptr), memory_(memory), symbol_(symbol), out_(out) {}

  JITLinkMemoryManager& getMemoryManager() override { return memory_; }
  void notifyFailed(llvm::Error error) override { out_->problem = message_of(std::move(error)); }
  void lookup(const LookupMap& symbols,
              std::unique_ptr<llvm::jitlink::JITLinkAsyncLookupContinuation> then) override {
    llvm::jitlink::AsyncLookupResult found;
    for (const auto& [name, flags] : symbols) {
      void* address = address_of(name);
      if (!address && flags == llvm::jitlink::SymbolLookupFlags::RequiredSymbol)
        return then->run(llvm::createStringError(llvm::inconvertibleErrorCode(),
                                                 "nothing is named " + name.str()));
      found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    then->run(std::move(found));
  }
  llvm::Error notifyResolved(LinkGraph& graph) override {
    for (const auto* symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getName() == symbol_)
        out_->address = symbol->getAddress().toPtr<void*>();
    if (out_->address) return llvm::Error::success();
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "it does not define the symbol");
  }
  void notifyFinalized(JITLinkMemoryManager::FinalizedAlloc memory) override { memory.release(); }

 private:
  BlockMemory& memory_;
  const std::string& symbol_;
  Linked* out_;
};

}  // namespace

Linker::Linker() : memory_(std::make_shared<CodeMemory>()) { initialize_llvm(); }

KernelCode Linker::link(const std::string& object, const std::string& symbol) {
  BlockMemory memory(*memory_);
  Linked linked;
  auto graph = llvm::jitlink::createLinkGraphFromObject(llvm::MemoryBufferRef(object, symbol));
  if (graph) {
    llvm::jitlink::link(std::move(*graph), std::make_unique<LinkOne>(memory, symbol, &linked));
  } else {
    linked.problem = message_of(graph.takeError());
  }
  if (!linked.problem.empty())
    throw RuntimeError(fmt::format("[codegen] object code of {}: {}", symbol, linked.problem));
  const auto free = [owner = memory_, block = memory.sealed](const void*) { owner->free(block); };
  return {reinterpret_cast<KernelFn>(linked.address),
          std::shared_ptr<const void>(memory.sealed.data, free),
          static_cast<int64_t>(memory.sealed.bytes)};
}

}  // namespace tessera::codegen
