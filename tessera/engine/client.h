// Client: a PJRT plugin's devices, buffers in their memories and compiled programs, as an interface
// that does not need the header of PJRT. c_api/ implements it with the C API; the rest of this
// folder uses it.
//
// A Failure holds the plugin's error; callers turn it into an error for users.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"
#include "tessera/mesh/device.h"
#include "tessera/runtime/array_layout.h"

namespace tessera::engine {

using namespace runtime;

enum class FailureKind : uint8_t { kRefused, kOutOfMemory, kOther };

// The plugin's message about a request that it did not fulfil.
class Failure : public std::runtime_error {
 public:
  Failure(FailureKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  FailureKind kind() const { return kind_; }

 private:
  FailureKind kind_;
};

// An array in the memory of one device. Users of this class see it as dense and row-major.
class ClientBuffer {
 public:
  virtual ~ClientBuffer() = default;
  // Copies the bytes, and returns when they have arrived.
  virtual void copy_to_host(std::byte* to, int64_t bytes) const = 0;
  // Frees the memory, even if the buffer is still held.
  virtual void release() const = 0;
};
using ClientBufferRef = std::shared_ptr<const ClientBuffer>;

class ClientExecutable {
 public:
  virtual ~ClientExecutable() = default;
  // Runs the program; args[p][i] is input i of replica p. Returns the results, in the same order of
  // indices, when they are ready.
  virtual std::vector<std::vector<ClientBufferRef>> execute(
      std::span<const std::vector<const ClientBuffer*>> args) const = 0;
  // Returns the plugin's compiled form of the program: XLA's HloModuleProto, or the form that it
  // calls "hlo_with_config"; empty if it returns none.
  virtual std::string optimized_program() const = 0;
  // Returns the bytes of temporaries on one device during a run; 0 if the plugin does not report
  // them.
  virtual int64_t temporary_bytes() const = 0;
};
using ClientExecutableRef = std::shared_ptr<const ClientExecutable>;

// A device as the plugin describes it.
struct ClientDevice {
  int64_t id = 0;  // the plugin's id
  int64_t process_index = 0;
  std::string kind;  // "TPU v4", "NVIDIA H100 80GB HBM3", "cpu"
  std::array<int64_t, 3> coords{};
  int64_t core_on_chip = 0, slice_index = 0;
};

class Client {
 public:
  virtual ~Client() = default;
  virtual const std::string& platform() const = 0;  // "cpu", "cuda", "tpu"
  virtual const std::string& platform_version() const = 0;
  // Returns the devices of this process, in the plugin's order.
  virtual const std::vector<ClientDevice>& devices() const = 0;
  // Returns whether arrays of the dtype can be transferred. Programs must not contain other dtypes:
  // XLA would abort.
  virtual bool has_dtype(DType dtype) const = 0;
  // Copies the bytes of a dense row-major array to a device. They are read before this returns.
  virtual ClientBufferRef put(const std::byte* data, DType dtype, const Shape& shape,
                              int64_t device) const = 0;
  // Compiles a module of StableHLO, as text or bytecode, with a CompileOptionsProto.
  virtual ClientExecutableRef compile(const std::string& module,
                                      const std::string& options) const = 0;
};
using ClientRef = std::shared_ptr<const Client>;

// Loads the plugin and returns a client of it. Throws UserError [initialize] if the file does not
// exist or is not a plugin, if the plugin has another version of the C API or rejects the options,
// and if this library was built without the header of the C API. One thread at a time may call it.
ClientRef open_client(const std::string& path, const std::map<std::string, std::string>& options);

}  // namespace tessera::engine
