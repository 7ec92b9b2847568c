// Watched records the memory that the machine code of a kernel touches, access by access. A masked
// access counts with all its lanes, because the processor also looks up the pages of masked lanes.
#pragma once

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tessera/codegen/canonical.h"
#include "tessera/codegen/emitter.h"
#include "tessera/codegen/helpers.h"

namespace tessera::codegen::test {

// Runs kernels and records all contiguous accesses, whether or not lanes are masked off.
class Watched {
 public:
  explicit Watched(const Target& target) : target_(target) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  }

  struct Span {
    int64_t begin, end;  // bytes from the arena's start
  };

  // Runs the kernel on operands that are far apart in one block of zeros. Returns by how many bytes
  // the farthest access begins before or ends after an operand; -1 if there is no access. `starts`
  // are the elements of buffer 2.
  int64_t farthest(const Kernel& kernel, std::vector<int32_t> starts = {}) {
    int64_t room = 1 << 20;
    for (const KernelBuffer& buffer : kernel.buffers)
      room = std::max(room, 8 * buffer.elements * itemsize(buffer.dtype));
    std::vector<std::byte> arena(static_cast<size_t>(room) * (kernel.buffers.size() + 1));
    std::vector<void*> pointers;
    for (size_t b = 0; b < kernel.buffers.size(); ++b)
      pointers.push_back(arena.data() + room / 2 + room * static_cast<int64_t>(b));
    if (!starts.empty()) std::memcpy(pointers[2], starts.data(), starts.size() * sizeof(int32_t));
    spans_.clear();
    arena_ = arena.data();
    arena_bytes_ = static_cast<int64_t>(arena.size());
    run(kernel, pointers);
    int64_t farthest = spans_.empty() ? -1 : 0;
    for (const Span& span : spans_) {
      int64_t nearest = room;
      for (size_t b = 0; b < kernel.buffers.size(); ++b) {
        const KernelBuffer& buffer = kernel.buffers[b];
        const int64_t begin = room / 2 + room * static_cast<int64_t>(b),
                      end = begin + buffer.elements * itemsize(buffer.dtype);
        nearest = std::min(nearest, std::max({begin - span.begin, span.end - end, int64_t{0}}));
      }
      farthest = std::max(farthest, nearest);
    }
    return farthest;
  }

 private:
  static void record(const void* address, int64_t bytes) {
    const int64_t at = static_cast<const std::byte*>(address) - arena_;
    // Accesses of the table of pointers and of the stack are outside of the arena.
    if (at >= 0 && at < arena_bytes_) spans_.push_back({at, at + bytes});
  }

  void run(const Kernel& kernel, std::vector<void*>& pointers) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("watched", *context);
    const auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit->getDataLayout());
    llvm::orc::SymbolMap helpers;
    for (const auto& [name, address] : helper_symbols())
      helpers[jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                             llvm::JITSymbolFlags::Exported};
    llvm::cantFail(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(helpers))));
    jit->getMainJITDylib().addGenerator(
        llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
            jit->getDataLayout().getGlobalPrefix())));
    emit_kernel(canonical(kernel), target_, *module, "watched");
    watch(*module);
    llvm::cantFail(jit->addIRModule({std::move(module), std::move(context)}));
    const auto fn = llvm::cantFail(jit->lookup("watched")).toPtr<fusion::KernelFn>();
    fn(pointers.data(), 0, kernel.parallel_elements());
  }

  // Inserts a call of `record` before every load and store.
  static void watch(llvm::Module& module) {
    struct Access {
      llvm::Instruction* at;
      llvm::Value* pointer;
      llvm::Type* type;
    };
    std::vector<Access> accesses;
    for (llvm::Function& function : module)
      for (llvm::BasicBlock& block : function)
        for (llvm::Instruction& i : block) {
          const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
          if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
            accesses.push_back({load, load->getPointerOperand(), load->getType()});
          } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
            accesses.push_back(
                {store, store->getPointerOperand(), store->getValueOperand()->getType()});
          } else if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_load) {
            accesses.push_back({&i, intrinsic->getArgOperand(0), i.getType()});
          } else if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::masked_store) {
            accesses.push_back(
                {&i, intrinsic->getArgOperand(1), intrinsic->getArgOperand(0)->getType()});
          }
        }
    const llvm::DataLayout& layout = module.getDataLayout();
    for (const Access& access : accesses) {
      llvm::IRBuilder<> b(access.at);
      auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty()}, false);
      llvm::Value* callee =
          b.CreateIntToPtr(b.getInt64(reinterpret_cast<uint64_t>(&record)), b.getPtrTy());
      b.CreateCall(
          type, callee,
          {access.pointer, b.getInt64(layout.getTypeStoreSize(access.type).getFixedValue())});
    }
  }

  Target target_;
  static inline std::vector<Span> spans_;
  static inline const std::byte* arena_ = nullptr;
  static inline int64_t arena_bytes_ = 0;
};

}  // namespace tessera::codegen::test
