#include "tessera/engine/client_program.h"

#include <algorithm>
#include <set>

#include "tessera/engine/clients.h"
#include "tessera/engine/compile_options.h"
#include "tessera/interchange/programs/lower_scans.h"
#include "tessera/interchange/programs/plain_partition.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::engine {
namespace {

std::string at(const Op& op) { return op.source.empty() ? "" : fmt::format(" ({})", op.source); }

void expect_stablehlo(const Function& f, int64_t number) {
  const std::string& plugin = plugin_path(number);
  for (const Op& op : f.ops) {
    for (const FunctionRef& region : control_regions(op)) expect_stablehlo(*region, number);
    if (op.def->dialect == "tessera")
      value_error(op.def->name,
                  "expected an op that StableHLO has, for the devices of '{}', got {}, which only "
                  "Tessera has{}; compute it on emulated devices (initialize, cpu:N)",
                  plugin, op.def->name, at(op));
    for (const auto* values : {&op.operands, &op.results})
      for (const ValueId v : *values)
        if (!client(number).has_dtype(f.type(v).dtype))
          type_error(op.def->name,
                     "expected dtypes that the devices of '{}' have, got {}, an element type that "
                     "PJRT's C API lacks{}; convert it, or compute it on emulated devices "
                     "(initialize, cpu:N)",
                     plugin, describe(f.type(v)), at(op));
  }
}

// Returns a function of this op alone, whose inputs are the op's operands.
Function alone(const Function& f, const Op& op) {
  Function out;
  ValueIds inputs;
  for (const Type& type : f.types_of(op.operands)) inputs.push_back(out.add_input(type));
  const ValueIds results =
      out.add_op(Op{op.def, op.params, inputs, {}, op.source}, f.types_of(op.results));
  out.outputs.assign(results.begin(), results.end());
  return out;
}

std::string operands_text(const Function& f, const Op& op) {
  std::vector<std::string> out;
  for (const Type& type : f.types_of(op.operands)) out.push_back(describe(type));
  return out.empty() ? "of no operands" : fmt::format("of {}", fmt::join(out, ", "));
}

std::vector<ArrayLayoutRef> layouts_of(const std::vector<ArraySpec>& specs) {
  std::vector<ArrayLayoutRef> out;
  for (const ArraySpec& spec : specs)
    out.push_back(array_layout(spec.dtype, spec.shape, spec.sharding, "jit"));
  return out;
}

// Returns the positions of these devices among those of a layout.
std::vector<size_t> positions_of(const ArrayLayout& layout, const std::vector<int64_t>& devices) {
  if (!layout.sharding.is_named()) return std::vector<size_t>(devices.size(), 0);
  const std::vector<int64_t>& ids = layout.sharding.named().mesh().device_ids();
  std::map<int64_t, size_t> position;
  for (size_t p = 0; p < ids.size(); ++p) position[ids[p]] = p;
  std::vector<size_t> out;
  for (const int64_t device : devices) {
    const auto found = position.find(device);
    TESSERA_CHECK(found != position.end(), "{} lacks device {} of its program", layout.sharding,
                  device);
    out.push_back(found->second);
  }
  return out;
}

}  // namespace

ClientProgram::ClientProgram(const Function& partitioned, const std::vector<Device>& devices,
                             const std::vector<ArraySpec>& inputs,
                             const std::vector<ArraySpec>& outputs)
    : LoadedProgram(layouts_of(inputs), layouts_of(outputs)),
      function_(plain_partition(lower_scans(partitioned))),
      client_(client_of("jit", devices)) {
  expect_stablehlo(function_, client_);
  for (const Device& device : devices) devices_.push_back(device.id);
  std::sort(devices_.begin(), devices_.end());  // the order of ranks in groups of collectives
  for (const int64_t device : devices_)
    plugin_devices_.push_back(client(client_).devices()[static_cast<size_t>(device)].id);
  for (size_t i = 0; i < inputs.size(); ++i)
    input_positions_.push_back(positions_of(*input_layout(i), devices_));
  for (size_t i = 0; i < outputs.size(); ++i) {
    output_positions_.push_back(positions_of(*output_layout(i), devices_));
    output_types_.push_back(device_array_type(*output_layout(i), outputs[i].weak));
  }
}

std::string ClientProgram::text(const std::vector<int64_t>& aliases) const {
  return to_mlir(function_, {.locations = true,
                             .plain = PlainModule{static_cast<int64_t>(devices_.size()), aliases}});
}

// --- Compilation ---

ClientExecutableRef ClientProgram::compile(const std::string& module) const {
  return client(client_).compile(module, compile_options(plugin_devices_));
}

ClientExecutableRef ClientProgram::executable(const Aliases& aliases) const {
  return executables_.get(aliases, [&] {
    try {
      return compile(text(aliases));
    } catch (const Failure& failure) {
      compile_failed(failure.what(), failure.kind() == FailureKind::kOutOfMemory);
    }
  });
}

