// The oracle runs a program on the host, with one value for each lane. A lane is a device of the
// shard_maps around a body, or an example of the vmaps around it. Lanes run loops and branches
// together, and collectives are plain loops over them. Ops are those of the naive evaluator, and
// derivatives are differences. No transforms, sharding, partition, fusion, code generation or
// runtime are used.
#pragma once

#include <unordered_map>

#include "literals.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace runtime;

class Oracle {
 public:
  explicit Oracle(const Case& c) : case_(c), values_(c.next_id) {}

  // Returns the results for these arguments. In a later run with `keep_constants`, every
  // stop_gradient has the value that it had in the first run.
  Literals run(const Literals& args, bool keep_constants = false);
  // Returns whether a kink was near, because a difference quotient inside disagreed with one of
  // another step.
  bool unsteady() const { return unsteady_; }

 private:
  // The literals of a value, one for each lane.
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
  std::vector<Literals> constants_;  // values of stop_gradients, in the order of execution
  size_t next_constant_ = 0;
  bool keep_constants_ = false, unsteady_ = false;
};

}  // namespace tessera::generate
