#include "tessera/numpy/host_memory.h"

#include <algorithm>

#include "tessera/base/array_size.h"
#include "tessera/base/dtype_kinds.h"
#include "tessera/compile/place.h"
#include "tessera/engine/engine.h"
#include "tessera/mesh/default_device.h"
#include "tessera/runtime/copy.h"

namespace tessera {

using namespace compile;

namespace {

// Returns the alignment of elements: their size, or for complex ones the size of their parts.
int64_t alignment_of(DType dtype) {
  return is_complex(dtype) ? itemsize(dtype) / 2 : itemsize(dtype);
}

// Returns whether the strides are row-major. Strides of dimensions with one element do not matter,
// nor do those of an array without elements.
bool is_row_major(const Shape& shape, const Dims& strides) {
  const Dims dense = row_major_strides(shape);
  if (shape.elements() == 0) return true;
  for (int64_t d = 0; d < shape.rank(); ++d)
    if (shape[d] != 1 && strides[d] != dense[d]) return false;
  return true;
}

void check_borrowed(std::string_view op, const void* data, DType dtype, const Shape& shape,
                    const Dims& strides) {
  for (int64_t n : shape)
    if (n < 0) shape_error(op, "expected a shape with sizes >= 0, got {}", shape);
  checked_bytes(op, dtype, shape);
  if (strides.size() != shape.size())
    shape_error(op,
                "expected a stride for each dimension of {}, got {}; leave them out for "
                "dense memory",
                shape, strides);
  if (data == nullptr && shape.elements() > 0)
    value_error(op, "expected memory with {} elements of {}, got a null pointer", shape.elements(),
                dtype_name(dtype));
}

// Throws the UserError for memory that arrays cannot use as it is.
void check_usable(std::string_view op, const void* data, DType dtype, const Shape& shape,
                  const Dims& strides) {
  if (!is_row_major(shape, strides))
    value_error(op,
                "expected dense memory in row-major order, whose strides are {} for the shape {}, "
                "got the strides {}; pass {{.strides = ..., .copy = true}} to copy it, or borrow "
                "the transposed array and transpose that",
                row_major_strides(shape), shape, strides);
  if (canonical_dtype(dtype) != dtype)
    type_error(op,
               "expected elements of at most 32 bits while x64 is disabled, got {}; call "
               "enable_x64(true), or pass {{.copy = true}} to convert them to {}",
               dtype_name(dtype), dtype_name(canonical_dtype(dtype)));
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment_of(dtype)) != 0)
    value_error(op,
                "expected memory aligned to {} bytes, as {} is, got the address {}; align it, or "
                "pass {{.copy = true}} to copy it",
                alignment_of(dtype), dtype_name(dtype), data);
}

bool is_usable(const void* data, DType dtype, const Shape& shape, const Dims& strides) {
  return is_row_major(shape, strides) && canonical_dtype(dtype) == dtype &&
         reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment_of(dtype)) == 0;
}

Literal copied(const void* data, DType dtype, const Shape& shape, const Dims& strides) {
  Literal out = Literal::uninitialized(dtype, shape);
  const int64_t size = itemsize(dtype);
  Dims bytes = strides;
  for (int64_t& stride : bytes) stride *= size;
  run_copies({{make_copy_pattern(shape, byte_strides(shape, size), bytes, size), out.mutable_raw(),
               static_cast<const std::byte*>(data)}});
  return out;
}

}  // namespace

namespace internal {

Array borrowed(std::string_view op, const void* data, DType dtype, const Shape& shape,
               std::function<void()> release, const BorrowOptions& options) {
  const Dims strides = options.strides.value_or(row_major_strides(shape));
  check_borrowed(op, data, dtype, shape, strides);
  if (!release)
    value_error(op,
                "expected a function that releases the memory, got none; pass [] {{}} for "
                "memory that outlives all arrays");
  if (!options.copy) check_usable(op, data, dtype, shape, strides);
  const bool usable = is_usable(data, dtype, shape, strides);
  const SingleDeviceSharding device(default_device());
  if (shape.elements() == 0 || !usable) {
    const Array out = from_host(copied(data, dtype, shape, strides));
    release();
    return out;
  }
  // The layout is computed first: after it only running out of memory throws.
  array_layout(dtype, shape, device, op);
  Literal memory =
      Literal::view(dtype, shape,
                    Buffer::borrow(static_cast<const std::byte*>(data),
                                   shape.elements() * itemsize(dtype), std::move(release)));
  return Array(placed_data(Array(std::move(memory)), device));
}

void expect_elements(int64_t values, const Shape& shape) {
  if (values != shape.elements())
    shape_error("borrow", "expected {} elements for the shape {}, got {}", shape.elements(), shape,
                values);
}

void check_viewed(DType expected, DType got) {
  if (expected != got)
    type_error("view",
               "expected the C++ type of the elements, which are {}, got that of {}; convert the "
               "array with astype, or copy it with to_vector",
               dtype_name(expected), dtype_name(got));
}

Literal viewed(std::string_view op, const Array& x) {
  if (x.is_tracer())
    trace_error(op, "expected a concrete array, got the traced {}: it has no data yet",
                describe(x.type()));
  const std::shared_ptr<const ArrayData>& data = x.data();
  if (data->kind != ArrayData::Kind::kDevice) return data->to_literal();  // it is on the host
  if (!engine::engine_of(op, x.sharding()).has_machine_memory())
    value_error(op,
                "expected an array in memory of this process, got {} on {}; copy it with to_host",
                describe(x.type()), x.sharding());
  const DeviceArrayRef array = in_memory(x);
  array->check_alive();
  const ArrayLayout& layout = *array->layout();
  if (!array->dense() || !layout.holders.empty() || !layout.linear())
    value_error(op,
                "expected an array whose elements are in one piece, row-major, got {} on {}; copy "
                "it with to_host, or view its addressable_shards one by one",
                describe(x.type()), x.sharding());
  return array->to_literal();
}

}  // namespace internal

Array borrow(const void* data, DType dtype, const Shape& shape, std::function<void()> release,
             const BorrowOptions& options) {
  return internal::borrowed("borrow", data, dtype, shape, std::move(release), options);
}

}  // namespace tessera