// Returns the first op that the plugin does not compile alone, and why; null if there is none. Ops
// in loops and branches come before the loop or branch.
const Op* ClientProgram::find_refused(const Function& f, std::string& why) const {
  std::set<std::string> tried;
  for (const Op& op : f.ops) {
    for (const FunctionRef& region : control_regions(op))
      if (const Op* inner = find_refused(*region, why)) return inner;
    const std::string module =
        to_mlir(alone(f, op), {.plain = PlainModule{static_cast<int64_t>(devices_.size()), {}}});
    if (!tried.insert(module).second) continue;
    try {
      (void)compile(module);
    } catch (const Failure& failure) {
      why = fmt::format("{}: {}", operands_text(f, op), failure.what());
      return &op;
    }
  }
  return nullptr;
}

void ClientProgram::compile_failed(const std::string& what, bool out_of_memory) const {
  const std::string& plugin = plugin_path(client_);
  if (out_of_memory)
    throw RuntimeError(fmt::format(
        "[jit] the devices of '{}' have no memory for the program '{}': {}; use smaller arrays, "
        "more devices, or donate inputs that are not needed again",
        plugin, function_.name, what));
  std::string why;
  if (const Op* op = find_refused(function_, why))
    value_error(op->def->name,
                "expected an op that the plugin '{}' compiles, got one {}{}; compute it in another "
                "dtype, or on emulated devices (initialize, cpu:N)",
                plugin, why, at(*op));
  value_error("jit",
              "expected a program that the plugin '{}' compiles, got '{}', each op of which it "
              "does: {}; make it smaller, or compute it on emulated devices (initialize, cpu:N)",
              plugin, function_.name, what);
}

ClientProgram::Aliases ClientProgram::aliases_for(std::span<const uint8_t> donate) const {
  if (std::none_of(donate.begin(), donate.end(), [](uint8_t d) { return d != 0; })) return {};
  Aliases out(num_inputs(), -1);
  std::vector<bool> taken(num_outputs());
  for (size_t i = 0; i < donate.size(); ++i) {
    if (donate[i] == 0) continue;
    const ArrayLayout& in = *input_layout(i);
    for (size_t r = 0; r < num_outputs(); ++r) {
      const ArrayLayout& result = *output_layout(r);
      if (taken[r] || result.dtype != in.dtype || result.local != in.local) continue;
      taken[r] = true;
      out[i] = static_cast<int64_t>(r);
      break;
    }
  }
  if (std::all_of(out.begin(), out.end(), [](int64_t r) { return r < 0; })) return {};
  return out;
}

int64_t ClientProgram::arena_bytes() const {
  return executable({})->temporary_bytes() * static_cast<int64_t>(devices_.size());
}

int64_t ClientProgram::code_bytes() const {
  // The real size is not known before the plugin compiles. This is its order of magnitude.
  constexpr int64_t kOpBytes = 2048;
  return kOpBytes * static_cast<int64_t>(function_.ops.size());
}

std::string ClientProgram::optimized_program() const { return executable({})->optimized_program(); }

// --- Running ---

void ClientProgram::run_failed(const std::string& what, bool out_of_memory) const {
  throw RuntimeError(
      out_of_memory
          ? fmt::format("[jit] the devices of '{}' have no memory to run '{}': {}; use smaller "
                        "arrays, more devices, or donate inputs that are not needed again",
                        plugin_path(client_), function_.name, what)
          : fmt::format("[jit] the devices of '{}' failed to run '{}': {}", plugin_path(client_),
                        function_.name, what));
}

std::vector<Array> ClientProgram::run(std::span<const DeviceData* const> inputs,
                                      std::span<const uint8_t> donate,
                                      std::span<const DeviceData* const> moved) const {
  std::vector<std::shared_ptr<const ClientArray::Buffers>> held;
  for (const DeviceData* input : inputs)
    held.push_back(static_cast<const ClientArray*>(input)->buffers());
  std::vector<uint8_t> takes(donate.begin(), donate.end());
  std::vector<std::unique_ptr<Donation>> donations;
  for (size_t i = 0; i < takes.size(); ++i) {
    if (takes[i] == 0) continue;
    const bool copied = !moved.empty() && moved[i];
    donations.push_back((copied ? moved[i] : inputs[i])->donate());
    // The memory of an array that is another argument, too, must not be reused for a result.
    if (std::count(inputs.begin(), inputs.end(), inputs[i]) > 1) takes[i] = 0;
  }
  const ClientExecutableRef program = executable(aliases_for(takes));
  std::vector<std::vector<const ClientBuffer*>> args(devices_.size());
  for (size_t p = 0; p < devices_.size(); ++p)
    for (size_t i = 0; i < inputs.size(); ++i)
      args[p].push_back((*held[i])[input_positions_[i][p]].get());
  std::vector<std::vector<ClientBufferRef>> results;
  try {
    results = program->execute(args);
  } catch (const Failure& failure) {
    run_failed(failure.what(), failure.kind() == FailureKind::kOutOfMemory);
  }
  for (const std::unique_ptr<Donation>& donation : donations) donation->commit();
  std::vector<Array> out;
  for (size_t r = 0; r < num_outputs(); ++r) {
    const ArrayLayoutRef& layout = output_layout(r);
    ClientArray::Buffers buffers(static_cast<size_t>(layout->sharding.num_devices()));
    for (size_t p = 0; p < devices_.size(); ++p) buffers[output_positions_[r][p]] = results[p][r];
    out.emplace_back(
        std::make_shared<const ClientArray>(output_types_[r], layout, std::move(buffers)));
  }
  return out;
}

}  // namespace tessera::engine
