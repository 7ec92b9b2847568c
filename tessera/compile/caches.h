// The caches of compilation: their contents and limits, and a function that empties them.
//
//   cache                          finds                                  keeps at most
//   calls of one jitted function   its program, by the arguments          1024 calls
//   calls of ops outside of jit    their programs, by the arguments       4096 calls
//   programs                       a program of the same structure        4096 programs, 512 MiB
//   kernels                        machine code of the same text          4096 kernels
//
// A full cache drops the entries that were used least recently. A program that is held or running
// survives when a cache drops it; machine code is freed with the last program that has it.
#pragma once

#include <cstdint>

namespace tessera {

// Empties all caches, including those of every jitted function: the next call is traced and
// compiled again (kernels may still be found on disk). Any thread may call it at any time.
void clear_caches();

struct CompileStats {
  int64_t programs_compiled = 0, program_cache_hits = 0;
  int64_t programs_cached = 0;
  int64_t machine_code_bytes = 0;  // of all programs and caches together
};
CompileStats compile_stats();

}  // namespace tessera
