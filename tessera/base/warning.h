// Warnings about programs that are correct, but slower or larger than they need be. Each text is
// printed once on standard error, or passed to a handler.
#pragma once

#include <functional>
#include <string>

namespace tessera {

using WarningHandler = std::function<void(const std::string&)>;
// Replaces the handler, and returns the previous one. An empty handler is the default, which prints
// `tessera: warning: ...` once for each text.
WarningHandler set_warning_handler(WarningHandler handler);
void warn(const std::string& text);

}  // namespace tessera
