// One run of a program: the buffers of its devices become arrays of Tessera, and the results become
// buffers.
#pragma once

#include "plugin/executable.h"

namespace tessera::plugin {

// Sets a.output_lists and the events. Results have memory of their own, or that of donated
// arguments, which are deleted. Throws ApiError if arguments do not fit or are deleted; then
// nothing is donated.
void execute(PJRT_LoadedExecutable_Execute_Args& a);

}  // namespace tessera::plugin
