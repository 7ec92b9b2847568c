// Refinement of shapes. A program may leave extents open (`tensor<?x4xf32>`, as JAX exports
// functions of symbolic shapes). Tessera has no dynamic shapes: it reads such a program for
// arguments of known shapes, from which every extent follows, as in StableHLO's refinement of
// shapes. Ops determine the types of their results, shapes are computed from constants
// (get_dimension_size is one), and private functions are read again for the shapes and sizes of
// each call.
#pragma once

#include <optional>

#include "tessera/base/literal.h"
#include "tessera/interchange/op_format.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

// An open extent. Types in functions have none, but types in the program that is read may.
inline constexpr int64_t kOpenExtent = -1;
// The most elements of an array in a program; extents of 0 count as 1.
inline constexpr int64_t kMaxElements = int64_t{1} << 46;

// Returns whether a program may have arrays of that shape: no extent is negative, and there are at
// most kMaxElements elements.
bool is_readable(const Shape& shape);

bool is_open(const Type& written);
// Returns whether `actual` has the dtype and the shape of `written`, except for its open extents.
bool fits(const Type& written, const Type& actual);
// Returns `written` with the extents of `shape`, which has the same rank, in place of its open
// ones.
Type refined(Type written, const Shape& shape);

// Returns the type of a result that only the text determines. Throws UserError if it is open.
const Type& static_result(const OpReader& reader, size_t result);

// Returns a value that depends on no input, computed by the naive evaluator. Returns nullopt if it
// depends on an input, has an effect, or is large (if it or an intermediate value has more than
// 2^10 elements).
std::optional<Literal> constant_value(const Function& f, ValueId value);
// Returns the same as int64 numbers, for integers of rank 0 or 1.
std::optional<Dims> constant_dims(const Function& f, ValueId value);

}  // namespace tessera::interchange
