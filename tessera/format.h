// Formatters of Tessera's values for fmt: fmt::format("{} on {}", x, mesh). This is for users who
// print with fmt; tessera.h does not need fmt, since std::ostream prints all of them.
#pragma once

#include <tessera/tessera.h>

#include "tessera/ir/format.h"

template <>
struct fmt::formatter<tessera::random::Key>
    : tessera::internal::StreamedFormatter<tessera::random::Key> {};
