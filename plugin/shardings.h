// The shardings of a compiled program's arguments and results, for jaxlib: by PJRT's extension for
// shardings, as XLA's OpSharding messages, and as attributes in the program's text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/executable.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"

namespace tessera::plugin {

// Serialized messages, to which the API returns pointers.
class ShardingProtos {
 public:
  explicit ShardingProtos(std::vector<std::string> messages);
  ShardingProtos(const ShardingProtos&) = delete;
  ShardingProtos& operator=(const ShardingProtos&) = delete;

  size_t size() const { return messages_.size(); }
  const char* const* data() const { return data_.data(); }
  const size_t* sizes() const { return sizes_.data(); }

 private:
  const std::vector<std::string> messages_;
  std::vector<const char*> data_;
  std::vector<size_t> sizes_;
};

// Return an OpSharding (xla/xla_data.proto) for each argument, or for each result.
std::shared_ptr<const ShardingProtos> argument_shardings(const PJRT_Executable& executable);
std::shared_ptr<const ShardingProtos> result_shardings(const PJRT_Executable& executable);

// Returns the shardings as attributes of a module in MHLO: mhlo.spmd_parameters_shardings and
// mhlo.spmd_output_sharding. The text is empty if there are neither arguments nor results. A jaxlib
// without the extension reads them from the program's text.
std::string sharding_attributes(const PJRT_Executable& executable);

// Returns the extension, which `next` follows in the list of extensions.
PJRT_Shardings_Extension make_shardings_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin
