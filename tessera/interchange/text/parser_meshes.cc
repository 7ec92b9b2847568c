// Meshes of the parser: sdy.mesh in pretty and in generic form.
#include <algorithm>
#include <numeric>

#include "tessera/interchange/text/parser_internal.h"

namespace tessera::interchange {

Mesh Parser::read_mesh(const std::string& name) {
  const SymbolText& text = mesh_texts_[name];
  const size_t resume = position();
  jump(text.offset);
  Mesh mesh = text.generic ? parse_generic_mesh() : parse_mesh();
  jump(resume);
  return mesh;
}

void Parser::parse_mesh_item() {
  expect(TokenKind::kSymbol, "the name of the mesh");
  parse_mesh();
  skip_location(nullptr);
}

// = <["x"=2, "y"=4], device_ids=[...]> {...}
Mesh Parser::parse_mesh() {
  const size_t offset = position();
  accept("=");
  MeshParts parts = parse_mesh_parts();
  return make_mesh(std::move(parts), accept("{") ? parse_dictionary() : TextAttr::Entries(),
                   offset);
}

// () <{mesh = #sdy.mesh<...>, sym_name = "mesh"}> {...} : () -> ()
Mesh Parser::parse_generic_mesh() {
  const size_t offset = position();
  expect("(");
  expect(")");
  std::optional<MeshParts> parts;
  TextAttr::Entries extra;
  const auto parse_entries = [&] {
    expect("{");
    while (!accept("}")) {
      const Token key = expect(TokenKind::kWord, "mesh or sym_name");
      if (key.text == "mesh") {
        expect("=");
        if (peek().kind != TokenKind::kHash || peek().text != "sdy.mesh")
          expected("#sdy.mesh<...>");
        next();
        parts = parse_mesh_parts();
      } else {
        extra.emplace_back(key.text,
                           accept("=") ? parse_attribute(false) : TextAttr(TextAttr::Unit{}));
      }
      if (!is_next("}")) expect(",");
    }
  };
  if (accept("<")) {
    parse_entries();
    expect(">");
  }
  if (is_next("{")) parse_entries();
  const std::optional<Mesh> stablehlo = stablehlo_mesh(extra, offset);
  if (!parts && !stablehlo) lexer_.error(offset, "expected the attribute 'mesh'");
  expect(":");
  parse_type_list();
  expect("->");
  parse_type_list();
  skip_location(nullptr);
  return parts ? make_mesh(std::move(*parts), extra, offset) : *stablehlo;
}

Parser::MeshParts Parser::parse_mesh_parts() {
  MeshParts parts;
  expect("<");
  expect("[");
  while (!accept("]")) {
    if (!parts.names.empty()) expect(",");
    parts.names.push_back(expect(TokenKind::kString, "the name of an axis, as \"x\"").text);
    expect("=");
    const int64_t size = parse_int();
    check_axis_size(parts, size, position());
    parts.sizes.push_back(size);
  }
  parts.ids.resize(static_cast<size_t>(parts.sizes.elements()));
  std::iota(parts.ids.begin(), parts.ids.end(), 0);
  if (accept(",")) {
    expect("device_ids");
    expect("=");
    const size_t offset = position();
    const TextAttr list = parse_attribute(true);
    const auto* array = list.get<TextAttr::Array>();
    if (!array || array->values.size() != parts.ids.size())
      lexer_.error(offset,
                   fmt::format("expected a device id for each of the {} positions of the mesh",
                               parts.ids.size()));
    parts.ids = array->values;
  }
  expect(">");
  return parts;
}

}  // namespace tessera::interchange
