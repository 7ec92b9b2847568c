#include "tessera/compile/compiled.h"

#include <atomic>
#include <memory>

#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
#include "tessera/base/warning.h"
#include "tessera/cluster/processes.h"
#include "tessera/compile/pipeline.h"
#include "tessera/compile/place.h"
#include "tessera/compile/program_cache.h"
#include "tessera/engine/client_array.h"
#include "tessera/engine/client_program.h"
#include "tessera/engine/clients.h"
#include "tessera/ir/format.h"
#include "tessera/ir/printer.h"
#include "tessera/mesh/default_device.h"
#include "tessera/runtime/program.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/finer_mesh.h"
#include "tessera/sharding/flatten_regions.h"

namespace tessera {

using namespace compile;

namespace {

// Of a plugin, or 0: where a program of this mesh, or of this device, runs.
int64_t client_for(const Mesh& mesh, const Device& device) {
  if (mesh.rank() == 0) return device.client;
  if (mesh.is_abstract())
    sharding_error("jit",
                   "expected a mesh of devices to run on, got {}; lower() and explain() work on "
                   "abstract meshes, running does not",
                   mesh);
  return engine::client_of("jit", mesh.devices());
}

// Of a program's text what all processes of a cluster have in common: a function of the host has
// another number in each.
std::string common_text(std::string text) {
  constexpr std::string_view kBefore = "backend_config = {function = ";
  for (size_t at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at)) {
    at += kBefore.size();
    text.erase(at, text.find(' ', at) - at);
  }
  return text;
}

std::shared_ptr<const Program> emulated_program(const Function& function, const Stages& stages,
                                                std::vector<ArraySpec> inputs,
                                                std::vector<ArraySpec> outputs) {
  ProgramIdentity identity;
  if (cluster::Processes::current())
    identity = {function.name, common_text(to_mlir(function, {.locations = true}) +
                                           to_mlir(stages.partitioned.function))};
  return std::make_shared<const Program>(stages.schedule, std::move(inputs), std::move(outputs),
                                         process_kernels(), std::move(identity));
}

}  // namespace

Compiled::Compiled(const Function& function, const ShardingRequest& request, const Device& device,
                   const std::optional<Mesh>& results_mesh, const Stages* made) {
  const int64_t client = client_for(program_mesh(function, request), device);
  std::optional<Stages> own;
  if (!made)
    made = &own.emplace(
        run_pipeline(function, request, client == 0 ? Stage::kFused : Stage::kPartitioned));
  const Stages& stages = *made;
  output_types_ = function.output_types();
  const bool sharded = stages.mesh.rank() > 0;
  auto spec = [&](const Type& type, const std::vector<NamedSharding>& shardings, size_t i) {
    const Sharding sharding =
        sharded ? Sharding(shardings[i]) : Sharding(SingleDeviceSharding(device));
    return ArraySpec{type.dtype, type.shape, sharding, type.weak};
  };
  std::vector<ArraySpec> inputs, outputs;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    inputs.push_back(spec(function.types[function.inputs[i]], stages.partitioned.inputs, i));
  for (size_t i = 0; i < function.outputs.size(); ++i)
    outputs.push_back(spec(output_types_[i], stages.partitioned.outputs, i));
  if (client != 0) {
    client_program_ = std::make_shared<const engine::ClientProgram>(
        stages.partitioned.function, sharded ? stages.mesh.devices() : std::vector{device},
        std::move(inputs), outputs);
  } else {
    program_ = emulated_program(function, stages, std::move(inputs), std::move(outputs));
  }
  if (results_mesh)
    for (const NamedSharding& s : stages.partitioned.outputs)
      results_.emplace_back(on_coarser_mesh(s, *results_mesh));
  for (const Note& note : stages.partitioned.notes)
    if (note.warning)
      warn(fmt::format("[{}] {}; {}{}", note.op, note.text, note.remedy,
                       note.source.empty() ? "" : " (" + note.source + ")"));
}

Sharding Compiled::input_sharding(size_t i) const {
  return (program_ ? program_->input_layout(i) : client_program_->input_layout(i))->sharding;
}
Sharding Compiled::output_sharding(size_t i) const {
  if (!results_.empty()) return results_[i];
  return (program_ ? program_->output_layout(i) : client_program_->output_layout(i))->sharding;
}
int64_t Compiled::arena_bytes() const {
  return program_ ? program_->arena_bytes() : client_program_->arena_bytes();
}
int64_t Compiled::code_bytes() const {
  return program_ ? program_->code_bytes() : client_program_->code_bytes();
}

