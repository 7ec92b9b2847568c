// LoadedProgram: a program that is ready to run on the devices of one engine (engine.h). It is a
// NativeProgram or a ClientProgram.
//
// Before: a partitioned program, and the shardings of its inputs and outputs. After: run() is
// thread-safe and synchronous.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tessera/runtime/device_data.h"

namespace tessera::ir {

class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  // Returns the results of one run. The program must take each input (takes()).
  //
  // If donate[i] is not 0, the caller will not use input i again: its memory is reused for a result
  // if one fits, and the array is deleted. If the list `moved` is not empty and moved[i] is not
  // null, it is the array that input i was copied from, which is deleted, too. Throws UserError if
  // one of these was donated before; then none is deleted. Throws RuntimeError if the devices lack
  // memory or fail.
  virtual std::vector<Array> run(std::span<const runtime::DeviceData* const> inputs,
                                 std::span<const uint8_t> donate = {},
                                 std::span<const runtime::DeviceData* const> moved = {}) const = 0;

  // Returns whether the array has the layout and devices that input i requires.
  bool takes(const ArrayData& array, size_t i) const {
    const runtime::DeviceData* data = runtime::device_data(array);
    return data && (data->layout() == inputs_[i] || same_placement(*data->layout(), *inputs_[i]));
  }
  const runtime::ArrayLayoutRef& input_layout(size_t i) const { return inputs_.at(i); }
  const runtime::ArrayLayoutRef& output_layout(size_t i) const { return outputs_.at(i); }
  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }

  // Returns the bytes of temporaries during a run, on all devices together; 0 if the engine does
  // not report them.
  virtual int64_t arena_bytes() const = 0;
  // Returns the bytes of the program itself: code, constants, tables.
  virtual int64_t code_bytes() const = 0;

 protected:
  LoadedProgram(std::vector<runtime::ArrayLayoutRef> inputs,
                std::vector<runtime::ArrayLayoutRef> outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

 private:
  std::vector<runtime::ArrayLayoutRef> inputs_, outputs_;
};

}  // namespace tessera::ir

namespace tessera::engine {

using LoadedProgramRef = std::shared_ptr<const LoadedProgram>;

}  // namespace tessera::engine
