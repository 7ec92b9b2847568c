// The safetensors format (https://github.com/huggingface/safetensors): named arrays in one file.
// Reads and writes Literals; load.h makes Arrays of them, checkpoint.h stores trees in several such
// files.
//
//   8 bytes   length of the header, little endian
//   header    JSON: {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}, spaces
//             to a multiple of eight bytes
//   data      row-major, little endian, one array after the other
//
// It reads every dtype of the library except complex128, which the format does not have. The 8, 6
// and 4-bit floats of newer files, and damaged files (an early end, offsets that overlap or leave
// gaps, a shape of another size), throw UserError (kIo) naming the file, the array and the remedy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/literal.h"
#include "tessera/io/file.h"

namespace tessera {

std::map<std::string, Literal> read_safetensors(const std::filesystem::path& path);

// Writes by replace_file.h: after any failure the old file is unchanged. Wide elements come first,
// so that every array is aligned. Throws UserError kType for complex128, and kValue for names that
// are not UTF-8 or are the format's own "__metadata__", and for more of them than a header can
// hold.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Literal>& arrays);

namespace internal {

struct SafetensorsEntry {
  std::string name;
  DType dtype = float32;
  Shape shape;
  uint64_t offset = 0;  // from the start of the data

  uint64_t bytes() const { return static_cast<uint64_t>(shape.elements() * itemsize(dtype)); }
};

// The limit of a header in the format's own reader, and so of every file: about 10^6 arrays.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// Returns the length and the header of a file with `entries` one after the other, and sets their
// offsets. Throws UserError kValue if it is longer than `limit`, because no reader would accept it.
std::string safetensors_header(std::string_view op, std::vector<SafetensorsEntry>& entries,
                               uint64_t limit = kMaxSafetensorsHeader);
// Returns an upper bound of the bytes that an entry takes in a header.
uint64_t safetensors_entry_bytes(const SafetensorsEntry& entry);

// A file whose header has been read and agrees with its size.
class SafetensorsFile {
 public:
  SafetensorsFile(std::string_view op, const std::filesystem::path& path);

  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  // Returns the checksum of the length and the header.
  uint32_t header_crc32c() const { return header_crc32c_; }
  uint64_t bytes() const { return bytes_; }
  Literal read(const SafetensorsEntry& entry) const;

 private:
  void read_entries(const std::string& header);

  std::string_view op_;
  std::filesystem::path path_;
  File file_;
  uint64_t bytes_ = 0, data_start_ = 0;
  uint32_t header_crc32c_ = 0;
  std::map<std::string, SafetensorsEntry> entries_;
};

}  // namespace internal
}  // namespace tessera