std::vector<Array> Compiled::run(std::span<const Array> args,
                                 std::span<const uint8_t> donate) const {
  if (client_program_) return run_on_client(args, donate);
  TESSERA_CHECK(args.size() == program_->num_inputs(), "{} arguments for {} inputs", args.size(),
                program_->num_inputs());
  boost::container::small_vector<const DeviceArray*, 16> inputs(args.size()), originals;
  boost::container::small_vector<DeviceArrayRef, 4> moved;
  for (size_t i = 0; i < args.size(); ++i) {
    const ArrayData& data = *args[i].data();
    const ArrayLayoutRef& layout = program_->input_layout(i);
    if (data.kind == ArrayData::Kind::kDevice) {
      const auto& device_array = static_cast<const DeviceArray&>(data);
      if (device_array.layout() == layout || same_placement(*device_array.layout(), *layout)) {
        inputs[i] = &device_array;
        continue;
      }
      moved.push_back(
          reshard(std::static_pointer_cast<const DeviceArray>(args[i].data()), layout->sharding));
      originals.resize(args.size(), nullptr);
      originals[i] = &device_array;
    } else {
      moved.push_back(
          std::static_pointer_cast<const DeviceArray>(placed_data(args[i], layout->sharding)));
    }
    inputs[i] = moved.back().get();
  }
  std::vector<DeviceArrayRef> results =
      program_->run(std::span<const DeviceArray* const>(inputs.data(), inputs.size()), donate,
                    std::span<const DeviceArray* const>(originals.data(), originals.size()));
  std::vector<Array> out;
  out.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    out.emplace_back(results_.empty() ? std::move(results[i]) : reshard(results[i], results_[i]));
  return out;
}

std::vector<Array> Compiled::run_on_client(std::span<const Array> args,
                                           std::span<const uint8_t> donate) const {
  TESSERA_CHECK(args.size() == client_program_->num_inputs(), "{} arguments for {} inputs",
                args.size(), client_program_->num_inputs());
  std::vector<engine::ClientArrayRef> inputs;
  std::vector<const ArrayData*> originals(args.size(), nullptr);
  for (size_t i = 0; i < args.size(); ++i) {
    const std::shared_ptr<const ArrayData>& data = args[i].data();
    const ArrayLayoutRef& layout = client_program_->input_layout(i);
    std::shared_ptr<const ArrayData> here = data;
    if (!client_program_->takes(*data, i)) {
      here = placed_data(args[i], layout->sharding);
      originals[i] = data.get();
    }
    inputs.push_back(std::static_pointer_cast<const engine::ClientArray>(here));
  }
  std::vector<Array> out;
  for (engine::ClientArrayRef& result : client_program_->run(inputs, donate, originals))
    out.emplace_back(std::move(result));
  for (size_t i = 0; i < results_.size(); ++i) out[i] = Array(placed_data(out[i], results_[i]));
  return out;
}

}  // namespace tessera

namespace tessera::compile {

ArgKey::ArgKey(const Array& x) : weak(x.type().weak) {
  layout = layout_of(*x.data());
  if (!layout) type = x.type();
}

bool ArgKey::matches(const Array& x) const {
  const ArrayData& data = *x.data();
  if (data.type.weak != weak) return false;
  if (const ArrayLayoutRef& lies = layout_of(data)) return lies == layout;
  return !layout && data.type.same_array(type);
}

bool ArgKeys::match(std::span<const Array> args) const {
  if (keys_.size() != args.size()) return false;
  for (size_t i = 0; i < args.size(); ++i)
    if (!keys_[i].matches(args[i])) return false;
  return true;
}

size_t hash_arguments(size_t seed, std::span<const Array> args) {
  for (const Array& x : args) {
    const ArrayData& data = *x.data();
    if (const ArrayLayoutRef& lies = layout_of(data)) {
      seed = hash_combine(seed, std::hash<const void*>()(lies.get()));
    } else {
      seed = hash_combine(seed, static_cast<size_t>(data.type.dtype));
      seed = hash_combine(seed, hash_value(data.type.shape));
    }
    seed = hash_combine(seed, data.type.weak);
  }
  return seed;
}

void expect_concrete(std::string_view op, std::span<const Array> args) {
  for (const Array& x : args)
    if (x.is_tracer())
      trace_error(op,
                  "expected concrete arrays, got the traced {} after its trace has ended (a leaked "
                  "tracer): return it from the traced "
                  "function instead of storing it",
                  describe(x.type()));
}

ShardingRequest request_for(const Function& function, std::span<const Array> args) {
  ShardingRequest request;
  request.inputs.resize(args.size());
  request.outputs.resize(function.outputs.size());
  bool any = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const ArrayData& data = *args[i].data();
    const NamedSharding* named = nullptr;
    if (const ArrayLayoutRef& lies = layout_of(data)) named = lies->named.get();
    if (data.kind == ArrayData::Kind::kAbstract) named = data.type.sharding.get();
    if (!named) continue;
    request.inputs[i] = *named;
    any = true;
  }
  if (!any) return request;
  // Arrays whose mesh lists the devices in another order are moved before the program runs.
  const Mesh mesh = program_mesh(function, request);
  for (std::optional<NamedSharding>& s : request.inputs)
    if (s && !same_device_order(s->mesh(), mesh)) s.reset();
  return request;
}

