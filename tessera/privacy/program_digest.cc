#include "tessera/privacy/program_digest.h"

#include <bit>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/privacy/digest.h"

namespace tessera::privacy::internal {

using namespace ir;

namespace {

void add_function(Digest& digest, const Function& function);

template <class Numbers>
void add_numbers(Digest& digest, const Numbers& numbers) {
  digest.add(static_cast<int64_t>(numbers.size()));
  for (auto number : numbers) digest.add(static_cast<int64_t>(number));
}

void add_type(Digest& digest, const Type& type) {
  digest.add(fmt::format("{}{}", type, type.weak ? " weak" : ""));
  digest.add(static_cast<int64_t>(type.varying.size()));
  for (const std::string& axis : type.varying) digest.add(axis);
}

void add_reference(Digest& digest, const FunctionRef& function) {
  digest.add(int64_t{function != nullptr});
  if (function) add_function(digest, *function);
}

void add_attribute(Digest& digest, const Attribute& attribute) {
  digest.add(static_cast<int64_t>(attribute.index()));
  std::visit(Overloaded{[&](bool value) { digest.add(int64_t{value}); },
                        [&](int64_t value) { digest.add(value); },
                        [&](double value) { digest.add(std::bit_cast<int64_t>(value)); },
                        [&](const std::string& value) { digest.add(value); },
                        [&](DType value) { digest.add(fmt::format("{}", value)); },
                        [&](const Dims& value) { add_numbers(digest, value); },
                        [&](const std::vector<std::string>& value) {
                          digest.add(static_cast<int64_t>(value.size()));
                          for (const std::string& text : value) digest.add(text);
                        },
                        [&](const std::vector<Dims>& value) {
                          digest.add(static_cast<int64_t>(value.size()));
                          for (const Dims& dims : value) add_numbers(digest, dims);
                        },
                        [&](const Literal& value) {
                          digest.add(fmt::format("{}{}", value.dtype(), value.shape()));
                          digest.add(std::span(value.raw(), static_cast<size_t>(value.bytes())));
                        },
                        [&](const FunctionRef& value) { add_reference(digest, value); },
                        [&](const std::vector<FunctionRef>& value) {
                          digest.add(static_cast<int64_t>(value.size()));
                          for (const FunctionRef& function : value) add_reference(digest, function);
                        },
                        // Shardings are not part of the digest.
                        [](const Mesh&) {}, [](const NamedSharding&) {},
                        [](const PartitionSpec&) {}, [](const std::vector<PartitionSpec>&) {}},
             attribute);
}

void add_function(Digest& digest, const Function& function) {
  digest.add(static_cast<int64_t>(function.types.size()));
  for (const Type& type : function.types) add_type(digest, type);
  add_numbers(digest, function.inputs);
  digest.add(static_cast<int64_t>(function.ops.size()));
  for (const Op& op : function.ops) {
    digest.add(fmt::format("{}.{}", op.def->dialect, op.def->name));
    add_numbers(digest, op.operands);
    add_numbers(digest, op.results);
    const std::vector<Attribute> fields = op.params.fields();
    digest.add(static_cast<int64_t>(fields.size()));
    // The function that a number refers to is not known here, and each process has other numbers.
    if (!ops::calls_host(op) || ops::is_ffi_call(op))
      for (const Attribute& field : fields) add_attribute(digest, field);
  }
  add_numbers(digest, function.outputs);
}

}  // namespace

std::string program_digest(const tracing::TracedFunction& traced) {
  Digest digest;
  add_function(digest, traced.function);
  digest.add(static_cast<int64_t>(traced.captures.size()));
  for (const Array& captured : traced.captures) digest.add(captured);
  return digest.hex();
}

}  // namespace tessera::privacy::internal
