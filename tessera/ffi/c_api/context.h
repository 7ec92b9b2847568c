// The objects of XLA's FFI that this host owns: errors, futures and the context of a call.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "xla/ffi/api/c_api.h"

struct XLA_FFI_Error {
  XLA_FFI_Error_Code code;
  std::string message;
};

// A future that a handler completes, on any thread. The state is shared, because a thread may still
// be in the call that completes it when the future is destroyed.
struct XLA_FFI_Future {
  struct State {
    std::mutex mutex;
    std::condition_variable completed;
    bool done = false;
    std::unique_ptr<XLA_FFI_Error> error;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

namespace tessera::ffi {

// A value that a handler made in one stage, for a later one. It is destroyed by its type's deleter.
class State {
 public:
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  // Returns null, or an error if there is a value already, or the type is not registered.
  XLA_FFI_Error* set(int64_t type, void* value);
  // Returns null and the value, or an error if there is none, or one of another type.
  XLA_FFI_Error* get(int64_t type, void** value) const;

 private:
  int64_t type_ = 0;
  void* value_ = nullptr;
};

// Returns the table of functions that handlers call.
const XLA_FFI_Api& api_table();
XLA_FFI_Error* new_ffi_error(XLA_FFI_Error_Code code, std::string message);

}  // namespace tessera::ffi

// The states that a call can set and read: `instantiated` belongs to its place in the program, the
// others to one run.
struct XLA_FFI_ExecutionContext {
  tessera::ffi::State* instantiated = nullptr;
  tessera::ffi::State* prepared = nullptr;
  tessera::ffi::State* initialized = nullptr;
};
