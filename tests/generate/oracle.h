// The oracle: a program on the host, one value a lane. A lane is a device of the shard_maps around
// a body, or an example of the vmaps around it; lanes go through loops and branches together, and
// collectives are plain loops over them. Ops are those of the naive evaluator. Nothing of
// transforms, sharding, partition, fusion, code generation or runtime takes part, and derivatives
// are differences.
#pragma once

#include <unordered_map>

#include "literals.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace runtime;

class Oracle {
 public:
  explicit Oracle(const Case& c) : case_(c), values_(c.next_id) {}

  // Results for these arguments. A later run with `keep_constants` takes for every stop_gradient
  // the value that it had in the first one.
  Literals run(const Literals& args, bool keep_constants = false);
  // Whether a difference quotient inside disagreed with one of another step: a kink was near.
  bool unsteady() const { return unsteady_; }

 private:
  // One literal a lane of the innermost axes that the value depends on.
  struct Value {
    Literals lanes;
    int64_t count = 1;  // lanes.size(), unless all are one
  };
  int64_t lanes() const;
  const Literal& at(int id, int64_t lane) const;
  std::vector<Literals> operands(const Node& node, size_t from = 0) const;
  void store(const Var& var, Literals lanes);
  std::vector<Literals> run_body(const Program& body, const std::vector<Literals>& inputs);
  void run_node(const Node& node);
  std::vector<Literals> results_of(const Node& node);
  std::vector<Literals> run_op(const Node& node);
  std::vector<Literals> run_collective(const Node& node);
  std::vector<Literals> run_scan(const Node& node);
  std::vector<Literals> run_fori(const Node& node);
  std::vector<Literals> run_while(const Node& node);
  std::vector<Literals> run_branches(const Node& node);
  std::vector<Literals> run_vmap(const Node& node);
  std::vector<Literals> run_shard_map(const Node& node);
  std::vector<Literals> run_grad(const Node& node);
  std::vector<Literals> run_jvp(const Node& node);

  const Case& case_;
  std::vector<Axis> axes_;
  std::vector<Literals> values_;
  std::unordered_map<const Node*, Function> functions_;
  std::vector<Literals> constants_;  // of stop_gradients, in the order of execution
  size_t next_constant_ = 0;
  bool keep_constants_ = false, unsteady_ = false;
};

}  // namespace tessera::generate
