#include "tessera/control/io_calls.h"

#include <algorithm>

#include "tessera/base/format.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/control/host_callback.h"

namespace tessera::control {

void expect_no_io(std::string_view op, const Function& f, std::string_view function,
                  std::string_view reason) {
  if (std::any_of(f.ops.begin(), f.ops.end(),
                  [](const Op& inner) { return holds_within(inner, is_io_call); }))
    value_error(op,
                "expected {} without io_callback, since {}, got one; make the call outside, or use "
                "debug::callback, whose calls need no exact number",
                function, reason);
}

}  // namespace tessera::control
