// Sets of kinds of dtypes. Each row of a table of operations names the dtypes that it accepts with
// such a set.
#pragma once

#include "tessera/base/dtype.h"

namespace tessera::dtype_kinds {

using Kinds = unsigned;
constexpr Kinds bit(DTypeKind kind) { return 1u << static_cast<unsigned>(kind); }
inline constexpr Kinds kBools = bit(DTypeKind::kBool), kSigned = bit(DTypeKind::kSigned),
                       kUnsigned = bit(DTypeKind::kUnsigned), kFloat = bit(DTypeKind::kFloat),
                       kComplex = bit(DTypeKind::kComplex), kInt = kSigned | kUnsigned,
                       kInexact = kFloat | kComplex, kReal = kInt | kFloat,
                       kNumber = kInt | kInexact, kBits = kBools | kInt, kOrdered = kBools | kReal,
                       kAny = kBools | kNumber;
inline bool contains(Kinds kinds, DType dtype) { return (kinds & bit(kind(dtype))) != 0; }

}  // namespace tessera::dtype_kinds
