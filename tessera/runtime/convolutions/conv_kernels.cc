#include "tessera/runtime/convolutions/conv_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/hash.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/one_thread.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Copies an array with some dimensions reversed; the layout stays row-major.
void reverse_copy(const std::byte* in, std::byte* out, const Shape& shape,
                  const std::vector<bool>& reversed, int64_t itemsize) {
  int64_t inner = shape.rank();
  while (inner > 0 && !reversed[inner - 1]) --inner;
  int64_t rows = 1, row = itemsize;
  for (int64_t d = 0; d < shape.rank(); ++d) (d < inner ? rows : row) *= shape[d];
  parallel_for_ranges(rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, row)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t r = begin; r < end; ++r) {
                          int64_t rest = r, from = 0, scale = 1;
                          for (int64_t d = inner; d-- > 0;) {
                            const int64_t i = rest % shape[d];
                            rest /= shape[d];
                            from += (reversed[d] ? shape[d] - 1 - i : i) * scale;
                            scale *= shape[d];
                          }
                          std::memcpy(out + r * row, in + from * row, static_cast<size_t>(row));
                        }
                      });
}

}  // namespace

ConvKernels::ConvKernels(Source source, std::vector<Part> parts, int64_t bytes)
    : source_(std::move(source)), parts_(std::move(parts)), bytes_(bytes) {}

PackedFormRef ConvKernels::make(Source source, std::vector<Part> parts, int64_t bytes) {
  return shared_form(PackedFormRef(new ConvKernels(std::move(source), std::move(parts), bytes)));
}

void ConvKernels::pack(const std::byte* from, std::byte* to) const {
  const int64_t item = itemsize(source_.dtype), n = static_cast<int64_t>(parts_.size());
  Buffer reversed;
  if (!source_.reversed.empty()) {
    reversed = Buffer::allocate(source_.shape.elements() * item);
    reverse_copy(from, reversed.data(), source_.shape, source_.reversed, item);
    from = reversed.data();
  }
  const auto task = [&](int64_t i) {
    const Part& part = parts_[static_cast<size_t>(i)];
    if (!part.reorder.needed) {
      std::memcpy(to + part.to, from + part.from, part.reorder.from.get_size());
      return;
    }
    const OneThread one_thread;
    const Workspace<std::byte> scratch(std::max<int64_t>(64, part.reorder.scratch));
    part.reorder.run(from + part.from, to + part.to, scratch.data());
  };
  // Packing takes about as long as reading and writing each element once.
  if (static_cast<double>(bytes_) * 0.1 < kInlineNs) {
    for (int64_t i = 0; i < n; ++i) task(i);
  } else {
    parallel_for(n, task);
  }
}

size_t ConvKernels::hash() const {
  size_t seed = hash_combine(parts_.size(), static_cast<size_t>(bytes_));
  for (const int64_t extent : source_.shape) seed = hash_combine(seed, static_cast<size_t>(extent));
  return seed;
}

bool ConvKernels::equals(const PackedForm& form) const {
  const auto* other = dynamic_cast<const ConvKernels*>(&form);
  if (!other || other->source_.dtype != source_.dtype || other->source_.shape != source_.shape ||
      other->source_.reversed != source_.reversed || other->bytes_ != bytes_)
    return false;
  return std::equal(parts_.begin(), parts_.end(), other->parts_.begin(), other->parts_.end(),
                    [](const Part& a, const Part& b) {
                      return a.from == b.from && a.to == b.to && a.reorder.from == b.reorder.from &&
                             a.reorder.to == b.reorder.to;
                    });
}

}  // namespace tessera::runtime
