// Strings in results of the C API: a pointer and a size, valid as long as the handle.
#pragma once

#include <cstddef>
#include <string>

namespace tessera::plugin {

inline void give(const std::string& text, const char*& data, size_t& size) {
  data = text.data();
  size = text.size();
}

}  // namespace tessera::plugin
