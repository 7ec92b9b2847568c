// ReduceKind: the folds that the library knows by name. Ops, their factors, kernels and collectives
// use these names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

enum class ReduceKind : uint8_t {
  kSum,
  kProduct,
  kMin,
  kMax,
  kAnd,
  kOr,
  kArgMin,
  kArgMax,
  kCustom
};
inline std::array<std::string_view, 9> enum_names(ReduceKind) {
  return {"sum", "product", "min", "max", "and", "or", "argmin", "argmax", "custom"};
}

}  // namespace tessera
