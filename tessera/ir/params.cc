#include "tessera/ir/params.h"

namespace tessera::ir {

size_t hash_field(const Mesh& v) { return hash_value(v); }
size_t hash_field(const NamedSharding& v) { return hash_value(v); }
size_t hash_field(const PartitionSpec& v) { return hash_value(v); }

}  // namespace tessera::ir
