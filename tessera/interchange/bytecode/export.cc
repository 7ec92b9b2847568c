#include "tessera/interchange/bytecode/export.h"

#include <cstdint>

#include "tessera/interchange/bytecode/container.h"

namespace tessera::interchange::bytecode {
namespace {

// The position of `mlir_module_serialized` in the table of fields
// (jax/_src/export/serialization.fbs).
constexpr uint64_t kModuleField = 30;

// Returns a little-endian number of `size` bytes. Outside of the bytes it is 0, which is no valid
// offset.
uint64_t number(std::string_view bytes, uint64_t offset, int size) {
  uint64_t value = 0;
  if (offset > bytes.size() || bytes.size() - offset < static_cast<size_t>(size)) return 0;
  for (int i = 0; i < size; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[offset + i])) << (8 * i);
  return value;
}

}  // namespace

std::string_view artifact_of_export(std::string_view bytes) {
  const uint64_t table = number(bytes, 0, 4);
  const auto back = static_cast<int32_t>(number(bytes, table, 4));
  const int64_t fields = static_cast<int64_t>(table) - back;
  if (table == 0 || fields < 0) return {};
  const auto begin = static_cast<uint64_t>(fields);
  if (number(bytes, begin, 2) <= kModuleField) return {};
  const uint64_t field = number(bytes, begin + kModuleField, 2);
  if (field == 0) return {};
  const uint64_t vector = table + field + number(bytes, table + field, 4);
  const uint64_t size = number(bytes, vector, 4);
  if (vector + 4 > bytes.size() || size > bytes.size() - vector - 4) return {};
  const std::string_view artifact = bytes.substr(vector + 4, size);
  return has_magic(artifact) ? artifact : std::string_view();
}

}  // namespace tessera::interchange::bytecode
