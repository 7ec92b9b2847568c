#include "tessera/engine/native_program.h"

#include <boost/container/small_vector.hpp>

namespace tessera::engine {
namespace {

std::vector<ArrayLayoutRef> input_layouts(const Program& program) {
  std::vector<ArrayLayoutRef> out;
  for (size_t i = 0; i < program.num_inputs(); ++i) out.push_back(program.input_layout(i));
  return out;
}

std::vector<ArrayLayoutRef> output_layouts(const Program& program) {
  std::vector<ArrayLayoutRef> out;
  for (size_t i = 0; i < program.num_outputs(); ++i) out.push_back(program.output_layout(i));
  return out;
}

}  // namespace

NativeProgram::NativeProgram(std::unique_ptr<const Program> program)
    : LoadedProgram(input_layouts(*program), output_layouts(*program)),
      program_(std::move(program)) {}

std::vector<Array> NativeProgram::run(std::span<const DeviceData* const> inputs,
                                      std::span<const uint8_t> donate,
                                      std::span<const DeviceData* const> moved) const {
  boost::container::small_vector<const DeviceArray*, 16> arrays;
  for (const DeviceData* input : inputs) arrays.push_back(static_cast<const DeviceArray*>(input));
  std::vector<Array> out;
  for (DeviceArrayRef& result : program_->run({arrays.data(), arrays.size()}, donate, moved))
    out.emplace_back(std::move(result));
  return out;
}

}  // namespace tessera::engine
