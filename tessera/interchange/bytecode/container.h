// Container: the parts of an MLIR bytecode file: its tables of strings, dialects, attributes, types
// and resources, and its ops as a tree (LLVM's documentation, "MLIR Bytecode Format"; versions 0 to
// 6). It does not decode what dialects define; attributes.h does.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tessera/interchange/bytecode/bytes.h"

namespace tessera::interchange::bytecode {

struct RawOp;

// One block. The values that it defines have numbers from `base` of the enclosing isolated region
// on.
struct RawRegion {
  bool isolated = false;
  size_t offset = 0;
  size_t num_values = 0;
  std::vector<size_t> arguments;  // types
  std::vector<RawOp> ops;
};

struct RawOp {
  size_t offset = 0;
  size_t name = 0;      // in Container::op_names
  size_t location = 0;  // an attribute
  std::optional<size_t> attributes, properties;
  std::vector<size_t> results;   // types
  std::vector<size_t> operands;  // numbers of values
  std::vector<RawRegion> regions;
};

class Container {
 public:
  // `file` is stored by reference.
  explicit Container(const File& file);

  // An attribute or a type: bytes in the encoding of its dialect, or text.
  struct Entry {
    std::string_view dialect;
    size_t begin = 0, end = 0;
    bool encoded = false;
  };
  struct OpName {
    std::string_view dialect, name;
  };
  struct Resource {
    std::string_view key;
    std::optional<std::string_view> blob;
  };

  const File& file() const { return file_; }
  ByteReader reader(const Entry& entry) const { return {file_, entry.begin, entry.end}; }
  uint64_t version = 0;
  std::string_view producer;
  std::vector<std::string_view> strings, dialects;
  std::vector<OpName> op_names;
  std::vector<Entry> attributes, types;
  std::vector<std::pair<size_t, size_t>> properties;  // from, to
  std::vector<Resource> resources;                    // of dialects, in order
  RawRegion top;

 private:
  using Section = std::optional<ByteReader>;
  void read_strings(ByteReader in);
  void read_dialects(ByteReader in);
  void read_entries(ByteReader offsets, ByteReader data);
  void read_resources(ByteReader offsets, Section data);
  void read_properties(ByteReader in);
  void read_group(ByteReader& in, Section& data, bool keep);
  void read_block(ByteReader& in, RawRegion& region, int depth);
  void read_region(ByteReader& in, RawRegion& region, int depth);
  RawOp read_op(ByteReader& in, int depth);
  void read_regions(ByteReader& in, RawOp& op, int depth);
  void skip_use_orders(ByteReader& in, size_t results);

  const File& file_;
};

// Returns whether these bytes begin as bytecode does.
bool has_magic(std::string_view bytes);

}  // namespace tessera::interchange::bytecode
