#include <ostream>

#include "tessera/compile/lowered.h"
#include "tessera/interchange/programs/unroll_loops.h"
#include "tools/program.h"

namespace tessera::tools {

using namespace interchange;

void explain_file(const ExplainOptions& options, const Streams& streams) {
  const ParsedModule module = load_program(
      {.file = options.file, .devices = options.devices, .shapes = options.shapes}, streams);
  const Lowered lowered(interchange::with_loops_rewritten(module), request_of(module), {},
                        devices()[0]);
  streams.out << lowered.explain();
  if (options.schedule) streams.out << "\nschedule:\n" << lowered.text("fused");
}

}  // namespace tessera::tools
