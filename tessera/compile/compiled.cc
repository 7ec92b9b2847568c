#include "tessera/compile/compiled.h"

#include <atomic>
#include <memory>

#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
#include "tessera/base/warning.h"
#include "tessera/compile/load_program.h"
#include "tessera/compile/place.h"
#include "tessera/compile/program_cache.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/format.h"
#include "tessera/mesh/default_device.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/finer_mesh.h"
#include "tessera/sharding/flatten_regions.h"

namespace tessera {

using namespace compile;

Compiled::Compiled(const Function& function, const ShardingRequest& request, const Device& device,
                   const std::optional<Mesh>& results_mesh, const Stages* made) {
  std::optional<Stages> own;
  if (!made)
    made = &own.emplace(run_pipeline(
        function, request, last_stage(engine_for(program_mesh(function, request), device))));
  const Stages& stages = *made;
  program_ = load_program(function, stages, device);
  output_types_ = function.output_types();
  if (results_mesh)
    for (const NamedSharding& s : stages.partitioned.outputs)
      results_.emplace_back(on_coarser_mesh(s, *results_mesh));
  for (const Note& note : stages.partitioned.notes)
    if (note.warning)
      warn(fmt::format("[{}] {}; {}{}", note.op, note.text, note.remedy,
                       note.source.empty() ? "" : " (" + note.source + ")"));
}

Sharding Compiled::input_sharding(size_t i) const { return program_->input_layout(i)->sharding; }
Sharding Compiled::output_sharding(size_t i) const {
  return results_.empty() ? program_->output_layout(i)->sharding : results_[i];
}
int64_t Compiled::arena_bytes() const { return program_->arena_bytes(); }
int64_t Compiled::code_bytes() const { return program_->code_bytes(); }

std::vector<Array> Compiled::run(std::span<const Array> args,
                                 std::span<const uint8_t> donate) const {
  TESSERA_CHECK(args.size() == program_->num_inputs(), "{} arguments for {} inputs", args.size(),
                program_->num_inputs());
  boost::container::small_vector<const DeviceData*, 16> inputs(args.size()), originals;
  boost::container::small_vector<std::shared_ptr<const ArrayData>, 4> moved;
  for (size_t i = 0; i < args.size(); ++i) {
    const ArrayData& data = *args[i].data();
    inputs[i] = device_data(data);
    if (program_->takes(data, i)) continue;
    if (inputs[i]) {
      originals.resize(args.size(), nullptr);
      originals[i] = inputs[i];
    }
    moved.push_back(placed_data(args[i], program_->input_layout(i)->sharding));
    inputs[i] = device_data(*moved.back());
  }
  std::vector<Array> out =
      program_->run({inputs.data(), inputs.size()}, donate, {originals.data(), originals.size()});
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
    if (x.is_tracer()) throw_unusable(op, static_cast<const Tracer&>(*x.data()));
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
  // Arrays whose mesh has the devices in another order are moved before the program runs.
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

// Programs in use stay alive with their owners, whatever the cache does.
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
    // Compilation happens outside of the lock, so two threads may compile the same program.
    constexpr int64_t kOpBytes = 512;  // the size of a key, for each op
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
  // Programs are distinguished on the finer mesh: on an axis with one device, sharded and not
  // sharded are the same sharding.
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
