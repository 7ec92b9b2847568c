// Sources of data that need not be in memory: they return examples by their indices. Trainer::step
// and fit (trainer.h) accept a source in place of a tree of all the data.
//
//   const privacy::NpyExamples images("images.npy"), labels("labels.npy");
//   trainer.step(state, images, labels);  // reads the rows of one batch
//
// A source has
//   num_examples() -> int64_t
//   examples(std::span<const int64_t> indices) -> a tree of Arrays, [indices.size(), ...] each
//   contents_digest() -> std::optional<std::string>
// examples() is called once a step, with an index for each row of the padded batch: increasing
// indices, then 0 for padding, whose rows are cleared before anything reads them. Which examples
// are read is as secret as the state, because it reveals the samples.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/io/file_path.h"
#include "tessera/ir/array.h"

namespace tessera {
class NpyRows;
}

namespace tessera::privacy {

template <class S>
concept ExampleSource = requires(const S& source, std::span<const int64_t> indices) {
  { source.num_examples() } -> std::convertible_to<int64_t>;
  source.examples(indices);
  { source.contents_digest() } -> std::convertible_to<std::optional<std::string>>;
};

// A source of the rows of an npy file, which may be larger than memory (io/npy_rows.h). Without
// x64, 64-bit numbers are converted to 32 bits. It throws the UserErrors of NpyRows.
class NpyExamples {
 public:
  explicit NpyExamples(const FilePath& path);

  int64_t num_examples() const;
  Array examples(std::span<const int64_t> indices) const;
  // Returns the digest of the dtype, the shape and 1,024 rows, spread evenly. It detects other
  // data, but may miss a change of few rows of a large file.
  std::optional<std::string> contents_digest() const;

 private:
  std::shared_ptr<const NpyRows> rows_;
  std::shared_ptr<std::string> digest_;  // set at the first call; one thread trains
};

// A source that calls a function of the indices. The contents of its data are not checked.
template <class F>
class ExamplesBy {
 public:
  ExamplesBy(int64_t num_examples, F function)
      : num_examples_(num_examples), function_(std::move(function)) {}
  int64_t num_examples() const { return num_examples_; }
  auto examples(std::span<const int64_t> indices) const { return function_(indices); }
  std::optional<std::string> contents_digest() const { return std::nullopt; }

 private:
  int64_t num_examples_;
  F function_;
};
template <class F>
ExamplesBy<F> examples_by(int64_t num_examples, F function) {
  return {num_examples, std::move(function)};
}

namespace internal {

// Throws UserError unless the source has as many examples as the sampler draws from.
void expect_num_examples(int64_t got, int64_t expected);
// Throws UserError unless every leaf has `size` rows.
void expect_rows(const std::vector<Array>& leaves, int64_t size);

}  // namespace internal
}  // namespace tessera::privacy
