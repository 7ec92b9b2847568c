// Texts that functions outside of the C API return to callers in other languages.
#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

namespace tessera::plugin {

// Returns a copy that tessera_free frees; null if there is no memory.
inline char* copied(const std::string& text) {
  auto* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

// Returns 0 and the text that f returns in *out, or 1 and the text of the error that f throws.
template <class F>
int answer(char** out, F&& f) {
  try {
    *out = copied(f());
    return *out ? 0 : 1;
  } catch (const std::exception& error) {
    *out = copied(error.what());
    return 1;
  }
}

}  // namespace tessera::plugin
