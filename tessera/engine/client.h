// Client: what a PJRT plugin gives us, without its header: devices, buffers in their memories,
// compiled programs. c_api/ makes one of the C API; everything else of this folder uses it.
//
// A Failure says what the plugin did; what the user is told stands where it is called.
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

// What a plugin answered instead of doing what it was asked for, in its words.
class Failure : public std::runtime_error {
 public:
  Failure(FailureKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  FailureKind kind() const { return kind_; }

 private:
  FailureKind kind_;
};

// An array in the memory of one device, dense and row-major as seen from here.
class ClientBuffer {
 public:
  virtual ~ClientBuffer() = default;
  // Waits for the bytes.
  virtual void copy_to_host(std::byte* to, int64_t bytes) const = 0;
  // Gives the memory back, whoever holds the buffer.
  virtual void release() const = 0;
};
using ClientBufferRef = std::shared_ptr<const ClientBuffer>;

class ClientExecutable {
 public:
  virtual ~ClientExecutable() = default;
  // args[p][i]: input i of replica p. Returns the results likewise, when they are there.
  virtual std::vector<std::vector<ClientBufferRef>> execute(
      std::span<const std::vector<const ClientBuffer*>> args) const = 0;
  // What the plugin made of the program: XLA's HloModuleProto, or what it calls "hlo_with_config";
  // empty where it does not say.
  virtual std::string optimized_program() const = 0;
  // On one device while it runs; 0 where the plugin does not say.
  virtual int64_t temporary_bytes() const = 0;
};
using ClientExecutableRef = std::shared_ptr<const ClientExecutable>;

// One a device, in the order of the plugin.
struct ClientDevice {
  int64_t id = 0;  // the plugin's
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
  // Of this process.
  virtual const std::vector<ClientDevice>& devices() const = 0;
  // Whether arrays of it can be handed over. Programs must not have others: XLA aborts.
  virtual bool has_dtype(DType dtype) const = 0;
  // The bytes of a dense row-major array; read before this returns.
  virtual ClientBufferRef put(const std::byte* data, DType dtype, const Shape& shape,
                              int64_t device) const = 0;
  // A module of StableHLO as text or bytecode, and a CompileOptionsProto.
  virtual ClientExecutableRef compile(const std::string& module,
                                      const std::string& options) const = 0;
};
using ClientRef = std::shared_ptr<const Client>;

// Loads the plugin and makes a client of it. UserError [initialize] where that does not go: no such
// file, no plugin, another version of the C API, options that it does not take; and where this
// library was built without the header of the C API. One thread at a time.
ClientRef open_client(const std::string& path, const std::map<std::string, std::string>& options);

}  // namespace tessera::engine
