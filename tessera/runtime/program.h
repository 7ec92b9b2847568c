// Program: a compiled schedule that runs on device arrays. The end of the pipeline.
//
// Running is synchronous in the caller: when run() returns, the results are there. Nothing is
// queued, so a million collectives in a loop need no more memory than one, and 512 devices on two
// cores are only more tasks.
//
// Before: a Schedule from fusion/, and how each input and output lies on its devices. After: run()
// is thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/runtime/device_array.h"
#include "tessera/runtime/executable.h"

namespace tessera::runtime {

// How an input or output of a program lies on devices.
struct ArraySpec {
  DType dtype;
  Shape shape;  // global
  Sharding sharding;
  bool weak = false;
};

// What a program is to the processes of a cluster, which compare it before they run it together.
struct ProgramIdentity {
  std::string name;
  // The same in all processes that compile it: a line an op, with its source.
  std::string text;
};

class Program {
 public:
  // The slots of inputs and outputs must have the shapes that the shardings give one device. In a
  // cluster this process runs the part of its own devices.
  Program(const Schedule& schedule, std::vector<ArraySpec> inputs, std::vector<ArraySpec> outputs,
          const KernelSource& compile = process_kernels(), ProgramIdentity identity = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The inputs must lie as stated (reshard before). donate[i] != 0 (an empty list: none): the
  // caller will not use input i again; its memory becomes a result's where one fits, and the array
  // is deleted. `moved`: where given, the arrays that inputs were copied from, of any engine, null for
  // the others; they are deleted too. UserError where an array is donated that is so already, by
  // another thread or as another argument; then none is.
  std::vector<DeviceArrayRef> run(std::span<const DeviceArray* const> inputs,
                                  std::span<const uint8_t> donate = {},
                                  std::span<const DeviceData* const> moved = {}) const;
  std::vector<DeviceArrayRef> run(const std::vector<DeviceArrayRef>& inputs,
                                  std::span<const uint8_t> donate = {}) const;

  // The layout that input i must have.
  const ArrayLayoutRef& input_layout(size_t i) const;
  const ArrayLayoutRef& output_layout(size_t i) const;
  size_t num_inputs() const;
  size_t num_outputs() const;
  // What the program itself takes: machine code, constants, an estimate of its tables.
  int64_t code_bytes() const;
  // Memory for temporaries during a run.
  int64_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace tessera::runtime
