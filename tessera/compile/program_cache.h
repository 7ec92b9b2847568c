// The compiled programs, found by function, shardings and device, and the properties of a call that
// decide which program it needs. jit, eager ops and composites look programs up here.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/compile/caches.h"
#include "tessera/compile/compiled.h"
#include "tessera/runtime/array_layout.h"
#include "tessera/sharding/propagate.h"

namespace tessera::compile {

// The properties of one argument that decide which program a call needs: its layout or type, and
// whether it is weakly typed.
struct ArgKey {
  ArrayLayoutRef layout;  // set for device arrays; equal layouts are one object
  Type type;              // set for host arrays
  bool weak = false;

  explicit ArgKey(const Array& x);
  bool matches(const Array& x) const;
  bool operator==(const ArgKey& other) const {
    return layout == other.layout && weak == other.weak && type.same_array(other.type);
  }
};

// The keys of all arguments of a call.
class ArgKeys {
 public:
  explicit ArgKeys(std::span<const Array> args) : keys_(args.begin(), args.end()) {}
  bool match(std::span<const Array> args) const;
  bool operator==(const ArgKeys&) const = default;

 private:
  std::vector<ArgKey> keys_;
};
// Returns the hash of a call's arguments. Calls that match the same ArgKeys have the same hash.
// `seed` is the hash of everything else.
size_t hash_arguments(size_t seed, std::span<const Array> args);

// Throws a UserError (kTrace) that names `op` if one of the arrays is a tracer: one that has leaked
// out of its trace, or one of another thread.
void expect_concrete(std::string_view op, std::span<const Array> args);

// Returns the shardings of arguments as a request. Arrays on a mesh keep theirs; for single-device
// and host arrays, propagation chooses.
ShardingRequest request_for(const Function& function, std::span<const Array> args);
// Returns the device of a program without a mesh. Throws a UserError that names `op` if the
// arguments are on several devices.
Device device_for(std::string_view op, std::span<const Array> args);

// Returns the program of this function, request and device. It is compiled once for all
// structurally equal ones. `stages` is the result of run_pipeline, or null if it has not run. Any
// thread may call it.
CompiledRef compile_cached(const Function& function, const ShardingRequest& request,
                           const Device& device, const Stages* stages = nullptr);

// Runs a program whose inputs are a call's arguments, then the arrays that its function captured.
// Returns the program's results. `donate` is empty, or has a flag for each input: whether the
// results may use its memory.
std::vector<Array> run_with_captures(const Compiled& program, std::span<const Array> args,
                                     std::span<const Array> captures,
                                     std::span<const uint8_t> donate = {});

}  // namespace tessera::compile

namespace tessera::internal {
// Returns the statistics of the program cache.
CompileStats program_stats();
void clear_programs();
// Empties the cache of eager calls.
void clear_eager_calls();
}  // namespace tessera::internal
