// PJRT's extension for memory layouts: every array is dense, with its dimensions in any order. With
// it, jaxlib need not parse the text of a program for the layouts of its arguments and results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

struct PJRT_Layouts_MemoryLayout {
  // XLA's text of a layout: the dimensions, the contiguous one first, such as "{1,0}".
  std::string text;
};

namespace tessera::plugin {

// The dimensions of an array in memory order, innermost first.
using MinorToMajor = std::vector<int64_t>;

// Returns the order with the last dimension innermost.
MinorToMajor row_major(int64_t rank);

// Returns the order of a layout with `rank` dimensions; null: row-major. Throws ApiError for
// strides, tiles, and dimensions that are not an order.
MinorToMajor order_of(int64_t rank, const PJRT_Buffer_MemoryLayout* layout);

// The layouts of a compiled program's arguments, or of its results.
class MemoryLayouts {
 public:
  explicit MemoryLayouts(const std::vector<MinorToMajor>& orders);
  MemoryLayouts(const MemoryLayouts&) = delete;
  MemoryLayouts& operator=(const MemoryLayouts&) = delete;

  size_t size() const { return handles_.size(); }
  // Returns the handles. The API passes them on, and its callers do not destroy them.
  PJRT_Layouts_MemoryLayout** data() const { return handles_.data(); }

 private:
  std::vector<PJRT_Layouts_MemoryLayout> layouts_;
  mutable std::vector<PJRT_Layouts_MemoryLayout*> handles_;
};

// Returns the extension, which `next` follows in the list of extensions.
PJRT_Layouts_Extension make_layouts_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin
