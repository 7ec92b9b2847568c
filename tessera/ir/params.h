// OpParams: the static parameters of one instance of an op. It is a handle with value semantics to
// a plain struct.
//
// Equality, hashing, printing and parsing come from the struct's fields (Boost.PFR), so the author
// of an op writes nothing except the struct. A field is one of the alternatives of Attribute, an
// enum with an `enum_names(E)` overload, or a std::vector that Attribute lists.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/literal.h"
#include "tessera/ir/format.h"
#include "tessera/ir/forward.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ir {

size_t hash_value(const FunctionRef& function);                // of the function's content
bool equal_functions(const FunctionRef&, const FunctionRef&);  // compares the functions' content

// The types of fields of a params struct, as they are printed between `<{` and `}>`. Enums are
// strings, in StableHLO's spelling.
using Attribute =
    std::variant<bool, int64_t, double, std::string, DType, Dims, std::vector<std::string>,
                 std::vector<Dims>, Literal, FunctionRef, std::vector<FunctionRef>, Mesh,
                 NamedSharding, PartitionSpec, std::vector<PartitionSpec>>;

// The functions of OpParams for one type of struct. define() (ops/core/op.h) sets them, so that
// code for the struct's fields is compiled in the file that defines the op, and not in every file
// that binds it.
struct ParamsClass {
  bool (*equal)(const void*, const void*) = nullptr;
  size_t (*hash)(const void*) = nullptr;
  void (*fields)(const void*, std::vector<Attribute>& out) = nullptr;
  std::shared_ptr<const void> (*make)(const std::vector<Attribute>& fields) = nullptr;
  std::shared_ptr<const void> (*move)(void* params) = nullptr;
};
template <class P>
inline constinit ParamsClass params_class;

// The params of ops that have none.
struct NoParams {};

class OpParams {
 public:
  OpParams();
  template <class P>
  requires(std::is_aggregate_v<P>) OpParams(P value)
      : OpParams(params_class<P>, static_cast<void*>(&value)) {}

  template <class P>
  const P& as() const {
    TESSERA_CHECK(class_ == &params_class<P>, "params of another op");
    return *static_cast<const P*>(data_.get());
  }
  // Returns the values of the fields, in the order of declaration.
  std::vector<Attribute> fields() const;
  // Returns params of the same struct with these fields. Throws UserError kParse if a field has
  // another kind.
  OpParams with_fields(const std::vector<Attribute>& fields) const;
  size_t hash() const { return class_->hash(data_.get()); }
  friend bool operator==(const OpParams& a, const OpParams& b) {
    return a.class_ == b.class_ &&
           (a.data_ == b.data_ || a.class_->equal(a.data_.get(), b.data_.get()));
  }

 private:
  OpParams(const ParamsClass& params, void* value);

  const ParamsClass* class_;
  std::shared_ptr<const void> data_;
};

}  // namespace tessera::ir
