#include "tessera/codegen/object_code.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <atomic>

#include "tessera/base/error.h"
#include "tessera/codegen/emit.h"
#include "tessera/codegen/helpers.h"

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

// Loop-invariant code, memory that can be registers, branches on constants. Nothing here reorders
// arithmetic: no operation has fast-math flags.
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
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
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
  // Emission fuses products and sums itself, alike everywhere.
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
  return emit([&](llvm::Module& module) { emit_kernel(kernel, target_, module, symbol); }, false,
              output);
}
std::string ObjectEmitter::emit(const Routine& routine, const std::string& symbol, Output output) {
  return emit([&](llvm::Module& module) { emit_routine(routine, target_, module, symbol); }, true,
              output);
}

std::string ObjectEmitter::emit(const std::function<void(llvm::Module&)>& fill, bool optimise,
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
  if (optimise) simplify(module, *machine);
  std::string text;
  if (output == Output::kIr) {
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
  } else {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    const auto type = output == Output::kObject ? llvm::CodeGenFileType::ObjectFile
                                                : llvm::CodeGenFileType::AssemblyFile;
    TESSERA_CHECK(!machine->addPassesToEmitFile(passes, out, nullptr, type));
    passes.run(module);
    text.assign(bytes.begin(), bytes.end());
  }
  give_back(std::move(machine));
  return text;
}

struct Linker::Session {
  std::unique_ptr<llvm::orc::ExecutionSession> orc;
  std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> memory;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  llvm::orc::JITDylib* helpers = nullptr;
  std::atomic<int> count{0};

  ~Session() {
    if (auto error = orc->endSession()) llvm::consumeError(std::move(error));
  }
};

Linker::Linker() : session_(std::make_unique<Session>()) {
  using namespace llvm;
  initialize_llvm();
  auto control = orc::SelfExecutorProcessControl::Create();
  TESSERA_CHECK(static_cast<bool>(control));
  session_->orc = std::make_unique<orc::ExecutionSession>(std::move(*control));
  // Failures reach the caller of link(); they need not be printed too.
  session_->orc->setErrorReporter([](Error error) { consumeError(std::move(error)); });
  auto memory = jitlink::InProcessMemoryManager::Create();
  TESSERA_CHECK(static_cast<bool>(memory));
  session_->memory = std::move(*memory);
  session_->layer = std::make_unique<orc::ObjectLinkingLayer>(*session_->orc, *session_->memory);
  session_->helpers = &session_->orc->createBareJITDylib("helpers");
  orc::SymbolMap symbols;
  for (const auto& [name, address] : helper_symbols()) {
    symbols[session_->orc->intern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                            JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  }
  auto error = session_->helpers->define(orc::absoluteSymbols(std::move(symbols)));
  TESSERA_CHECK(!error, "{}", message_of(std::move(error)));
  // What LLVM itself calls (memset, fma of a scalar, ...).
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  TESSERA_CHECK(static_cast<bool>(process));
  session_->helpers->addGenerator(std::move(*process));
}

Linker::~Linker() = default;

void* Linker::link(const std::string& object, const std::string& symbol) {
  // A library of its own for each object: a damaged one that is linked again later leaves no name
  // behind.
  auto& library =
      session_->orc->createBareJITDylib(fmt::format("{}.{}", symbol, session_->count++));
  library.addToLinkOrder(*session_->helpers);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, symbol);
  if (auto error = session_->layer->add(library, std::move(buffer))) {
    throw RuntimeError(
        fmt::format("[codegen] object code of {}: {}", symbol, message_of(std::move(error))));
  }
  auto found = session_->orc->lookup({&library}, session_->orc->intern(symbol));
  if (!found) {
    throw RuntimeError(
        fmt::format("[codegen] object code of {}: {}", symbol, message_of(found.takeError())));
  }
  return found->getAddress().toPtr<void*>();
}

}  // namespace tessera::codegen
