// JAX's custom call @ragged_all_to_all, whose backend_config contains what StableHLO's collectives
// have as attributes: the groups of devices, and the channel if these are partitions.
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/formats/collective_text.h"
#include "tessera/ops/collectives/collectives.h"

namespace tessera::interchange::foreign {

Values ragged_all_to_all(OpReader& reader) {
  expect_count(reader, 6);
  for (const char* about : {"api_version", "has_side_effect", "operand_layouts", "result_layouts",
                            "output_operand_aliases"})
    reader.text.take(about);
  TextAttr::Entries config;
  for (const char* name : {"backend_config", "mhlo.backend_config"})
    if (const TextAttr* attribute = reader.text.take(name))
      if (const auto* record = attribute->get<TextAttr::Record>()) config = record->entries;
  // The names under which the collectives of StableHLO have the entries.
  for (auto& [name, value] : config)
    reader.text.attributes.emplace_back(name == "channel_id" ? "channel_handle" : name,
                                        std::move(value));
  const formats::WrittenGroups written = formats::read_groups("replica_groups", reader);
  formats::check_partition(written, reader);
  formats::AxesAndGroups at = formats::find_axes(written.mesh, written.groups);
  return reader.insert(
      ragged_all_to_all_op,
      RaggedAllToAllParams{written.mesh, std::move(at.axes), std::move(at.groups)},
      reader.operands);
}

}  // namespace tessera::interchange::foreign
