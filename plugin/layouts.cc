#include "plugin/layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

PJRT_Layouts_MemoryLayout row_major(int64_t rank) {
  std::vector<int64_t> minor_to_major(static_cast<size_t>(rank));
  std::iota(minor_to_major.rbegin(), minor_to_major.rend(), 0);
  return {fmt::format("{{{}}}", fmt::join(minor_to_major, ","))};
}

PJRT_Layouts_MemoryLayout* new_row_major(size_t rank) {
  return new PJRT_Layouts_MemoryLayout(row_major(static_cast<int64_t>(rank)));
}

void hand_out(const MemoryLayouts& layouts, size_t& size, PJRT_Layouts_MemoryLayout**& data) {
  size = layouts.size();
  data = layouts.data();
}

}  // namespace

MemoryLayouts::MemoryLayouts(const std::vector<int64_t>& ranks) {
  for (int64_t rank : ranks) layouts_.push_back(row_major(rank));
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
    return guarded([&] { a->layout = new_row_major(a->buffer->dims.size()); });
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
