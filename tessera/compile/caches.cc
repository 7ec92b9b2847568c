#include "tessera/compile/caches.h"

#include "tessera/codegen/compiler.h"
#include "tessera/compile/jit_cache.h"

namespace tessera {

using namespace compile;

// The owners of programs are emptied first, then what programs own.
void clear_caches() {
  internal::JitCache::clear_all();
  internal::clear_eager_calls();
  internal::clear_programs();
  codegen::KernelCompiler::process().clear();
}

CompileStats compile_stats() {
  CompileStats out = internal::program_stats();
  out.machine_code_bytes = codegen::KernelCompiler::process().statistics().code_bytes;
  return out;
}

}  // namespace tessera
