// Outer scalars in the regions of map, reduce and sort. They become operands in which every element
// is the scalar, so that the regions are closed. For reduce the scalar is also an init, and the
// region returns it unchanged; nobody reads that result.
#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::interchange::formats {
namespace {

using Values = std::vector<ValueId>;

// The scalars, each as an array like operand 0, and the region that uses them.
struct Captured {
  Values scalars, arrays;
  Function region;
};

Captured take_captured(OpReader& reader) {
  if (reader.text.regions.size() != 1 || reader.operands.empty())
    reader.error("expected operands and one region");
  Captured out{.scalars = reader.captures[0], .region = *reader.text.regions[0]};
  reader.captures[0].clear();
  const Shape shape = reader.type(reader.operands[0]).shape;
  for (const ValueId v : out.scalars)
    out.arrays.push_back(
        reader.insert(broadcast_in_dim_op, BroadcastParams{shape, {}}, std::span(&v, 1))[0]);
  return out;
}

// Removes the region's last inputs, which are the scalars, and returns them.
Values remove_inputs(Captured& captured) {
  auto& inputs = captured.region.inputs;
  const auto first = inputs.end() - static_cast<ptrdiff_t>(captured.scalars.size());
  Values out(first, inputs.end());
  inputs.erase(first, inputs.end());
  return out;
}

void put_region(OpReader& reader, Captured captured) {
  reader.text.regions[0] = std::make_shared<const Function>(std::move(captured.region));
}

}  // namespace

// (element...) -> result
void capture_in_map(OpReader& reader) {
  Captured captured = take_captured(reader);
  reader.operands.insert(reader.operands.end(), captured.arrays.begin(), captured.arrays.end());
}

// (left, right of each operand...) -> whether left comes first
void capture_in_sort(OpReader& reader) {
  Captured captured = take_captured(reader);
  for (const ValueId input : remove_inputs(captured)) {
    captured.region.inputs.push_back(input);
    captured.region.add_input(Type(captured.region.type(input)));
  }
  reader.operands.insert(reader.operands.end(), captured.arrays.begin(), captured.arrays.end());
  reader.hidden_results = captured.scalars.size();
  put_region(reader, std::move(captured));
}

// (accumulated..., element...) -> accumulated..., for operands and as many inits
void capture_in_reduce(OpReader& reader) {
  Captured captured = take_captured(reader);
  const size_t n = reader.operands.size() / 2;
  const Values removed = remove_inputs(captured);
  Function& region = captured.region;
  if (region.inputs.size() != 2 * n || reader.operands.size() != 2 * n)
    reader.error("expected a region of two arguments an operand");
  region.inputs.insert(region.inputs.begin() + static_cast<ptrdiff_t>(n), removed.begin(),
                       removed.end());
  for (const ValueId input : removed) {
    region.add_input(Type(region.type(input)));
    region.outputs.push_back(input);
  }
  reader.operands.insert(reader.operands.begin() + static_cast<ptrdiff_t>(n),
                         captured.arrays.begin(), captured.arrays.end());
  reader.operands.insert(reader.operands.end(), captured.scalars.begin(), captured.scalars.end());
  reader.hidden_results = captured.scalars.size();
  put_region(reader, std::move(captured));
}

}  // namespace tessera::interchange::formats
