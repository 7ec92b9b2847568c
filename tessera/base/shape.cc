#include "tessera/base/shape.h"

#include <functional>
#include <ostream>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/hash.h"

namespace tessera {

Dims::Dims(const Dims& other) = default;
Dims::Dims(Dims&& other) noexcept = default;
Dims& Dims::operator=(const Dims& other) = default;
Dims& Dims::operator=(Dims&& other) noexcept = default;
Dims::Dims(std::initializer_list<Entry> dims) {
  reserve(dims.size());
  for (const Entry& d : dims) push_back(d.value);
}
Dims::Dims(std::span<const int64_t> dims) : Base(dims.begin(), dims.end()) {}

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '(';
  for (size_t i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  return out << (dims.size() == 1 ? ",)" : ")");
}

Dims row_major_strides(const Shape& shape) {
  Dims strides(shape.size(), 1);
  for (int64_t i = shape.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

Dims iota_dims(int64_t n) {
  Dims dims(static_cast<size_t>(n), 0);
  for (int64_t i = 0; i < n; ++i) dims[i] = i;
  return dims;
}

int64_t normalize_axis(std::string_view op, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    shape_error(op, "expected an axis in [{}, {}), got {}; the array has rank {}", -rank, rank,
                axis, rank);
  return axis < 0 ? axis + rank : axis;
}

size_t hash_value(const Dims& dims) {
  size_t seed = dims.size();
  for (int64_t d : dims) seed = hash_combine(seed, std::hash<int64_t>()(d));
  return seed;
}

}  // namespace tessera
