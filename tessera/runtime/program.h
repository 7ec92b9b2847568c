// Program: a compiled schedule that runs on device arrays. The end of the pipeline.
//
// Running is synchronous in the caller: when run() returns, the results are complete. Nothing is
// queued, so a million collectives in a loop need no more memory than one, and 512 devices on two
// cores are only more tasks.
//
// Before: a Schedule from fusion/, and the layout of each input and output. After: run() is
// thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/runtime/device_array.h"
#include "tessera/runtime/executable.h"

namespace tessera::runtime {

// How an input or output of a program is stored on devices.
struct ArraySpec {
  DType dtype;
  Shape shape;  // global
  Sharding sharding;
  bool weak = false;
};

// The identity of a program, which the processes of a cluster compare before they run it together.
struct ProgramIdentity {
  std::string name;
  // The same in all processes that compile it: one line for each op, with its source.
  std::string text;
};

class Program {
 public:
  // The slots of inputs and outputs must have the shapes of one device's shard. In a cluster this
  // process runs the part of its own devices.
  Program(const Schedule& schedule, std::vector<ArraySpec> inputs, std::vector<ArraySpec> outputs,
          const KernelSource& compile = process_kernels(), ProgramIdentity identity = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Runs the program. The inputs must have the stated layouts (reshard before). donate[i] != 0 (an
  // empty list: none): the caller will not use input i again, and the array is deleted. A result of
  // as many bytes, if there is one, is in its memory: it is computed there if the steps allow that,
  // and else copied there after the last step. `moved`: if given, the arrays of any engine that
  // inputs were copied from, null for the others; they are deleted, too. Throws UserError if a
  // donated array was donated already, by another thread or as another argument; then none is.
  std::vector<DeviceArrayRef> run(std::span<const DeviceArray* const> inputs,
                                  std::span<const uint8_t> donate = {},
                                  std::span<const DeviceData* const> moved = {}) const;
  std::vector<DeviceArrayRef> run(const std::vector<DeviceArrayRef>& inputs,
                                  std::span<const uint8_t> donate = {}) const;

  // Returns the layout that input i must have.
  const ArrayLayoutRef& input_layout(size_t i) const;
  const ArrayLayoutRef& output_layout(size_t i) const;
  size_t num_inputs() const;
  size_t num_outputs() const;
  // Returns the bytes of the program itself: machine code, constants, an estimate of its tables.
  int64_t code_bytes() const;
  // Returns the bytes of temporaries during a run.
  int64_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace tessera::runtime
