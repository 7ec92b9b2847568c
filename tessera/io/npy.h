// NumPy's .npy format (https://numpy.org/neps/nep-0001-npy-format.html): one array, with a textual
// header before its bytes. Reads and writes Literals; needs only base/. npz.h packs several arrays
// into one file; load.h makes Arrays of them.
//
// It reads versions 1 to 3, C and Fortran order, little and big endian, and every dtype of the
// library. Anything else (object, string, date and structured arrays, sizes that do not fit the
// header) throws UserError naming the file and the remedy. It writes version 1, C order, little
// endian: the bytes that numpy.save writes.
//
// NumPy has no bfloat16. ml_dtypes (and so JAX) lets numpy.save write it as two raw bytes, descr
// '<V2'. This library writes the same, and reads two raw bytes as bfloat16; in Python,
// `numpy.load(f).view(ml_dtypes.bfloat16)`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "tessera/base/literal.h"

namespace tessera {

Literal read_npy(const std::filesystem::path& path);

// Writes by replace_file.h: after any failure the old file is unchanged.
void write_npy(const std::filesystem::path& path, const Literal& literal);

namespace internal {

// A source of bytes, such as a member of a zip file: `read(buffer, n)` returns up to n further
// bytes of `size` in all (0 at the end).
struct NpySource {
  std::string_view op;  // for errors: "load_npz"
  std::string where;    // for errors: "'model.npz', array 'w'"
  uint64_t size = 0;
  std::function<size_t(void* buffer, size_t n)> read;
};
// Memory is allocated only after header and `size` were found to agree.
Literal read_npy(const NpySource& source);

// The position of an array's elements in its file, and their form.
struct NpyLayout {
  DType dtype = float32;
  Shape shape;
  bool swap = false;     // big endian
  bool fortran = false;  // the first index varies fastest
  uint64_t offset = 0;   // of the first byte after the header
};
// Returns the layout that the header describes. Throws UserError unless the source has as many
// bytes as it needs after the header.
NpyLayout read_npy_layout(const NpySource& source);
// Converts elements that were read in the file's form: byte order, and bools as 0 or 1.
void normalize_npy(const NpyLayout& layout, std::byte* data, int64_t bytes);

// Returns everything before the bytes of `literal` in a file.
std::string npy_header(const Literal& literal);

}  // namespace internal
}  // namespace tessera
