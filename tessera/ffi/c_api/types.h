// The types of states, which handlers make in one stage for a later one. A handler registers a type
// and gets a number for it; deleter_of() finds by the number how a state of this type is destroyed.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera::ffi {

// Deleters are null for types without one.
using Deleter = void (*)(void*);
// Returns the deleter of that type; nullopt for a number that no type has.
std::optional<Deleter> deleter_of(int64_t type);

}  // namespace tessera::ffi
