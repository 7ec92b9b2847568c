#include "plugin/execute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "plugin/compile.h"
#include "plugin/error.h"
#include "plugin/event.h"
#include "tessera/compile/place.h"
#include "tessera/runtime/array_layout.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/device_array.h"

namespace tessera::plugin {
namespace {

using runtime::ArrayLayout;
using runtime::DeviceArray;
using runtime::DeviceArrayRef;

// The arguments of a run. While it lives, memory that another thread deletes is kept, and donated
// buffers have no memory.
class Arguments {
 public:
  explicit Arguments(const PJRT_LoadedExecutable_Execute_Args& a)
      : program_(*a.executable->executable),
        partitions_(a.executable->partitions),
        lists_(a.argument_lists),
        donated_(program_.donated.begin(), program_.donated.end()) {
    for (size_t k = 0; k < a.options->num_non_donatable_input_indices; ++k)
      donated_.at(static_cast<size_t>(a.options->non_donatable_input_indices[k])) = 0;
    for (size_t i = 0; i < donated_.size(); ++i) arrays_.push_back(assemble(i));
    expect_donated_once();
    for (size_t i = 0; i < donated_.size(); ++i)
      if (donated_[i]) take(i);
  }
  // Gives donated buffers their memory back if the run did not end.
  ~Arguments() {
    for (Taken& taken : taken_) {
      const bool lost = done_ || (!taken.memory && arrays_[taken.argument]->is_deleted());
      taken.buffer->deleted = lost;
      if (lost) taken.buffer->packed.clear();
      if (!lost)
        taken.buffer->memory = taken.memory ? taken.memory : arrays_[taken.argument]->buffer();
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  std::vector<DeviceArrayRef> run() {
    std::vector<const runtime::DeviceData*> inputs;
    for (const DeviceArrayRef& array : arrays_) inputs.push_back(array.get());
    std::vector<DeviceArrayRef> results;
    for (const Array& result : program_.program->run(inputs, donated_))
      results.push_back(compile::in_memory(result));
    done_ = true;
    return results;
  }
  // Returns whether a result in this memory must be copied: the memory contains an argument that is
  // not donated, is the host's, or is that of one of an argument's parts.
  bool holds(const Buffer& memory) const {
    return std::find(held_.begin(), held_.end(), memory) != held_.end();
  }

 private:
  struct Taken {
    PJRT_Buffer* buffer;
    size_t argument;
    Buffer memory;  // null if the array has it
  };

  PJRT_Buffer& buffer(size_t device, size_t i) const { return *lists_[device][i]; }

  // Returns argument i as one array, whose instances are in the partitions' buffers.
  DeviceArrayRef assemble(size_t i) {
    const runtime::ArrayLayoutRef& layout = program_.program->input_layout(i);
    const Shape& shape = program_.input_shapes[i];
    std::vector<int64_t> offsets(static_cast<size_t>(layout->held_count()), kNotSeen);
    const PJRT_Buffer& first = buffer(0, i);
    bool dense = true;      // parts are contiguous, in order
    bool together = true;   // all parts are in the memory of the first one
    bool borrowed = false;  // the memory must not be written
    for (size_t p = 0; p < partitions_.size(); ++p)
      if (donated_[i] && buffer(p, i).referred()) donated_[i] = 0;  // as XLA's CPU backend does
    for (size_t p = 0; p < partitions_.size(); ++p) {
      const PJRT_Buffer& part = buffer(p, i);
      if (part.dtype != layout->dtype || part.shape != shape)
        invalid(
            fmt::format("[execute] expected argument {} on a device to be {}, got {}; put it there "
                        "with device_put",
                        i, describe(ir::Type{.dtype = layout->dtype, .shape = shape}),
                        describe(ir::Type{.dtype = part.dtype, .shape = part.shape})));
      if (part.minor_to_major != program_.input_orders[i])
        invalid(fmt::format(
            "[execute] expected argument {} on a device to have its dimensions in the order {{{}}} "
            "in memory, got {{{}}}; put it there with device_put(x, compiled.input_formats), or "
            "name its format in in_shardings",
            i, fmt::join(program_.input_orders[i], ","), fmt::join(part.minor_to_major, ",")));
      const auto k =
          static_cast<size_t>(layout->held_index(program_.input_instances[i][partitions_[p]]));
      // If equal parts have memories of their own, the first one is read.
      if (offsets[k] == kNotSeen) offsets[k] = part.data() - first.memory.data();
      together = together && part.memory == first.memory;
      dense = dense && together && part.offset == static_cast<int64_t>(k) * layout->local_bytes;
      borrowed |= part.borrowed;
      if (!donated_[i] || part.borrowed) held_.push_back(part.memory);
    }
    if (!dense || borrowed) donated_[i] = donated_[i] ? kOnlyDeleted : 0;
    // If the parts have several memories, the array owns only the first part's. A result in that
    // memory is copied (holds()).
    if (!together) held_.push_back(first.memory);
    runtime::InstanceOffsets where;
    where.stride = layout->local_bytes;
    if (!dense && layout->held_count() == 1) where.offset = offsets[0];
    if (!dense && layout->held_count() > 1)
      where.table = std::make_shared<const std::vector<int64_t>>(std::move(offsets));
    return std::make_shared<const DeviceArray>(device_array_type(*layout, false), layout,
                                               first.memory, std::move(where),
                                               together ? &first.packed : nullptr);
  }

  void expect_donated_once() const {
    std::vector<const PJRT_Buffer*> all, once;
    for (size_t i = 0; i < donated_.size(); ++i) {
      all.push_back(&buffer(0, i));
      if (donated_[i]) once.push_back(all.back());
    }
    for (const PJRT_Buffer* one : once)
      if (std::count(all.begin(), all.end(), one) > 1)
        invalid(
            "[execute] expected a donated argument to be donated once and not to be another "
            "argument too, got an attempt to donate the same buffer twice; pass a copy");
  }

  // Takes the memory from the buffers: the array must be the only owner of memory that may be
  // overwritten.
  void take(size_t i) {
    const bool only_deleted = donated_[i] == kOnlyDeleted;
    for (size_t p = 0; p < partitions_.size(); ++p) {
      PJRT_Buffer& part = buffer(p, i);
      Taken& taken = taken_.emplace_back(Taken{&part, i, {}});
      if (only_deleted) {
        taken.memory = std::move(part.memory);
      } else {
        part.memory = {};
      }
    }
    if (only_deleted) donated_[i] = 0;
  }

  static constexpr uint8_t kOnlyDeleted = 2;
  static constexpr int64_t kNotSeen = std::numeric_limits<int64_t>::min();

  const PJRT_Executable& program_;
  const std::vector<size_t>& partitions_;  // of this process
  PJRT_Buffer* const* const* lists_;
  std::vector<uint8_t> donated_;
  std::vector<DeviceArrayRef> arrays_;
  std::vector<Buffer> held_;
  std::vector<Taken> taken_;
  bool done_ = false;
};

// Returns an array like this one in memory of its own, and appends the copies that fill it.
DeviceArrayRef copy_of(const DeviceArray& array, std::vector<runtime::RegionCopy>& copies) {
  const ArrayLayout& layout = *array.layout();
  Buffer memory = Buffer::allocate(std::max<int64_t>(1, layout.held_count() * layout.local_bytes));
  for (int64_t k = 0; k < layout.held_count(); ++k)
    copies.push_back({runtime::make_copy_pattern({layout.local_bytes}, {1}, {1}, 1),
                      memory.data() + k * layout.local_bytes, array.instance(layout.number(k))});
  runtime::InstanceOffsets where;
  where.stride = layout.local_bytes;
  return std::make_shared<const DeviceArray>(device_array_type(layout, false), array.layout(),
                                             std::move(memory), std::move(where));
}

}  // namespace

void execute(PJRT_LoadedExecutable_Execute_Args& a) {
  if (a.executable->deleted)
    invalid("[execute] expected an existing program, got a deleted one; compile it again");
  const PJRT_Executable& e = *a.executable->executable;
  const std::vector<size_t>& partitions = a.executable->partitions;
  if (a.num_devices != partitions.size() || partitions.empty())
    invalid(
        fmt::format("[execute] expected arguments for the {} devices of this process, at least for "
                    "one, got them for {}",
                    partitions.size(), a.num_devices));
  if (a.num_args != e.program->num_inputs())
    invalid(fmt::format("[execute] expected {} arguments, got {}", e.program->num_inputs(),
                        a.num_args));
  Arguments arguments(a);
  std::vector<DeviceArrayRef> outputs = arguments.run();
  std::vector<runtime::RegionCopy> copies;
  for (size_t r = 0; r < outputs.size(); ++r) {
    const Buffer& memory = outputs[r]->buffer();
    const bool seen = std::any_of(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(r),
                                  [&](const auto& other) { return other->buffer() == memory; });
    if (seen || arguments.holds(memory)) outputs[r] = copy_of(*outputs[r], copies);
  }
  run_copies(copies);
  for (size_t p = 0; p < partitions.size(); ++p) {
    for (size_t r = 0; r < outputs.size(); ++r) {
      const DeviceArray& array = *outputs[r];
      const int64_t held = array.layout()->held_index(e.output_instances[r][partitions[p]]);
      a.output_lists[p][r] =
          new_buffer(a.executable->addressable[p]->memory(e.output_kinds[r]), e.output_dtypes[r],
                     e.output_shapes[r], array.buffer(), array.offsets().at(held));
      a.output_lists[p][r]->minor_to_major = e.output_orders[r];
    }
    if (a.device_complete_events) a.device_complete_events[p] = ready_event();
  }
}

}  // namespace tessera::plugin
