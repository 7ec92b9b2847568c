// One run of a program: the buffers of its devices become arrays of Tessera, and back.
#pragma once

#include "plugin/executable.h"

namespace tessera::plugin {

// Fills in a.output_lists and the events. Results are memory of their own: no other buffer's but that of
// donated arguments, which are deleted. ApiError for arguments that do not fit, and for deleted ones;
// then nothing was donated.
void execute(PJRT_LoadedExecutable_Execute_Args& a);

}  // namespace tessera::plugin
