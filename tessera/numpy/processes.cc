#include "tessera/numpy/processes.h"

#include <functional>

#include "tessera/cluster/joint_step.h"
#include "tessera/compile/place.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/local_data.h"
#include "tessera/numpy/placement.h"
#include "tessera/runtime/device_array.h"

namespace tessera {

using namespace runtime;

namespace internal {
namespace {

std::string leaf_name(const ProcessLeaf& leaf) {
  return leaf.path.empty() ? "the array" : fmt::format("leaf '{}'", leaf.path);
}

// Returns whether this process holds the whole array, which is its own or replicated over
// processes.
bool is_here(const Array& x) {
  if (is_fully_addressable(x)) return true;
  const DeviceData* data = device_data(*x.data());
  return data && data->layout()->holders.empty();
}

// The message of one process about its leaves: a description that must be the same in all
// processes, and bytes.
struct Message {
  std::string description;  // one line for each leaf
  std::string bytes;

  std::string packed() const {
    return fmt::format("{:016x}{}{}", description.size(), description, bytes);
  }
  static Message unpacked(const std::string& text) {
    const size_t size = std::stoull(text.substr(0, 16), nullptr, 16);
    return {text.substr(16, size), text.substr(16 + size)};
  }
};

void append(std::string& bytes, const Literal& literal) {
  bytes.append(reinterpret_cast<const char*>(literal.raw()), static_cast<size_t>(literal.bytes()));
}

// Returns the type of a leaf. Throws UserError if it is traced.
const Type& type_of_data(std::string_view op, const ProcessLeaf& leaf) {
  if (leaf.array.is_tracer())
    trace_error(op, "expected {} to have data, got the traced {}; call it outside of jit",
                leaf_name(leaf), describe(leaf.array.type()));
  return leaf.array.type();
}

// Runs one step of all processes: each sends its `part()`. Returns the parts of all of them, in
// every process.
std::vector<Message> tell(std::string_view op, const std::function<Message()>& part) {
  std::vector<Message> out;
  std::vector<std::string> descriptions;
  for (const std::string& text :
       cluster::joint_step([op] { return std::string(op); }, [&] { return part().packed(); })) {
    out.push_back(Message::unpacked(text));
    descriptions.push_back(out.back().description);
  }
  if (const auto different = cluster::different_line(descriptions))
    shape_error(op,
                "expected the same arrays in all processes, got {} in process 0 and {} in process "
                "{}; give all the same structure, shapes and dtypes (pad what differs, and gather "
                "its size too)",
                different->first, different->other, different->process);
  return out;
}

// Reads the next literal of a message's bytes and advances `at`.
Literal take(const Type& type, const std::string& bytes, size_t& at) {
  Literal out(type.dtype, type.shape);
  const auto size = static_cast<size_t>(out.bytes());
  if (size > 0) std::memcpy(out.mutable_raw(), bytes.data() + at, size);
  at += size;
  return out;
}

Array stacked(const Type& type, bool tiled, const std::vector<Message>& messages, size_t& at) {
  const auto processes = static_cast<int64_t>(messages.size());
  Shape shape = type.shape;
  // As in JAX, a single process leaves a tiled scalar as it is.
  if (!tiled || (shape.empty() && processes > 1)) {
    shape.insert(shape.begin(), processes);
  } else if (!shape.empty()) {
    shape[0] *= processes;
  }
  Literal out(type.dtype, shape);
  const auto size = static_cast<size_t>(type.elements() * itemsize(type.dtype));
  for (size_t p = 0; size > 0 && p < messages.size(); ++p)
    std::memcpy(out.mutable_raw() + p * size, messages[p].bytes.data() + at, size);
  at += size;
  return Array(std::move(out));
}

}  // namespace

std::vector<Array> process_allgather(const std::vector<ProcessLeaf>& leaves, bool tiled) {
  constexpr std::string_view kOp = "process_allgather";
  const std::vector<Message> messages = tell(kOp, [&] {
    Message out;
    for (const ProcessLeaf& leaf : leaves) {
      const Type& type = type_of_data(kOp, leaf);
      if (is_fully_addressable(leaf.array)) {
        const Literal data = local_literal(leaf.array);
        out.description += fmt::format("{} {} of its own\n", leaf_name(leaf), describe(type));
        append(out.bytes, data);
        continue;
      }
      if (!tiled)
        value_error(kOp,
                    "expected tiled = true for {}, got false for {} over several processes ({}), "
                    "which is one array and not stacked by process; call process_allgather(x, "
                    "/*tiled=*/true)",
                    leaf_name(leaf), describe(type), leaf.array.sharding());
      out.description +=
          fmt::format("{} {} on {}\n", leaf_name(leaf), describe(type), leaf.array.sharding());
      if (const DeviceData* data = device_data(*leaf.array.data())) data->check_alive();
    }
    return out;
  });
  std::vector<Array> out;
  size_t at = 0;
  for (const ProcessLeaf& leaf : leaves) {
    if (is_fully_addressable(leaf.array)) {
      out.push_back(stacked(leaf.array.type(), tiled, messages, at));
    } else if (device_data(*leaf.array.data())) {
      out.emplace_back(gather_literal(*compile::in_memory(leaf.array)));
    } else {
      out.emplace_back(leaf.array.to_host());
    }
  }
  return out;
}

std::vector<Array> broadcast_one_to_all(const std::vector<ProcessLeaf>& leaves,
                                        std::optional<bool> is_source) {
  constexpr std::string_view kOp = "broadcast_one_to_all";
  const bool source = is_source.value_or(process_index() == 0);
  const std::vector<Message> messages = tell(kOp, [&] {
    Message out{{}, source ? "s" : ""};
    for (const ProcessLeaf& leaf : leaves) {
      const Type& type = type_of_data(kOp, leaf);
      if (!is_here(leaf.array))
        value_error(kOp,
                    "expected {} to be of each process itself, got {} over several processes ({}), "
                    "which all have already; gather it with process_allgather(x, /*tiled=*/true)",
                    leaf_name(leaf), describe(type), leaf.array.sharding());
      out.description += fmt::format("{} {}\n", leaf_name(leaf), describe(type));
      if (source) append(out.bytes, local_literal(leaf.array));
    }
    return out;
  });
  std::vector<size_t> sources;
  for (size_t p = 0; p < messages.size(); ++p)
    if (!messages[p].bytes.empty()) sources.push_back(p);
  if (sources.size() != 1)
    value_error(kOp,
                "expected one process to be the source, got {}; pass is_source = true in one "
                "process, or nothing in all of them",
                sources.empty() ? std::string("none")
                                : fmt::format("processes {}", fmt::join(sources, ", ")));
  std::vector<Array> out;
  size_t at = 1;
  for (const ProcessLeaf& leaf : leaves)
    out.emplace_back(take(leaf.array.type(), messages[sources[0]].bytes, at));
  return out;
}

void assert_equal(const std::vector<ProcessLeaf>& leaves, std::string_view message) {
  constexpr std::string_view kOp = "assert_equal";
  const std::vector<Message> messages = tell(kOp, [&] {
    Message out;
    for (const ProcessLeaf& leaf : leaves) {
      const Type& type = type_of_data(kOp, leaf);
      if (!is_here(leaf.array))
        value_error(kOp,
                    "expected {} to be in each process as a whole, got {} over several processes "
                    "({}), of which there is only one; compare what each process has of its own",
                    leaf_name(leaf), describe(type), leaf.array.sharding());
      out.description += fmt::format("{} {}\n", leaf_name(leaf), describe(type));
      std::string bytes;
      append(bytes, local_literal(leaf.array));
      out.bytes += fmt::format("{:016x}", std::hash<std::string>()(bytes));
    }
    return out;
  });
  for (size_t p = 1; p < messages.size(); ++p)
    for (size_t l = 0; l < leaves.size(); ++l)
      if (messages[p].bytes.compare(16 * l, 16, messages[0].bytes, 16 * l, 16) != 0)
        value_error(kOp,
                    "expected {} to be the same in all processes, got other values of {} in "
                    "process {} than in process 0{}{}; broadcast_one_to_all(x) makes them the same",
                    leaf_name(leaves[l]), describe(leaves[l].array.type()), p,
                    message.empty() ? "" : ": ", message);
}

}  // namespace internal

Array process_allgather(const Array& x, bool tiled) {
  return internal::process_allgather({{"", x}}, tiled)[0];
}
Array broadcast_one_to_all(const Array& x, std::optional<bool> is_source) {
  return internal::broadcast_one_to_all({{"", x}}, is_source)[0];
}
void assert_equal(const Array& x, std::string_view message) {
  internal::assert_equal({{"", x}}, message);
}

void sync_global_devices(std::string_view name) {
  constexpr std::string_view kOp = "sync_global_devices";
  const std::vector<std::string> names =
      cluster::joint_step([kOp] { return std::string(kOp); }, [&] { return std::string(name); });
  for (size_t p = 1; p < names.size(); ++p)
    if (names[p] != names[0])
      value_error(kOp,
                  "expected one name in all processes, got '{}' in process 0 and '{}' in process "
                  "{}; they must come to the same places of the program in the same order",
                  names[0], names[p], p);
}

}  // namespace tessera
