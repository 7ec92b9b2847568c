// Reads single rows of an array in NumPy's npy format (npy.h), for arrays that are larger than
// memory. Needs only base/.
//
//   NpyRows images("images.npy");           // only the header is read
//   images.read(std::vector<int64_t>{3, 8});  // [2, ...]: rows 3 and 8
//
// Rows are read with pread, through the system's page cache, so rows that are read often stay in
// memory while there is room. If a file shrinks while it is open, that is an error, not a signal as
// with mmap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "tessera/io/file.h"
#include "tessera/io/npy.h"

namespace tessera {

class NpyRows {
 public:
  // Throws UserError kIo, with the remedy, for a file that is missing or damaged, a scalar, and an
  // array in Fortran order, whose rows are not contiguous.
  explicit NpyRows(const std::filesystem::path& path);

  int64_t num_rows() const { return layout_.shape[0]; }
  DType dtype() const { return layout_.dtype; }
  const Shape& shape() const { return layout_.shape; }
  const std::filesystem::path& path() const { return path_; }

  // Returns the rows with these indices in their order: [indices.size(), ...]. Any thread may call
  // it. Throws UserError kValue for an index outside, and kIo if the file cannot be read any more.
  Literal read(std::span<const int64_t> indices) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const internal::File> file_;
  internal::NpyLayout layout_;
  int64_t row_bytes_ = 0;
};

}  // namespace tessera
