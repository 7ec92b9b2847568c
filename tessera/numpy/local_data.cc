#include "tessera/numpy/local_data.h"

#include "tessera/compile/place.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/device_array.h"

namespace tessera::internal {

using namespace runtime;

Literal local_literal(const Array& x) {
  if (!device_data(*x.data())) return x.to_host();
  const DeviceArrayRef data = compile::in_memory(x);
  const DeviceArray& array = *data;
  const ArrayLayout& layout = *array.layout();
  if (layout.holders.empty() || !layout.is_whole()) return array.to_literal();
  const ArrayUse use(array);
  Literal out(layout.dtype, layout.global);
  const int64_t size = itemsize(layout.dtype);
  const Dims to = byte_strides(layout.global, size), from = byte_strides(layout.local, size);
  for (int64_t i = 0; i < layout.instances; ++i) {
    Shape extents;
    int64_t offset = 0;
    const ShardIndex index = layout.index(i);
    for (size_t d = 0; d < index.size(); ++d) {
      extents.push_back(index[d].size());
      offset += index[d].start * to[d];
    }
    copy_all(make_copy_pattern(extents, to, from, size), out.mutable_raw() + offset,
             array.instance(i));
  }
  return out;
}

std::map<int64_t, ProcessParts> process_parts(const NamedSharding& sharding, int64_t rank) {
  std::map<int64_t, ProcessParts> out;
  const std::vector<Device> devices = Sharding(sharding).devices();
  for (size_t p = 0; p < devices.size(); ++p) {
    ProcessParts& parts = out[devices[p].process_index];
    parts.resize(static_cast<size_t>(rank));
    const Dims at = sharding.shard_coordinates(static_cast<int64_t>(p), rank);
    for (int64_t d = 0; d < rank; ++d) parts[static_cast<size_t>(d)].insert(at[d]);
  }
  return out;
}

}  // namespace tessera::internal
