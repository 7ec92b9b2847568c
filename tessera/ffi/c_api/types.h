// The types of handlers' states, found by their numbers.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera::ffi {

// Deleters are null for types without one.
using Deleter = void (*)(void*);
// Returns the deleter of that type; nullopt for a number that no type has.
std::optional<Deleter> deleter_of(int64_t type);

}  // namespace tessera::ffi
