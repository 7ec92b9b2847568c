// Tessera's values in fmt's format strings: fmt::format("{} on {}", x, mesh). For users who print
// with fmt; tessera.h does without it, as std::ostream prints them all.
#pragma once

#include <tessera/tessera.h>

#include "tessera/ir/format.h"

template <>
struct fmt::formatter<tessera::random::Key>
    : tessera::internal::StreamedFormatter<tessera::random::Key> {};
