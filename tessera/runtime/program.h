// Program: a compiled schedule that runs on device arrays; the end of the pipeline.
//
// Running is synchronous: when run() returns, the results are complete. Nothing is queued, so a
// million collectives in a loop need no more memory than one, and 512 devices on two cores are only
// more tasks.
//
// Before: a Schedule from fusion/, and the layout of each input and output. After: a program whose
// run() may be called from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/runtime/device_array.h"
#include "tessera/runtime/executable.h"

namespace tessera::runtime {

// The type of an input or output of a program and its storage on devices.
struct ArraySpec {
  DType dtype;
  Shape shape;  // global
  Sharding sharding;
  bool weak = false;
};

// The identity of a program. The processes of a cluster compare it before they run the program
// together.
struct ProgramIdentity {
  std::string name;
  // One line for each op, with its source; the same in all processes that compile the program.
  std::string text;
};

class Program {
 public:
  // The slots of inputs and outputs must have the shape of one device's shard. In a cluster, this
  // process runs the part of its own devices.
  Program(const Schedule& schedule, std::vector<ArraySpec> inputs, std::vector<ArraySpec> outputs,
          const KernelSource& compile = process_kernels(), ProgramIdentity identity = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Runs the program and returns its results. The inputs must have the layouts of input_layout().
  // donate[i] != 0 (`donate` may be empty): the caller will not use input i again, and the array is
  // deleted. Its memory is used for a result of as many bytes, if there is one: the result is
  // computed there if the steps allow that, otherwise copied there after the last step. If `moved`
  // is given, it has the arrays of any engine from which inputs were copied (null for the others);
  // they are deleted, too. Throws UserError if a donated array was donated already, by another
  // thread or as another argument; then no array is deleted.
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
