#include "tessera/privacy/example_source.h"

#include <algorithm>

#include "tessera/io/npy_rows.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/digest.h"

namespace tessera::privacy {
namespace {

constexpr const char* kExampleSourceOp = "privacy::Trainer";
constexpr int64_t kDigestedRows = 1024;

}  // namespace

NpyExamples::NpyExamples(const FilePath& path)
    : rows_(std::make_shared<const NpyRows>(path.text())),
      digest_(std::make_shared<std::string>()) {}

int64_t NpyExamples::num_examples() const { return rows_->num_rows(); }

Array NpyExamples::examples(std::span<const int64_t> indices) const {
  return from_host(rows_->read(indices));
}

std::optional<std::string> NpyExamples::contents_digest() const {
  if (!digest_->empty()) return *digest_;
  const int64_t n = num_examples(), count = std::min(n, kDigestedRows);
  internal::Digest digest;
  digest.add(fmt::format("{}{}", rows_->dtype(), rows_->shape()));
  for (int64_t i = 0; i < count; ++i) {
    // Rows are spread evenly from the first to the last one.
    const int64_t row = count == 1 ? 0 : i * (n - 1) / (count - 1);
    const Literal read = rows_->read(std::span(&row, 1));
    digest.add(std::span(read.raw(), static_cast<size_t>(read.bytes())));
  }
  return *digest_ = digest.hex();
}

namespace internal {

void expect_num_examples(int64_t got, int64_t expected) {
  if (got != expected)
    value_error(kExampleSourceOp,
                "expected a source of {} examples, as many as the plan's sampler selects from, got "
                "one of {}; give all of the data, or make a plan for these",
                expected, got);
}

void expect_rows(const std::vector<Array>& leaves, int64_t size) {
  for (const Array& leaf : leaves)
    if (leaf.ndim() == 0 || leaf.shape(0) != size)
      value_error(kExampleSourceOp,
                  "expected examples() of a source to give a row for each of {} indices, got an "
                  "array of shape {}; let it return arrays of [indices.size(), ...]",
                  size, leaf.shape());
}

}  // namespace internal
}  // namespace tessera::privacy
