#include "tessera/codegen/machine_code/linker.h"

#include <dlfcn.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

#include "tessera/base/error.h"
#include "tessera/codegen/helpers.h"
#include "tessera/codegen/machine_code/llvm_passes.h"

namespace tessera::codegen {
namespace {

std::string message_of(llvm::Error error) { return llvm::toString(std::move(error)); }

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
