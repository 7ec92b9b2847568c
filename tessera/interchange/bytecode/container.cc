#include "tessera/interchange/bytecode/container.h"

#include <algorithm>
#include <array>

#include "tessera/ir/format.h"

namespace tessera::interchange::bytecode {
namespace {

constexpr std::string_view kMagic = "ML\xefR";
constexpr uint64_t kMaxVersion = 6;
constexpr int kMaxDepth = 100;

enum SectionId : uint8_t {
  kStrings,
  kDialects,
  kAttrTypes,
  kAttrTypeOffsets,
  kIr,
  kResources,
  kResourceOffsets,
  kDialectVersions,
  kProperties,
  kNumSections,
};

// The versions of the format that introduce: versions of dialects; isolated regions as sections;
// orders of uses; arguments without locations; a flag for registered ops, and properties.
constexpr uint64_t kDialectVersion = 1, kLazyRegions = 2, kUseOrders = 3, kShortArguments = 4,
                   kPropertiesVersion = 5;

// The bits of an op's mask, one for each optional part that the op has.
enum OpMask : uint8_t {
  kHasAttributes = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseOrders = 32,
  kHasProperties = 64,
};

struct SectionHead {
  uint8_t id;
  ByteReader content;
};

SectionHead read_section(ByteReader& in) {
  const uint8_t head = in.byte();
  const size_t size = static_cast<size_t>(in.varint());
  if (head & 0x80) in.align(in.varint());
  const size_t begin = in.position();
  in.bytes(size);
  return {static_cast<uint8_t>(head & 0x7f), ByteReader(in.file(), begin, in.position())};
}

}  // namespace

bool has_magic(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

Container::Container(const File& file) : file_(file) {
  ByteReader in(file, 0, file.bytes.size());
  if (!has_magic(file.bytes)) in.error("expected MLIR bytecode, which begins with 'ML\\xefR'");
  in.bytes(kMagic.size());
  version = in.varint();
  if (version > kMaxVersion)
    in.error(
        fmt::format("expected bytecode of a version up to {}, got {}; write it for an older "
                    "version of StableHLO",
                    kMaxVersion, version));
  producer = in.zero_terminated();
  std::array<Section, kNumSections> sections;
  while (!in.done()) {
    const size_t at = in.position();
    const SectionHead section = read_section(in);
    if (section.id >= kNumSections || sections[section.id])
      file.error(at, fmt::format("expected each of the sections 0 to {} once, got section {}",
                                 kNumSections - 1, section.id));
    sections[section.id] = section.content;
  }
  for (const SectionId id : {kStrings, kDialects, kAttrTypes, kAttrTypeOffsets, kIr})
    if (!sections[id]) in.error(fmt::format("expected a section {}, got none", int{id}));
  read_strings(*sections[kStrings]);
  read_dialects(*sections[kDialects]);
  read_entries(*sections[kAttrTypeOffsets], *sections[kAttrTypes]);
  if (sections[kResourceOffsets]) read_resources(*sections[kResourceOffsets], sections[kResources]);
  if (sections[kProperties]) read_properties(*sections[kProperties]);
  read_block(*sections[kIr], top, 0);
}

// The section has the lengths of all strings, each with a zero byte, starting with the last string;
// then the strings.
void Container::read_strings(ByteReader in) {
  const size_t n = in.count("strings");
  std::vector<uint64_t> sizes(n);
  for (size_t i = n; i-- > 0;) {
    sizes[i] = in.varint();
    if (sizes[i] == 0) in.error("expected strings that end in a zero byte, got an empty one");
  }
  for (const uint64_t size : sizes) {
    const std::string_view text = in.bytes(static_cast<size_t>(std::min<uint64_t>(size, SIZE_MAX)));
    strings.push_back(text.substr(0, text.size() - 1));
  }
}

void Container::read_dialects(ByteReader in) {
  const size_t n = in.count("dialects");
  for (size_t i = 0; i < n; ++i) {
    bool versioned = false;
    const size_t at = in.position();
    const uint64_t name = version < kDialectVersion ? in.varint() : in.flagged(versioned);
    if (name >= strings.size()) file_.error(at, "expected the number of a string");
    dialects.push_back(strings[name]);
    if (versioned) read_section(in);
  }
  if (version >= kShortArguments) in.varint();  // the number of all names
  while (!in.done()) {
    const std::string_view dialect = dialects[in.index(dialects.size(), "a dialect")];
    for (size_t left = in.count("names of ops"); left > 0; --left) {
      bool registered = false;
      const size_t at = in.position();
      const uint64_t name = version < kPropertiesVersion ? in.varint() : in.flagged(registered);
      if (name >= strings.size()) file_.error(at, "expected the number of a string");
      op_names.push_back({dialect, strings[name]});
    }
  }
}

void Container::read_entries(ByteReader offsets, ByteReader data) {
  const size_t num_attributes = offsets.count("attributes"), num_types = offsets.count("types");
  for (auto [entries, total] :
       {std::pair(&attributes, num_attributes), std::pair(&types, num_types)}) {
    while (entries->size() < total) {
      const std::string_view dialect = dialects[offsets.index(dialects.size(), "a dialect")];
      const size_t n = offsets.count("entries");
      if (n == 0 || n > total - entries->size())
        offsets.error(fmt::format("expected 1 to {} entries, got {}", total - entries->size(), n));
      for (size_t i = 0; i < n; ++i) {
        bool encoded = false;
        const uint64_t size = offsets.flagged(encoded);
        const size_t begin = data.position();
        data.bytes(static_cast<size_t>(size));
        entries->push_back({dialect, begin, data.position(), encoded});
      }
    }
  }
}

// Reads the resources of one provider, and keeps those of dialects.
void Container::read_group(ByteReader& in, Section& data, bool keep) {
  const size_t n = in.count("resources");
  for (size_t i = 0; i < n; ++i) {
    const std::string_view key = strings[in.index(strings.size(), "a string")];
    const uint64_t size = in.varint();
    const uint8_t kind = in.byte();
    if (!data) in.error("expected a section of resources");
    const size_t begin = data->position();
    data->bytes(static_cast<size_t>(size));
    if (!keep) continue;
    resources.push_back({key, std::nullopt});
    if (kind != 0) continue;  // a bool or a string
    ByteReader content(file_, begin, data->position());
    const uint64_t alignment = content.varint(), bytes = content.varint();
    content.align(alignment);
    resources.back().blob = content.bytes(static_cast<size_t>(bytes));
  }
}

void Container::read_resources(ByteReader offsets, Section data) {
  for (size_t left = offsets.count("groups"); left > 0; --left) {
    offsets.index(strings.size(), "a string");
    read_group(offsets, data, false);
  }
  while (!offsets.done()) {
    offsets.index(dialects.size(), "a dialect");
    read_group(offsets, data, true);
  }
}

void Container::read_properties(ByteReader in) {
  const size_t n = in.count("properties");
  for (size_t i = 0; i < n; ++i) {
    const uint64_t size = in.varint();
    const size_t begin = in.position();
    in.bytes(static_cast<size_t>(size));
    properties.emplace_back(begin, in.position());
  }
}

// Skips the orders in which values are used, which have no meaning here.
void Container::skip_use_orders(ByteReader& in, size_t results) {
  const size_t n = results > 1 ? in.count("orders of uses") : 1;
  for (size_t i = 0; i < n; ++i) {
    if (results > 1) in.varint();
    bool pairs = false;
    const uint64_t size = in.flagged(pairs);
    if (size > in.remaining()) in.error("expected fewer uses in what is left");
    for (uint64_t k = 0; k < size; ++k) in.varint();
  }
}

void Container::read_block(ByteReader& in, RawRegion& region, int depth) {
  bool has_arguments = false;
  const size_t at = in.position();
  const uint64_t num_ops = in.flagged(has_arguments);
  if (num_ops > in.remaining())
    file_.error(at, fmt::format("expected at most {} ops in what is left, got {}", in.remaining(),
                                num_ops));
  if (has_arguments) {
    const size_t n = in.count("arguments");
    for (size_t i = 0; i < n; ++i) {
      bool has_location = true;
      const uint64_t type = version < kShortArguments ? in.varint() : in.flagged(has_location);
      if (has_location) in.index(attributes.size(), "a location");
      if (type >= types.size()) in.error("expected the number of a type");
      region.arguments.push_back(static_cast<size_t>(type));
    }
    if (version >= kUseOrders && in.byte() != 0) skip_use_orders(in, n);
  }
  for (uint64_t i = 0; i < num_ops; ++i) region.ops.push_back(read_op(in, depth));
}

RawOp Container::read_op(ByteReader& in, int depth) {
  RawOp op{.offset = in.position()};
  op.name = in.index(op_names.size(), "an op's name");
  const uint8_t mask = in.byte();
  op.location = in.index(attributes.size(), "a location");
  if (mask & kHasAttributes) op.attributes = in.index(attributes.size(), "an attribute");
  if (mask & kHasProperties) op.properties = in.index(properties.size(), "an op's properties");
  const auto list = [&](size_t limit, const char* what) {
    std::vector<size_t> out(in.count(what));
    for (size_t& one : out) one = in.index(limit, what);
    return out;
  };
  if (mask & kHasResults) op.results = list(types.size(), "types of results");
  if (mask & kHasOperands) op.operands = list(SIZE_MAX, "operands");
  if (mask & kHasSuccessors) in.error("expected ops without successors: control flow in regions");
  if (mask & kHasUseOrders) skip_use_orders(in, op.results.size());
  if (mask & kHasRegions) read_regions(in, op, depth);
  return op;
}

void Container::read_regions(ByteReader& in, RawOp& op, int depth) {
  if (depth >= kMaxDepth) in.error(fmt::format("expected at most {} levels of regions", kMaxDepth));
  bool isolated = false;
  const uint64_t n = in.flagged(isolated);
  if (n > in.remaining()) in.error("expected fewer regions in what is left");
  // All regions of an isolated op form one section, so that they can be skipped.
  std::optional<SectionHead> section;
  if (isolated && version >= kLazyRegions) section = read_section(in);
  if (section && section->id != kIr) in.error("expected regions in a section of ops");
  for (uint64_t r = 0; r < n; ++r) {
    RawRegion& region = op.regions.emplace_back();
    region.isolated = isolated;
    read_region(section ? section->content : in, region, depth);
  }
}

void Container::read_region(ByteReader& in, RawRegion& region, int depth) {
  region.offset = in.position();
  const uint64_t blocks = in.varint();
  if (blocks == 0) return;
  if (blocks > 1)
    file_.error(region.offset, fmt::format("expected regions of one block, got {} blocks", blocks));
  region.num_values = in.count("values");
  read_block(in, region, depth + 1);
}

}  // namespace tessera::interchange::bytecode
