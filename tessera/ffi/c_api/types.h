// The types of handlers' states by number.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera::ffi {

// A type without a deleter has null.
using Deleter = void (*)(void*);
// Returns the deleter of that type; nullopt for a number that no type has.
std::optional<Deleter> deleter_of(int64_t type);

}  // namespace tessera::ffi
