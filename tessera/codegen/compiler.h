// KernelCompiler: compiles kernels to machine code, each distinct kernel once.
//
// It looks for a kernel (in canonical form, so arrays of other sizes often share code) in memory,
// then on disk, and compiles those found in neither, several at once on several threads. Machine
// code (some 8 KiB for each kernel) lives as long as the programs that hold it; the compiler itself
// keeps the last kMaxKernels that were requested. The compiler of the process is never destroyed,
// so that programs may run during exit.
//
// The cache on disk stores object code in `$TESSERA_CACHE_DIR`, otherwise
// `$XDG_CACHE_HOME/tessera`, otherwise `~/.cache/tessera`; the value `off` disables it. The key of
// a file consists of the kernel's text, LLVM's version, the CPU's features and the generator's
// version. Files are written under another name and renamed, so processes may share a folder. A
// damaged file is ignored and replaced. If the folder cannot be written, one warning is printed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/codegen/machine_code/target.h"
#include "tessera/codegen/routines/routine.h"
#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

struct CompilerOptions {
  std::optional<Target> target;          // unset: the host
  std::optional<std::string> cache_dir;  // unset: from the environment; "off": no cache on disk
};

struct CompilerStatistics {
  int64_t compiled = 0;     // kernels turned into machine code
  int64_t from_disk = 0;    // found in the cache on disk
  int64_t from_memory = 0;  // in memory already
  double seconds = 0;       // of compiling or loading, summed over threads
  int64_t code_bytes = 0;   // of machine code that is held
};

class KernelCompiler {
 public:
  static constexpr size_t kMaxKernels = 4096;

  explicit KernelCompiler(CompilerOptions options = {});
  ~KernelCompiler();
  KernelCompiler(const KernelCompiler&) = delete;
  KernelCompiler& operator=(const KernelCompiler&) = delete;

  // Returns the compiler of the process, for the host.
  static KernelCompiler& process();

  // Returns one function for each kernel, in the order of the kernels. Any thread may call it.
  // Throws InternalError for a kernel that breaks the rules of kernel.h.
  std::vector<KernelCode> compile(std::span<const Kernel* const> kernels);
  KernelCode compile(const Kernel& kernel);
  // Returns one function for each loop, likewise.
  std::vector<KernelCode> compile(std::span<const Routine> routines);
  // Drops all kernels; those that programs hold stay with them.
  void clear();

  // Waits until the cache on disk contains all kernels compiled so far.
  void flush();
  CompilerStatistics statistics() const;
  // Return LLVM IR and assembly of a kernel, for inspection.
  std::string llvm_ir(const Kernel& kernel) const;
  std::string assembly(const Kernel& kernel) const;
  std::string llvm_ir(const Routine& routine) const;
  std::string assembly(const Routine& routine) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the unit to which the runtime should round the ranges of the parallel index that it
// passes (any range is correct): whole vectors and cache lines, or 1 for vectors along an inner
// dimension.
int64_t split_unit(const Kernel& kernel);
// Returns whether the code of the kernel transposes operands in registers (tiles.cc). It then reads
// whole cache lines of them, if the ranges of the parallel index are long.
bool has_tiles(const Kernel& kernel);

}  // namespace tessera::codegen
