// The functions of tessera.h that programs are made of. An op is one expression, which is called
// and printed: x, y, z are its operands, `list` all of them, p.<field> its attributes.
#pragma once

#include "program.h"

namespace tessera::generate {

using namespace ops;

// How an op joins the lanes of a manual axis or of a vmap's; all others work lane by lane.
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

// By name; every op is named in make.cc.
const OpSpec& op_named(const std::string& name);
const std::vector<OpSpec>& all_op_specs();

}  // namespace tessera::generate
