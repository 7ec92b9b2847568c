#include "tessera/codegen/call_place.h"

#include <dlfcn.h>
#include <link.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>

#include <optional>
#include <string_view>

#include "tessera/base/format.h"
#include "tessera/codegen/machine_code/library_gate.h"

namespace tessera::codegen {
namespace {

// A program or library in memory, and the address at which it begins.
struct LoadedFile {
  std::string path;
  uintptr_t begin;
};

std::optional<LoadedFile> file_of(uintptr_t address) {
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map),
               RTLD_DL_LINKMAP) ||
      !map)
    return std::nullopt;
  // The name of the program itself is empty.
  return LoadedFile{*map->l_name ? map->l_name : "/proc/self/exe", map->l_addr};
}

// Returns whether the source file is a header of the standard library or of Tessera, whose inlined
// code is part of the user's functions. A header of Tessera is one in a known folder:
// .../tessera/ir/array.h.
bool is_header_of_others(std::string_view source) {
  if (source.find("/include/c++/") != source.npos) return true;
  if (!source.ends_with(".h")) return false;
  for (std::string_view folder :
       {"base", "compile", "control", "io", "ir", "linen", "mesh", "nn", "nnx", "numpy", "ops",
        "optim", "per_example", "privacy", "random", "scipy", "spmd", "eigen.h", "mdspan.h"}) {
    const std::string part = fmt::format("tessera/{}", folder);
    const size_t at = source.find(part);
    if (at == source.npos || (at > 0 && source[at - 1] != '/')) continue;
    const std::string_view rest = source.substr(at + part.size());
    if (rest.empty() || rest.starts_with('/')) return true;
  }
  return false;
}

llvm::symbolize::LLVMSymbolizer::Options options() {
  llvm::symbolize::LLVMSymbolizer::Options out;
  out.PrintFunctions = llvm::DINameKind::None;
  // The path as it was given to the compiler, like that of std::source_location.
  out.PathStyle = llvm::DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath;
  out.UseSymbolTable = false;
  out.Demangle = false;
  return out;
}

}  // namespace

std::string place_of_call(std::span<const uintptr_t> calls) {
  const std::optional<LoadedFile> own = file_of(reinterpret_cast<uintptr_t>(&place_of_call));
  if (calls.empty() || !own) return {};
  const LibraryGate::Pass pass;
  llvm::symbolize::LLVMSymbolizer symbolizer(options());
  for (const uintptr_t address : calls) {
    const std::optional<LoadedFile> file = file_of(address);
    if (!file || file->begin == own->begin) continue;
    // The functions at this address, the innermost first; all of them are inlined into the last.
    llvm::Expected<llvm::DIInliningInfo> inlined = symbolizer.symbolizeInlinedCode(
        file->path, {address - file->begin, llvm::object::SectionedAddress::UndefSection});
    if (!inlined) {
      llvm::consumeError(inlined.takeError());
      return {};
    }
    for (uint32_t k = 0; k < inlined->getNumberOfFrames(); ++k) {
      const llvm::DILineInfo& line = inlined->getFrame(k);
      if (line.FileName == llvm::DILineInfo::BadString) return {};
      if (line.Line > 0 && !is_header_of_others(line.FileName))
        return fmt::format("{}:{}", line.FileName, line.Line);
    }
  }
  return {};
}

}  // namespace tessera::codegen
