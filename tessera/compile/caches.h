// The caches of compilation: what they keep, and how to empty them.
//
//   cache                          finds                                  keeps at most
//   calls of one jitted function   its program, by the arguments          1024 calls
//   calls of ops outside of jit    their programs, by the arguments       4096 calls
//   programs                       a program of the same structure        4096 programs, 512 MiB
//   kernels                        machine code of the same text          4096 kernels
//
// What was used last stays. What somebody still holds or runs lives on with them, whatever the
// caches do; machine code is freed with the last program that has it.
#pragma once

#include <cstdint>

namespace tessera {

// Empties them all, those of every jitted function too: what is called next is traced and compiled
// again (kernels may still be found on disk). Any thread, at any time.
void clear_caches();

struct CompileStats {
  int64_t programs_compiled = 0, program_cache_hits = 0;
  int64_t programs_cached = 0;
  int64_t machine_code_bytes = 0;  // of all programs and caches together
};
CompileStats compile_stats();

}  // namespace tessera
