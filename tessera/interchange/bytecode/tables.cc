#include "tessera/interchange/bytecode/tables.h"

#include <algorithm>

namespace tessera::interchange::bytecode {

size_t Tables::string(std::string_view text) {
  const auto [it, is_new] = string_numbers_.emplace(std::string(text), strings_.size());
  if (is_new) strings_.emplace_back(text);
  return it->second;
}

size_t Tables::dialect(std::string_view name) {
  for (size_t i = 0; i < dialects_.size(); ++i)
    if (dialects_[i].first == name) return i;
  dialects_.emplace_back(name, string(name));
  return dialects_.size() - 1;
}

size_t Tables::op(std::string_view dialect, std::string_view name) {
  const std::pair<size_t, size_t> key(this->dialect(dialect), string(name));
  const auto it = std::find(ops_.begin(), ops_.end(), key);
  if (it != ops_.end()) return static_cast<size_t>(it - ops_.begin());
  ops_.push_back(key);
  return ops_.size() - 1;
}

size_t Tables::add(Entries& entries, size_t dialect, const std::string& encoding) {
  const auto [it, is_new] =
      entries.numbers.emplace(std::pair(dialect, encoding), entries.list.size());
  if (is_new) entries.list.emplace_back(dialect, encoding);
  return it->second;
}

size_t Tables::attribute(std::string_view dialect, const ByteWriter& encoding) {
  return add(attributes_, this->dialect(dialect), encoding.bytes());
}

size_t Tables::type(std::string_view dialect, const ByteWriter& encoding) {
  return add(types_, this->dialect(dialect), encoding.bytes());
}

// Writes the entries in groups: each is a run of entries of one dialect.
void Tables::write_groups(const Entries& entries, ByteWriter& offsets, ByteWriter& data) {
  const auto& list = entries.list;
  for (size_t begin = 0, end = 0; begin < list.size(); begin = end) {
    while (end < list.size() && list[end].first == list[begin].first) ++end;
    offsets.varint(list[begin].first);
    offsets.varint(end - begin);
    for (size_t i = begin; i < end; ++i) {
      offsets.flagged(list[i].second.size(), true);
      data.append(list[i].second);
    }
  }
}

std::string Tables::file(uint64_t version, std::string_view producer, std::string_view ops) const {
  ByteWriter dialects, offsets, data, strings, out;
  dialects.varint(dialects_.size());
  for (const auto& [name, string] : dialects_)
    version >= 1 ? dialects.flagged(string, false) : dialects.varint(string);
  if (version >= 4) dialects.varint(ops_.size());
  for (size_t begin = 0, end = 0; begin < ops_.size(); begin = end) {
    while (end < ops_.size() && ops_[end].first == ops_[begin].first) ++end;
    dialects.varint(ops_[begin].first);
    dialects.varint(end - begin);
    for (size_t i = begin; i < end; ++i)
      version >= 5 ? dialects.flagged(ops_[i].second, true) : dialects.varint(ops_[i].second);
  }
  offsets.varint(attributes_.list.size());
  offsets.varint(types_.list.size());
  write_groups(attributes_, offsets, data);
  write_groups(types_, offsets, data);
  strings.varint(strings_.size());
  for (size_t i = strings_.size(); i-- > 0;) strings.varint(strings_[i].size() + 1);
  for (const std::string& text : strings_) strings.append(text + '\0');

  out.append("ML\xefR");
  out.varint(version);
  out.append(std::string(producer) + '\0');
  out.section(1, dialects.bytes());
  out.section(3, offsets.bytes());
  out.section(2, data.bytes());
  out.section(4, ops);
  out.section(0, strings.bytes());
  if (version >= 5) {  // no op has properties: attributes are in dictionaries
    ByteWriter none;
    none.varint(0);
    out.section(8, none.bytes());
  }
  return out.bytes();
}

}  // namespace tessera::interchange::bytecode
