#include "tessera/ir/params.h"

#include <algorithm>

#include "tessera/ir/params_fields.h"

namespace tessera::ir {
namespace {

// Returns the struct that all ops without params share.
const std::shared_ptr<const void>& no_params() {
  static const std::shared_ptr<const void> none = std::make_shared<NoParams>();
  return none;
}

[[maybe_unused]] const bool kNoParamsAreDefined = [] {
  define_params<NoParams>();
  return true;
}();

}  // namespace

OpParams::OpParams() : class_(&params_class<NoParams>), data_(no_params()) {}

OpParams::OpParams(const ParamsClass& params, void* value) : class_(&params) {
  if (&params == &params_class<NoParams>) {
    data_ = no_params();
  } else {
    TESSERA_CHECK(params.move, "the op of these params is not defined");
    data_ = params.move(value);
  }
}

std::vector<Attribute> OpParams::fields() const {
  std::vector<Attribute> out;
  class_->fields(data_.get(), out);
  return out;
}

OpParams OpParams::with_fields(const std::vector<Attribute>& fields) const {
  OpParams out = *this;
  out.data_ = class_->make(fields);
  return out;
}

size_t hash_field(const Mesh& v) { return hash_value(v); }
size_t hash_field(const NamedSharding& v) { return hash_value(v); }
size_t hash_field(const PartitionSpec& v) { return hash_value(v); }

template <class T>
void append_attribute(const T& field, std::vector<Attribute>& out) {
  out.emplace_back(field);
}

template <class T>
void read_attribute(const Attribute& attribute, T& field) {
  const T* value = std::get_if<T>(&attribute);
  if (!value && std::is_same_v<T, int64_t>)
    fail(ErrorKind::kParse, "attribute", "expected an integer");
  if (!value) fail(ErrorKind::kParse, "attribute", "got a value of another kind");
  field = *value;
}

size_t read_enumerator(const Attribute& attribute, std::span<const std::string_view> names) {
  const std::string* name = std::get_if<std::string>(&attribute);
  const auto at = name ? std::find(names.begin(), names.end(), *name) : names.end();
  if (at == names.end())
    fail(ErrorKind::kParse, "attribute", "expected one of the enumeration's names, got '{}'",
         name ? *name : "(not a name)");
  return static_cast<size_t>(at - names.begin());
}

#define ALTERNATIVE(...)                                                       \
  template void append_attribute(const __VA_ARGS__&, std::vector<Attribute>&); \
  template void read_attribute(const Attribute&, __VA_ARGS__&);
ALTERNATIVE(bool)
ALTERNATIVE(int64_t)
ALTERNATIVE(double)
ALTERNATIVE(std::string)
ALTERNATIVE(DType)
ALTERNATIVE(Dims)
ALTERNATIVE(std::vector<std::string>)
ALTERNATIVE(std::vector<Dims>)
ALTERNATIVE(Literal)
ALTERNATIVE(FunctionRef)
ALTERNATIVE(std::vector<FunctionRef>)
ALTERNATIVE(Mesh)
ALTERNATIVE(NamedSharding)
ALTERNATIVE(PartitionSpec)
ALTERNATIVE(std::vector<PartitionSpec>)
#undef ALTERNATIVE

}  // namespace tessera::ir
