// Warnings about programs that are right but cost more than they should. Each text is printed once
// on standard error, or passed to a handler.
#pragma once

#include <functional>
#include <string>

namespace tessera {

using WarningHandler = std::function<void(const std::string&)>;
// Replaces the handler and returns the one before. An empty handler is the default, which prints
// `tessera: warning: ...` once for each text.
WarningHandler set_warning_handler(WarningHandler handler);
void warn(const std::string& text);

}  // namespace tessera
