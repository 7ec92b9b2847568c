// Executables: programs that JAX compiled. A program is one for all its devices; it runs in the
// caller and is done when Execute returns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/buffer.h"
#include "plugin/compile_options.h"
#include "tessera/runtime/program.h"

// What does not depend on devices of a client.
struct PJRT_Executable {
  std::string name;
  tessera::plugin::CompileOptions options;
  std::string options_text;  // as they came
  std::shared_ptr<const tessera::runtime::Program> program;
  std::vector<tessera::DType> output_dtypes;
  std::vector<tessera::Shape> output_shapes;  // of one device
  // For each partition the instance of each input and output that it holds.
  std::vector<std::vector<int32_t>> input_instances, output_instances;
  std::string optimized;  // the program that JAX reads shardings from, as text

  // What the API hands out.
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  std::vector<const char*> memory_kinds;
  std::vector<size_t> memory_kind_sizes;
};

struct PJRT_LoadedExecutable {
  PJRT_Client* client = nullptr;
  std::shared_ptr<PJRT_Executable> executable;
  std::vector<PJRT_Device*> devices;  // by partition
  bool deleted = false;
};

// What is handed out as bytes.
struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};

namespace tessera::plugin {

void add_executables(PJRT_Api& api);

}  // namespace tessera::plugin