Device device_for(std::string_view op, std::span<const Array> args) {
  std::optional<Device> found;
  for (const Array& x : args) {
    const ArrayLayoutRef& lies = layout_of(*x.data());
    if (!lies) continue;
    const Sharding& sharding = lies->sharding;
    if (sharding.is_named()) continue;
    const Device& device = sharding.single().device();
    if (found && !(*found == device))
      sharding_error(op,
                     "expected all arrays on one device or on one mesh, got arrays on {} and {}; "
                     "device_put one of them",
                     *found, device);
    found = device;
  }
  return found ? *found : default_device();
}

namespace {

struct ProgramKey {
  FunctionRef function;
  ShardingRequest request;
  Device device;
  std::optional<Mesh> results_mesh;

  bool is_for(const Function& f, const ShardingRequest& r, const Device& d,
              const std::optional<Mesh>& mesh) const {
    return device == d && results_mesh == mesh && request.inputs == r.inputs &&
           request.outputs == r.outputs && *function == f;
  }
  bool operator==(const ProgramKey& key) const {
    return is_for(*key.function, key.request, key.device, key.results_mesh);
  }
};

size_t hash_of(const Function& function, const ShardingRequest& request, const Device& device) {
  size_t hash = hash_combine(hash_value(function), static_cast<size_t>(device.id));
  for (const auto* list : {&request.inputs, &request.outputs})
    for (const std::optional<NamedSharding>& s : *list)
      hash = hash_combine(hash, s ? s->hash() : 0);
  return hash;
}

// Programs in use stay alive with those who hold them, whatever the cache does.
class ProgramCache {
 public:
  CompiledRef get(const Function& function, const ShardingRequest& request, const Device& device,
                  const std::optional<Mesh>& results_mesh, const Stages* stages) {
    const size_t hash = hash_of(function, request, device);
    const auto found = programs_.find(hash, [&](const ProgramKey& key) {
      return key.is_for(function, request, device, results_mesh);
    });
    if (found) {
      ++hits_;
      return *found;
    }
    // Compiled outside of the cache: two threads may compile the same program once each.
    constexpr int64_t kOpBytes = 512;  // of the key
    const auto compiled =
        std::make_shared<Compiled>(function, request, device, results_mesh, stages);
    ++compiled_;
    return programs_.insert(
        hash, {std::make_shared<Function>(function), request, device, results_mesh}, compiled,
        compiled->code_bytes() + kOpBytes * static_cast<int64_t>(function.ops.size()));
  }

  CompileStats stats() const {
    return {.programs_compiled = compiled_,
            .program_cache_hits = hits_,
            .programs_cached = static_cast<int64_t>(programs_.size())};
  }
  void clear() { programs_.clear(); }

 private:
  static constexpr size_t kMaxPrograms = 4096;
  static constexpr int64_t kMaxBytes = int64_t{512} << 20;
  BoundedCache<ProgramKey, CompiledRef> programs_{kMaxPrograms, ForkParticipant::Level::kPrograms,
                                                  kMaxBytes};
  std::atomic<int64_t> compiled_{0}, hits_{0};
};

ProgramCache& program_cache() {
  static ProgramCache& cache = *new ProgramCache;  // programs may run while the process ends
  return cache;
}

}  // namespace

CompiledRef compile_cached(const Function& function, const ShardingRequest& request,
                           const Device& device, const Stages* stages) {
  if (request.compute_as.empty()) return program_cache().get(function, request, device, {}, stages);
  // Programs are told apart on the finer mesh: where an axis has one device, cut along it and not
  // cut are the same sharding.
  return program_cache().get(on_finer_mesh(function, request.compute_as), on_finer_mesh(request),
                             device, program_mesh(function, request), stages);
}

std::vector<Array> run_with_captures(const Compiled& program, std::span<const Array> args,
                                     std::span<const Array> captures,
                                     std::span<const uint8_t> donate) {
  if (captures.empty()) return program.run(args, donate);
  std::vector<Array> all(args.begin(), args.end());
  all.insert(all.end(), captures.begin(), captures.end());
  return program.run(all, donate);
}

}  // namespace tessera::compile

namespace tessera::internal {

using namespace compile;

CompileStats program_stats() { return program_cache().stats(); }
void clear_programs() { program_cache().clear(); }

}  // namespace tessera::internal
