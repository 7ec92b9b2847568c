// Attributes of Shardy: meshes, shardings, axes.
#include "tessera/interchange/bytecode/attributes.h"
#include "tessera/interchange/unreduced.h"

namespace tessera::interchange::bytecode {

namespace {

enum Sdy : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxis = 3,
  kAxisRef = 4,
  kDim = 5,
  kSharding = 6,
  kShardings = 7,
  kDimMapping = 8,
  kTensorMapping = 9,
  kShardingRule = 10,
  kShardingUnreduced = 15,
  kShardingsUnreduced = 16,
  kShardingReduction = 17,
};

}  // namespace

TextAttr Decoder::read_sdy(ByteReader& in, size_t index) {
  switch (in.varint()) {
    case kManualAxes: {
      TextAttr::List list;
      for (size_t left = in.count("axes"); left > 0; --left)
        list.items.emplace_back(string(attribute_index(in)));
      return list;
    }
    case kSharding:
    case kShardingUnreduced:
    case kShardingReduction: {
      AxisNames unreduced;
      NamedSharding value = sharding(index, unreduced);
      return sharding_attribute({std::move(value), std::move(unreduced)});
    }
    case kShardings:
    case kShardingsUnreduced: {
      std::vector<WrittenSharding> all;
      for (size_t left = in.count("shardings"); left > 0; --left) {
        AxisNames unreduced;
        NamedSharding value = sharding(attribute_index(in), unreduced);
        all.push_back({std::move(value), std::move(unreduced)});
      }
      return shardings_attribute(std::move(all));
    }
    case kShardingRule:
      return sharding_rule(in);
    default:
      return TextAttr::Record{"sdy", {}};
  }
}

// Returns the same form as the parser's parse_sharding_rule().
TextAttr Decoder::sharding_rule(ByteReader& in) {
  TextAttr::Record rule{"sdy.op_sharding_rule", {}};
  const auto add_integers = [&](const char* name) {
    const Dims list = signed_list(in);
    rule.entries.emplace_back(name, TextAttr::Array{{list.begin(), list.end()}});
  };
  const auto add_mappings = [&](const char* name) {
    TextAttr::List tensors;
    for (size_t left = in.count("tensors"); left > 0; --left)
      tensors.items.emplace_back(tensor_mapping(attribute_index(in)));
    rule.entries.emplace_back(name, std::move(tensors));
  };
  add_integers("sizes");
  add_mappings("operands");
  add_mappings("results");
  for (const char* name : {"reduction", "need_replication", "permutation", "blocked_propagation"})
    add_integers(name);
  return rule;
}

TextAttr Decoder::tensor_mapping(size_t index) {
  ByteReader in = open(index, "sdy", {kTensorMapping});
  TextAttr::List dims;
  for (size_t left = in.count("dimensions"); left > 0; --left) {
    ByteReader dim = open(attribute_index(in), "sdy", {kDimMapping});
    const Dims factors = signed_list(dim);
    dims.items.emplace_back(TextAttr::Array{{factors.begin(), factors.end()}});
  }
  return dims;
}

DecodedMesh Decoder::mesh(size_t index) {
  ByteReader in = open(index, "sdy", {kMesh});
  DecodedMesh mesh;
  for (size_t left = in.count("axes"); left > 0; --left) {
    ByteReader axis = open(attribute_index(in), "sdy", {kMeshAxis});
    const size_t name = axis.index(container_.strings.size(), "a string");
    mesh.axes.emplace_back(container_.strings[name], axis.signed_varint());
  }
  const Dims ids = signed_list(in);
  mesh.ids.assign(ids.begin(), ids.end());
  return mesh;
}

AxisRef Decoder::axis(size_t index) {
  ByteReader in = open(index, "sdy", {kAxisRef});
  const size_t name = in.index(container_.strings.size(), "a string");
  AxisRef out{std::string(container_.strings[name])};
  bool is_part = false;
  const size_t offset = in.position();
  const uint64_t part = in.flagged(is_part);
  if (!is_part) return out;
  if (part >= container_.attributes.size())
    container_.file().error(offset, "expected the number of an attribute");
  ByteReader sizes = open(static_cast<size_t>(part), "sdy", {kSubAxis});
  out.pre_size = sizes.signed_varint();
  out.size = sizes.signed_varint();
  if (out.pre_size < 1 || out.size < 1)
    sizes.error("expected the part of an axis to be positive, as \"x\":(1)2");
  return out;
}

std::vector<AxisRef> Decoder::axes(ByteReader& in) {
  std::vector<AxisRef> out;
  for (size_t left = in.count("axes"); left > 0; --left) out.push_back(axis(attribute_index(in)));
  return out;
}

DimSpec Decoder::dim(size_t index) {
  ByteReader in = open(index, "sdy", {kDim});
  std::vector<AxisRef> axes = this->axes(in);
  const bool closed = in.byte() != 0;
  in.varint();  // if it is odd, a priority of propagation, which is ignored
  return DimSpec(std::move(axes), !closed);
}

NamedSharding Decoder::sharding(size_t index, AxisNames& unreduced) {
  const size_t offset = container_.attributes[index].begin;
  const DepthGuard depth(*this, offset);
  ByteReader in = open(index, "sdy", {kSharding, kShardingUnreduced, kShardingReduction});
  const size_t mesh_index = attribute_index(in);
  Mesh mesh;
  if (container_.attributes[mesh_index].dialect == "sdy") {
    mesh = names_.mesh(this->mesh(mesh_index), offset);
  } else {
    const TextAttr named = attribute(mesh_index);
    const auto* found = named.get<Mesh>();
    if (!found) container_.file().error(offset, "expected the name of a mesh of this module");
    mesh = *found;
  }
  std::vector<DimSpec> dims;
  for (size_t left = in.count("dimensions"); left > 0; --left)
    dims.push_back(dim(attribute_index(in)));
  std::vector<AxisRef> replicated = axes(in);
  if (!in.done()) unreduced = unreduced_axes(mesh, axes(in));
  return NamedSharding(mesh, PartitionSpec(std::move(dims), std::move(replicated)));
}

}  // namespace tessera::interchange::bytecode
