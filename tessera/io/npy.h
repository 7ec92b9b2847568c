// NumPy's .npy format (https://numpy.org/neps/nep-0001-npy-format.html): one array, a textual
// header before its bytes. Reads and writes Literals; needs only base/. npz.h packs several of
// them; load.h makes Arrays of them.
//
// Read: versions 1 to 3, C and Fortran order, little and big endian, every dtype of the library.
// Anything else (object, string, date and structured arrays, sizes that do not fit the header) is a
// UserError naming the file and the remedy. Written: version 1, C order, little endian; the same
// bytes as numpy.save writes.
//
// NumPy has no bfloat16. What ml_dtypes (and so JAX) passes to numpy.save is in the file as two raw
// bytes, descr '<V2'. This library writes the same, and reads two raw bytes as bfloat16; in Python,
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

// Uses replace_file.h: after any failure the old file is unchanged.
void write_npy(const std::filesystem::path& path, const Literal& literal);

namespace internal {

// The source of a member of some file: `read(buffer, n)` returns up to n further bytes (0 at the
// end) of `size` in all.
struct NpySource {
  std::string_view op;  // of errors: "load_npz"
  std::string where;    // of errors: "'model.npz', array 'w'"
  uint64_t size = 0;
  std::function<size_t(void* buffer, size_t n)> read;
};
// Memory is allocated only once the header and `size` agree.
Literal read_npy(const NpySource& source);

// Where the elements of an array are in its file, and in which form.
struct NpyLayout {
  DType dtype = float32;
  Shape shape;
  bool swap = false;     // big endian
  bool fortran = false;  // the first index varies fastest
  uint64_t offset = 0;   // of the first byte after the header
};
// Returns the layout in the header. Throws UserError unless the source has as many bytes after it.
NpyLayout read_npy_layout(const NpySource& source);
// Converts elements that were read in the file's form: byte order, and bools as 0 or 1.
void normalize_npy(const NpyLayout& layout, std::byte* data, int64_t bytes);

// Returns everything before the bytes of `literal` in a file.
std::string npy_header(const Literal& literal);

}  // namespace internal
}  // namespace tessera
