#include <ostream>

#include "tessera/compile/lowered.h"
#include "tessera/interchange/programs/count_loops.h"
#include "tools/program.h"

namespace tessera::tools {

using namespace interchange;

void explain_file(const ExplainOptions& options, const Streams& streams) {
  const ParsedModule module = load_program(
      {.file = options.file, .devices = options.devices, .shapes = options.shapes}, streams);
  const Lowered lowered(interchange::count_loops_if_sharded(module), request_of(module), {},
                        devices()[0]);
  streams.out << lowered.explain();
  if (options.schedule) streams.out << "\nschedule:\n" << lowered.text("fused");
}

}  // namespace tessera::tools
