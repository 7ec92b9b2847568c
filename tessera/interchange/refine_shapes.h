// Refinement of shapes: a program may leave extents open (`tensor<?x4xf32>`, as JAX exports functions
// of symbolic shapes). Tessera has no dynamic shapes; it reads such a program for arguments of known
// shapes, and every extent follows from these, as StableHLO's refinement of shapes does: types of
// results from the ops, shapes that are computed from what constants give (get_dimension_size among
// them), and private functions anew for the shapes and sizes each call gives them.
#pragma once

#include <optional>

#include "tessera/base/literal.h"
#include "tessera/interchange/op_format.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

// An extent that is not written. Types of functions have none; those that are read may.
inline constexpr int64_t kOpenExtent = -1;
// Of an array in a program; extents of 0 count as 1.
inline constexpr int64_t kMaxElements = int64_t{1} << 46;

// Whether a program may have arrays of that shape: no extent is negative, and there are at most
// kMaxElements of elements.
bool is_readable(const Shape& shape);

bool is_open(const Type& written);
// Whether a value of type `actual` may stand where `written` does: dtype and shape, but for open
// extents.
bool fits(const Type& written, const Type& actual);
// `written` with the extents of `shape` where it leaves them open; the shape has as many.
Type refined(Type written, const Shape& shape);

// The type of a result that nothing but the text gives; an error where that is open.
const Type& static_result(const OpReader& reader, size_t result);

// The value that ops without inputs give, by the naive evaluator; nothing if it depends on an
// input, has an effect, or is large (over 2^10 elements, of it or on the way to it).
std::optional<Literal> constant_value(const Function& f, ValueId value);
// The same as int64 numbers, of an integer of rank 0 or 1.
std::optional<Dims> constant_dims(const Function& f, ValueId value);

}  // namespace tessera::interchange
