// Warnings: what is right but costs more than it should. Printed once each on standard error, or
// given to a handler.
#pragma once

#include <functional>
#include <string>

namespace tessera {

using WarningHandler = std::function<void(const std::string&)>;
// Replaces the handler (empty: the default, which prints `tessera: warning: ...` once per text);
// the one before.
WarningHandler set_warning_handler(WarningHandler handler);
void warn(const std::string& text);

}  // namespace tessera
