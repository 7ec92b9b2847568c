// A generated program as data. make.h draws it from a seed, run.h runs it through the public
// functions of tessera.h, oracle.h computes it on the host, print.h writes it as C++, and reduce.h
// makes it smaller.
//
// Every value of a program and of its bodies has an id of its own. A body may read the values of
// all bodies around it, as a C++ lambda captures them.
#pragma once

#include <tessera/tessera.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ops/core/op.h"

namespace tessera::generate {

using namespace runtime;

using Arrays = std::vector<Array>;
using Literals = std::vector<Literal>;

struct ValueType {
  DType dtype = float32;
  Shape shape;
  std::set<std::string> varying;  // the manual mesh axes over which it varies

  friend bool operator==(const ValueType&, const ValueType&) = default;
};
struct Var {
  int id = 0;
  ValueType type;
};

// The attributes of an op. Each op reads only some of the fields.
struct Attributes {
  int64_t i = 0, j = 0, k = 0;
  double f = 0;
  bool flag = false;
  DType dtype = float32;
  Dims dims, dims2, dims3, dims4;
  std::string text;
  std::vector<std::string> axes;           // for collectives
  std::vector<std::pair<int, int>> pairs;  // for ppermute
  NamedSharding sharding;                  // for constraints
};

struct OpSpec;

enum class NodeKind : uint8_t {
  kOp,
  kJit,         // body(operands...)
  kCheckpoint,  // the same
  kCustomVjp,   // the same, with its own vjp as the rule; captures nothing
  kCustomJvp,   // the same, with its own jvp as the rule
  kScan,        // body(carries..., slices...) -> (carries..., rows...)
  kFori,        // body(index, carries...)
  kWhile,       // body(count, limit, carries...) while count < limit
  kCond,        // bodies[operand 0 ? 1 : 0](other operands...)
  kSwitch,      // bodies[operand 0]
  kVmap,        // body over operands that are mapped at in_axes
  kShardMap,
  kGrad,  // gradients of body, a scalar, by all operands
  kJvp,   // results and tangents: operands, then as many tangents
};

struct Node;
struct Program {
  std::vector<Var> inputs;
  std::vector<Node> nodes;
  std::vector<int> outputs;
};
struct Node {
  NodeKind kind = NodeKind::kOp;
  const OpSpec* op = nullptr;
  // kScan: i carries, flag: reverse, j: length; kFori: i to j; kCheckpoint: k: policy.
  Attributes p;
  std::vector<int> operands;
  std::vector<Program> bodies;
  std::vector<int> in_axes;                        // kVmap: one for each operand; -1: not mapped
  std::string axis_name;                           // kVmap; may be empty
  std::vector<PartitionSpec> in_specs, out_specs;  // kShardMap
  std::vector<std::string> manual_axes;            // kShardMap
  bool check_vma = true;
  std::vector<Var> results;
};

// A program, the mesh that it names, and the shardings of its arguments.
struct Case {
  uint32_t seed = 0;
  std::vector<std::string> axis_names;
  Shape axis_sizes;  // empty if there is no mesh
  Program main;
  std::vector<PartitionSpec> placements;  // shardings of the inputs on the mesh
  int next_id = 0;

  Mesh mesh() const;
};

// type_case() infers the types of all results from those of main's inputs. Throws UserError or
// Untypable if the program is invalid.
struct Untypable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void type_case(Case& c);
// type_node() infers the types of the results of one node, under the axes that are bound around it.
struct Axis {
  std::string name;
  int64_t size = 1;
  bool manual = false;  // of a shard_map; otherwise of a vmap
};
using Types = std::vector<ValueType>;  // indexed by id
void type_node(Node& node, Types& types, std::vector<Axis>& axes, int& next_id);

// Return the same program (or dtype) with float64 and complex128 for all floats.
Case widened(Case c);
DType widened(DType dtype);
// Returns the coarsest inexact dtype of its values; float64 if there is none.
DType coarsest(const Case& c);

// Returns arguments, which are determined by the case's seed and `stream`.
Literals make_arguments(const Case& c, uint32_t stream = 0);

// Calls f(node) for every node of the program and its bodies.
template <class P, class F>
void for_each_node(P& program, const F& f) {
  for (auto& node : program.nodes) {
    f(node);
    for (auto& body : node.bodies) for_each_node(body, f);
  }
}
bool contains(const Program& program, NodeKind kind);
int count_nodes(const Program& program);
// Returns whether a node of kind `inner` is in a body of one of kind `outer`.
bool contains_within(const Program& program, NodeKind outer, NodeKind inner);

// Removes nodes that nothing reads. Ops have no effects.
void remove_dead(Program& program);

}  // namespace tessera::generate
