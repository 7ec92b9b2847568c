#include "tessera/spmd/partition_state.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ir/op_def.h"
#include "tessera/sharding/projection.h"
#include "tessera/spmd/refine_mesh.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {
namespace {

// Returns whether the op copies an element of an operand to several elements of its result.
bool repeats_operand(const Op& op, const Function& f) {
  if (!op.def->factors || !std::holds_alternative<IndexMap>(op.def->lower)) return false;
  return repeats_operands(
      op.def->factors(f.types_of(op.operands), f.types_of(op.results), op.params));
}

}  // namespace

PartitionedProgram::PartitionedProgram(const Function& f, const Mesh& mesh)
    : user_mesh_(mesh), user_atoms_(mesh), mesh_(refine_mesh(mesh, f), AtomMesh::Atoms::kAxes) {}

const DimAtoms& PartitionedProgram::declared(const Type& type) {
  TESSERA_CHECK(type.sharding != nullptr, "partition needs a propagated function");
  auto [it, is_new] = declared_.try_emplace({type.sharding.get(), type.rank()});
  if (is_new)
    it->second = mesh_.dims(translate("partition", *type.sharding, mesh_.mesh()), type.rank());
  return it->second;
}

Type PartitionedProgram::local_type(const Type& global, const DimAtoms& dims) const {
  Type t = global;
  t.shape = local_shape(mesh_, t.shape, dims);
  t.sharding = nullptr;
  t.varying = mesh_.axis_names(mesh_.ordered(used_atoms(dims)));
  std::sort(t.varying.begin(), t.varying.end());
  return t;
}

std::vector<std::string> PartitionedProgram::user_names(
    const std::vector<std::string>& axes) const {
  return user_atoms_.axis_names(user_atoms_.atoms("partition", whole_axes(axes), mesh_.mesh()));
}

std::vector<std::string> PartitionedProgram::user_names(AtomSet atoms) const {
  return user_names(mesh_.axis_names(mesh_.ordered(atoms)));
}

std::string PartitionedProgram::spec_text(const DimAtoms& dims) const {
  std::vector<std::string> parts;
  for (const AtomList& d : dims) {
    const std::vector<std::string> names = user_names(mesh_.axis_names(d));
    parts.push_back(names.empty()       ? "None"
                    : names.size() == 1 ? "'" + names[0] + "'"
                                        : fmt::format("('{}')", fmt::join(names, "', '")));
  }
  return fmt::format("({}{})", fmt::join(parts, ", "), parts.size() == 1 ? "," : "");
}

void PartitionedProgram::note_padding(const Type& global, const DimAtoms& dims, std::string_view op,
                                      const std::string& source) {
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t n = mesh_.size(dims[d]), extent = global.shape[d],
                  padded = ceil_div(extent, n) * n;
    if (padded == extent) continue;
    const std::string text = fmt::format(
        "dimension {} of {} is divided into {} shards of {}: {} of {} rows of storage are padding",
        d, describe(global), n, padded / n, padded - extent, padded);
    if (padded_.insert(text).second)
      notes_.push_back(
          {false, std::string(op), source, text, fmt::format("make it a multiple of {}", n)});
  }
}

void PartitionedProgram::note_gather(const Op& op, const Function& f, const Type& global,
                                     const DimAtoms& from, int64_t bytes, const std::string& why) {
  // Weights are gathered for a product on purpose, and gains or biases to be repeated in a larger
  // array. Other gathers are probably unintended, unless they are small.
  constexpr int64_t kSmall = 64 << 10;
  const bool warning =
      bytes >= kSmall && !std::holds_alternative<Library>(op.def->lower) && !repeats_operand(op, f);
  notes_.push_back(
      {warning, std::string(op.def->name), op.source,
       fmt::format("{} gathers {} whole on every device ({} bytes each)", why, describe(global),
                   bytes),
       std::holds_alternative<Constraint>(op.def->lower)
           ? "constrain to a spec that keeps the mesh axes, such as " + spec_text(from)
           : "keep the dimension unsharded, or constrain the operand to another sharding"});
}

std::vector<Note> PartitionedProgram::take_notes() {
  std::vector<Note> out;
  for (Note& note : notes_) {
    const bool told = std::any_of(out.begin(), out.end(), [&](const Note& n) {
      return n.op == note.op && n.source == note.source && n.text == note.text;
    });
    if (!told) out.push_back(std::move(note));
  }
  notes_.clear();
  return out;
}

LocalValues::LocalValues(const Function& f)
    : f(f),
      locals(f.types.size()),
      uses(f.types.size(), 0),
      moved(f.types.size(), 0),
      makers(f.types.size(), nullptr) {
  for (const Op& op : f.ops) {
    for (ValueId v : op.operands) ++uses[v];
    for (ValueId v : op.results) makers[v] = &op;
  }
  for (ValueId v : f.outputs) ++uses[v];
}

std::vector<DimAtoms> LocalValues::dims(std::span<const ValueId> values) const {
  std::vector<DimAtoms> out;
  for (ValueId v : values) out.push_back(locals[v].dims);
  return out;
}

}  // namespace tessera::spmd
