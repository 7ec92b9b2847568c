#include "plugin/layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "plugin/error.h"
#include "plugin/executable.h"
#include "plugin/strings.h"

// A layout that the API returns as bytes.
struct PJRT_Layouts_SerializedLayout {
  std::string bytes;
};

namespace tessera::plugin {
namespace {

PJRT_Layouts_MemoryLayout layout_of(const MinorToMajor& order) {
  return {fmt::format("{{{}}}", fmt::join(order, ","))};
}

PJRT_Layouts_MemoryLayout* new_row_major(size_t rank) {
  return new PJRT_Layouts_MemoryLayout(layout_of(row_major(static_cast<int64_t>(rank))));
}

void hand_out(const MemoryLayouts& layouts, size_t& size, PJRT_Layouts_MemoryLayout**& data) {
  size = layouts.size();
  data = layouts.data();
}

}  // namespace

MinorToMajor row_major(int64_t rank) {
  MinorToMajor out(static_cast<size_t>(rank));
  std::iota(out.rbegin(), out.rend(), 0);
  return out;
}

MinorToMajor order_of(int64_t rank, const PJRT_Buffer_MemoryLayout* layout) {
  if (!layout) return row_major(rank);
  const auto& tiled = layout->tiled;
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides || tiled.num_tiles > 0)
    unimplemented(
        "[transfer] expected a layout that is an order of dimensions on the device, got strides or "
        "tiles; leave the layout out");
  MinorToMajor out(tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size);
  MinorToMajor sorted = out;
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted != row_major(rank))
    invalid(fmt::format(
        "[transfer] expected a layout that names each of {} dimensions once, got {{{}}}; leave the "
        "layout out",
        rank, fmt::join(out, ",")));
  return out;
}

MemoryLayouts::MemoryLayouts(const std::vector<MinorToMajor>& orders) {
  for (const MinorToMajor& order : orders) layouts_.push_back(layout_of(order));
  for (PJRT_Layouts_MemoryLayout& layout : layouts_) handles_.push_back(&layout);
}

PJRT_Layouts_Extension make_layouts_extension(PJRT_Extension_Base* next) {
  PJRT_Layouts_Extension out{};
  out.base = {PJRT_Layouts_Extension_STRUCT_SIZE, PJRT_Extension_Type_Layouts, next};
  out.PJRT_Layouts_MemoryLayout_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->layout;
    return nullptr;
  };
  out.PJRT_Layouts_MemoryLayout_Serialize = [](PJRT_Layouts_MemoryLayout_Serialize_Args* a) {
    return guarded([&] {
      auto* held = new PJRT_Layouts_SerializedLayout{a->layout->text};
      give(held->bytes, a->serialized_bytes, a->serialized_bytes_size);
      a->serialized_layout = held;
      a->serialized_layout_deleter = [](auto* layout) { delete layout; };
    });
  };
  out.PJRT_Layouts_PJRT_Client_GetDefaultLayout =
      [](PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* a) {
        return guarded([&] { a->layout = new_row_major(a->num_dims); });
      };
  out.PJRT_Layouts_PJRT_Topology_GetDefaultLayout =
      [](PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* a) {
        return guarded([&] { a->layout = new_row_major(a->num_dims); });
      };
  out.PJRT_Layouts_PJRT_Buffer_MemoryLayout = [](PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* a) {
    return guarded(
        [&] { a->layout = new PJRT_Layouts_MemoryLayout(layout_of(a->buffer->minor_to_major)); });
  };
  out.PJRT_Layouts_PJRT_Executable_GetOutputLayouts = [](auto* a) -> PJRT_Error* {
    hand_out(*a->executable->output_layouts, a->num_outputs, a->layouts);
    return nullptr;
  };
  out.PJRT_Layouts_PJRT_Executable_GetParameterLayouts = [](auto* a) -> PJRT_Error* {
    hand_out(*a->executable->input_layouts, a->num_parameters, a->layouts);
    return nullptr;
  };
  return out;
}

}  // namespace tessera::plugin
