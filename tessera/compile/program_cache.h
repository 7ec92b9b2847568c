// The programs that were compiled, by function, placement and device, and what of a call decides
// which one it needs: what jit, eager ops and composites look programs up with.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/compile/caches.h"
#include "tessera/compile/compiled.h"
#include "tessera/runtime/array_layout.h"
#include "tessera/sharding/propagate.h"

namespace tessera::compile {

// What decides which program a call needs, of one argument: where it lies, its type, whether it is
// weak.
struct ArgKey {
  ArrayLayoutRef layout;  // of device arrays: equal layouts are one object
  Type type;              // of host arrays
  bool weak = false;

  explicit ArgKey(const Array& x);
  bool matches(const Array& x) const;
  bool operator==(const ArgKey& other) const {
    return layout == other.layout && weak == other.weak && type.same_array(other.type);
  }
};

// The same of all arguments of a call.
class ArgKeys {
 public:
  explicit ArgKeys(std::span<const Array> args) : keys_(args.begin(), args.end()) {}
  bool match(std::span<const Array> args) const;
  bool operator==(const ArgKeys&) const = default;

 private:
  std::vector<ArgKey> keys_;
};
// Calls with arguments that match the same ArgKeys have one hash; `seed` is that of the rest.
size_t hash_arguments(size_t seed, std::span<const Array> args);

// UserError (kTrace) naming `op` if one of the arrays is a tracer, which has leaked out of its trace.
void expect_concrete(std::string_view op, std::span<const Array> args);

// The placements of arguments as a request: arrays on a mesh are taken as they lie; single-device
// and host arrays go where propagation wants them.
ShardingRequest request_for(const Function& function, std::span<const Array> args);
// The device of a program that no mesh takes part in. UserError naming `op` where arguments lie on
// several.
Device device_for(std::string_view op, std::span<const Array> args);

struct Stages;

// The program of this function, requests and device; compiled once for all that are structurally
// equal. `stages` is what run_pipeline has made of these, or null if it has not run. Thread-safe.
CompiledRef compile_cached(const Function& function, const ShardingRequest& request,
                           const Device& device, const Stages* stages = nullptr);

// The results of a program of a call's arguments and then of the arrays that its function captured.
// `donate` is empty, or says of each input whether the results may take its memory.
std::vector<Array> run_with_captures(const Compiled& program, std::span<const Array> args,
                                     std::span<const Array> captures,
                                     std::span<const uint8_t> donate = {});

}  // namespace tessera::compile

namespace tessera::internal {
// Of the program cache.
CompileStats program_stats();
void clear_programs();
// Of the cache of eager calls.
void clear_eager_calls();
}  // namespace tessera::internal
