// The functions of tessera.h of which programs are made. An op is one expression, which is called
// and printed. x, y and z are its operands, `list` is all of them, and p.<field> are its
// attributes.
#pragma once

#include "program.h"

namespace tessera::generate {

using namespace ops;

// How an op combines the lanes of a manual axis or of a vmap's axis. All other ops work lane by
// lane.
enum class Collective : uint8_t {
  kNone,
  kPsum,
  kPmean,
  kPmax,
  kPmin,
  kAllGather,           // p.i: axis, p.flag: tiled
  kAllGatherInvariant,  // the same
  kPsumScatter,         // p.i, p.flag
  kAllToAll,            // p.i: split, p.j: concat; tiled
  kPpermute,            // p.pairs
  kPbroadcast,          // p.i: source
  kAxisIndex,
  kPcast,
};

struct OpSpec {
  std::string name;
  std::string text;
  Arrays (*apply)(const Arrays& list, const Attributes& p) = nullptr;
  Collective collective = Collective::kNone;
};

// Returns the op of a name; make.cc uses every op.
const OpSpec& op_named(const std::string& name);
const std::vector<OpSpec>& all_op_specs();

}  // namespace tessera::generate
