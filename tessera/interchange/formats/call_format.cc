// The text of func.call: how a call of a function is printed and parsed (op_format.h). JAX's
// frontend attributes of a call are kept in its params.
#include "tessera/control/control.h"
#include "tessera/interchange/formats/formats.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange::formats {
namespace {

constexpr std::string_view kAttributes = "mhlo.frontend_attributes";

OpText write_call(const Op& op, const Function&) {
  const CallParams& p = op.params.as<CallParams>();
  OpText text;
  text.attributes = {{"callee", TextAttr(p.callee)}};
  TextAttr::Record record;
  for (size_t i = 0; i < p.frontend_attributes.size(); i += 2)
    record.entries.emplace_back(p.frontend_attributes[i], TextAttr(p.frontend_attributes[i + 1]));
  if (!record.entries.empty()) text.extra.emplace_back(kAttributes, std::move(record));
  return text;
}

OpParams read_call(const OpDef&, OpReader& reader) {
  CallParams p{std::get<FunctionRef>(
      from_text(reader.require("callee"), Attribute(FunctionRef()), "callee", reader))};
  const TextAttr* attributes = reader.text.take(kAttributes);
  if (!attributes) return p;
  const auto* record = attributes->get<TextAttr::Record>();
  if (!record) reader.error(fmt::format("expected '{}' to be a dictionary", kAttributes));
  for (const auto& [name, value] : record->entries) {
    const auto* text = value.get<std::string>();
    if (!text)
      reader.error(
          fmt::format("expected the values of '{}' to be strings, got another for '{}'; write "
                      "{} = \"...\"",
                      kAttributes, name, name));
    p.frontend_attributes.insert(p.frontend_attributes.end(), {name, *text});
  }
  return p;
}

}  // namespace

OpFormat call() {
  return {.assembly = "{callee}({operands})", .write = write_call, .read = read_call};
}

}  // namespace tessera::interchange::formats
