// make_handler_target: makes the handlers that users registered under one name a target, which
// ffi_call runs (ops/control/ffi_target.h). Each handler is for one stage, such as execute.
#pragma once

#include <memory>
#include <string>

#include "tessera/ffi/ffi.h"
#include "tessera/ops/control/ffi_target.h"

namespace tessera::ffi {

// Throws UserError unless the handler was built for a version of the interface that this host has.
void expect_known_version(const std::string& name, Handler* handler);

std::shared_ptr<const ops::FfiTarget> make_handler_target(const std::string& name,
                                                          const HandlerBundle& handlers);

}  // namespace tessera::ffi
