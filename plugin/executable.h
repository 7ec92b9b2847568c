// Executables: programs that JAX compiled. One program is for all of its devices. It runs in the
// caller's thread, and is done when Execute returns.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/buffer.h"
#include "plugin/compile_options.h"
#include "tessera/compile/lowered.h"
#include "tessera/engine/loaded_program.h"

namespace tessera::plugin {
class ProgramText;
class ShardingProtos;
class MemoryLayouts;
}  // namespace tessera::plugin

// The part of an executable that does not depend on the devices of a client.
struct PJRT_Executable {
  std::string name;
  tessera::plugin::CompileOptions options;
  std::shared_ptr<const tessera::plugin::ProgramText> code;  // shared by all handles
  std::string options_text;                                  // the bytes that were received
  tessera::Cost cost;                                        // the cost on one device
  tessera::engine::LoadedProgramRef program;
  std::vector<tessera::DType> output_dtypes;
  std::vector<tessera::Shape> input_shapes, output_shapes;  // on one device
  // The orders of the arrays' dimensions in memory.
  std::vector<tessera::plugin::MinorToMajor> input_orders, output_orders;
  // For each input and output, and each partition: the instance that the partition holds.
  std::vector<std::vector<int32_t>> input_instances, output_instances;
  // For each input and output: the partition at each position of its mesh.
  std::vector<std::vector<int64_t>> input_ids, output_ids;
  // For each input and output: whether a device holds a value of its own (device_parts.h).
  std::vector<bool> input_parts, output_parts;
  std::vector<bool> donated;              // for each input: whether it is deleted after a run
  std::vector<std::string> output_kinds;  // the kind of memory of each output
  std::string fingerprint;
  // Lists that jaxlib requests after every compilation (shardings.h, layouts.h).
  std::shared_ptr<const tessera::plugin::ShardingProtos> input_shardings, output_shardings;
  std::shared_ptr<const tessera::plugin::MemoryLayouts> input_layouts, output_layouts;
  // The program of one device, with its collectives. jax.stages.Compiled.as_text shows its text,
  // which is made at the first request. All handles share the text, and several threads may request
  // it at once.
  std::shared_ptr<const tessera::ir::Function> partitioned;
  struct ProgramText {
    std::once_flag made;
    std::string text;
  };
  std::shared_ptr<ProgramText> text = std::make_shared<ProgramText>();
  const std::string& program_text() const;

  // The API returns pointers to these.
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  std::vector<const char*> output_kind_texts;
  std::vector<size_t> output_kind_sizes;
  std::vector<const char*> input_kind_texts;  // the default memory, for every argument
  std::vector<size_t> input_kind_sizes;
  std::vector<PJRT_NamedValue> properties;  // the entries of the cost

  // Whether compiling it calls functions of this process (inspect_sharding.h).
  bool asks_this_process = false;
};

struct PJRT_LoadedExecutable {
  PJRT_Client* client = nullptr;
  std::shared_ptr<PJRT_Executable> executable;
  std::vector<PJRT_Device*> devices;  // the device of each partition or replica
  bool deleted = false;
  // The devices of this process, and the partitions or replicas that they run.
  std::vector<PJRT_Device*> addressable;
  std::vector<size_t> partitions;
  std::vector<PJRT_LogicalDeviceIds> logical_ids;
};

// These are objects that the API returns as bytes.
struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};
struct PJRT_SerializedExecutable {
  std::string bytes;
};
struct PJRT_SerializedCompileOptions {
  std::string bytes;
};

namespace tessera::plugin {

// Returns a copy that the API can return as a handle.
PJRT_Executable* new_handle(const PJRT_Executable& executable);

void add_executables(PJRT_Api& api);

}  // namespace tessera::plugin
