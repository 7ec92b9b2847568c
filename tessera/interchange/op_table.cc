#include "tessera/interchange/op_table.h"

#include <map>

#include "tessera/interchange/foreign/foreign.h"

namespace tessera::interchange {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // dialect, name

Key key_of(std::string_view name) {
  const size_t dot = name.find('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

struct Table {
  std::map<Key, OpRow> rows;
  std::map<std::string_view, const OpRow*> vhlo;  // by the name in VHLO
  std::vector<std::string> names;                 // storage of names that are made here
};

Table make_table() {
  Table out;
  const auto add = [&](const OpRow& row) {
    const auto [it, added] = out.rows.emplace(key_of(row.name), row);
    TESSERA_CHECK(added, "two rows for {}", row.name);
    if (row.vhlo[0].number == 0) return;
    const bool first = out.vhlo.emplace(it->first.second, &it->second).second;
    TESSERA_CHECK(first, "two rows for vhlo.{}", it->first.second);
  };
  for (const OpRow& row : stablehlo_rows()) add(row);
  for (const OpRow& row : other_rows()) add(row);
  for (const std::string& target : foreign::lapack_targets())
    out.names.push_back("custom_call." + target);
  for (const std::string& name : out.names) add({.name = name, .build = foreign::lapack_call});
  return out;
}

const Table& table() {
  static const Table& instance = *new Table(make_table());
  return instance;
}

const OpRow& no_row() {
  static const OpRow row{};
  return row;
}

}  // namespace

const OpRow& row_of(std::string_view dialect, std::string_view name) {
  const auto it = table().rows.find({dialect, name});
  return it == table().rows.end() ? no_row() : it->second;
}

const OpRow& vhlo_row_of(std::string_view name) {
  const auto it = table().vhlo.find(name);
  return it == table().vhlo.end() ? no_row() : *it->second;
}

ReadAs read_as(std::string_view dialect, std::string_view name) {
  const OpRow& row = row_of(dialect, name);
  return {row, row.build ? nullptr : find_op(dialect, name)};
}

OpParams read_params(const OpDef& def, OpReader& reader) {
  const auto read = format_of(def).read;
  return read ? read(def, reader) : reader.read_fields(def);
}

}  // namespace tessera::interchange
