// Tables: the strings, dialects, op names, attributes and types of a file that is being written.
// Each is stored once and has a number. file() writes them around the ops.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/interchange/bytecode/byte_writer.h"

namespace tessera::interchange::bytecode {

class Tables {
 public:
  size_t string(std::string_view text);
  size_t op(std::string_view dialect, std::string_view name);
  size_t attribute(std::string_view dialect, const ByteWriter& encoding);
  size_t type(std::string_view dialect, const ByteWriter& encoding);
  // Returns the file with these tables and `ops` as its section of ops. `version` is the format's.
  std::string file(uint64_t version, std::string_view producer, std::string_view ops) const;

 private:
  struct Entries {
    std::map<std::pair<size_t, std::string>, size_t> numbers;
    std::vector<std::pair<size_t, std::string>> list;  // dialect, encoding
  };
  size_t dialect(std::string_view name);
  static size_t add(Entries& entries, size_t dialect, const std::string& encoding);
  static void write_groups(const Entries& entries, ByteWriter& offsets, ByteWriter& data);

  std::unordered_map<std::string, size_t> string_numbers_;
  std::vector<std::string> strings_;
  std::vector<std::pair<std::string, size_t>> dialects_;  // name and its string
  Entries attributes_, types_;
  std::vector<std::pair<size_t, size_t>> ops_;  // dialect, string
};

}  // namespace tessera::interchange::bytecode
