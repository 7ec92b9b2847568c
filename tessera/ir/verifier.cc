#include "tessera/ir/verifier.h"

#include <algorithm>

#include "tessera/ir/op_def.h"

namespace tessera::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Function& f) : f_(f), defined_(f.types.size(), false) {}

  void run() {
    for (ValueId v : f_.inputs) define(v, "an input");
    for (const Op& op : f_.ops) check_op(op);
    for (ValueId v : f_.outputs) check_use(v, "the outputs");
    for (size_t v = 0; v < f_.types.size(); ++v) check_type(static_cast<ValueId>(v));
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> text, Args&&... args) const {
    if (!holds)
      throw InternalError(fmt::format("invalid function {}: {}", f_.name,
                                      fmt::format(text, std::forward<Args>(args)...)));
  }

  static std::string describe_op(const Op& op) {
    if (!op.def) return "an op without definition";
    return fmt::format("{}.{}{}", op.def->dialect, op.def->name,
                       op.source.empty() ? "" : fmt::format(" ({})", op.source));
  }

  bool in_range(ValueId v) const { return v >= 0 && v < static_cast<ValueId>(f_.types.size()); }

  void define(ValueId v, const std::string& by) {
    require(in_range(v), "value {} of {} is not in the table of {} types", v, by, f_.types.size());
    require(!defined_[v], "value {} is defined a second time by {}", v, by);
    defined_[v] = true;
  }

  void check_use(ValueId v, const std::string& by) const {
    require(in_range(v), "value {} used by {} is not in the table of {} types", v, by,
            f_.types.size());
    require(defined_[v], "value {} is used by {} before it is defined", v, by);
  }

  void check_op(const Op& op) {
    const std::string name = describe_op(op);
    require(op.def != nullptr, "{}", name);
    for (ValueId v : op.operands) check_use(v, name);
    for (const Attribute& field : op.params.fields()) {
      if (const auto* region = std::get_if<FunctionRef>(&field)) check_region(*region);
      if (const auto* regions = std::get_if<std::vector<FunctionRef>>(&field))
        for (const FunctionRef& r : *regions) check_region(r);
    }
    std::vector<Type> inferred;
    require(static_cast<bool>(op.def->infer), "{} has no type rule", name);
    try {
      inferred = op.def->infer(f_.types_of(op.operands), op.params);
    } catch (const UserError& error) {
      require(false, "{} does not accept its operands: {}", name, error.what());
    }
    require(inferred.size() == op.results.size(), "{} has {} results, its type rule gives {}", name,
            op.results.size(), inferred.size());
    for (size_t r = 0; r < inferred.size(); ++r) {
      define(op.results[r], name);
      require(inferred[r].same_array(f_.types[op.results[r]]),
              "result {} of {} is {}, its type rule gives {}", r, name,
              describe(f_.types[op.results[r]]), describe(inferred[r]));
    }
  }

  void check_type(ValueId v) const {
    const Type& type = f_.types[v];
    for (int64_t d : type.shape) require(d >= 0, "value {} has the negative extent {}", v, d);
    require(std::is_sorted(type.varying.begin(), type.varying.end()) &&
                std::adjacent_find(type.varying.begin(), type.varying.end()) == type.varying.end(),
            "the varying axes of value {} are not sorted or repeat", v);
    require(!type.sharding || type.sharding->spec().trimmed().rank() <= type.rank(),
            "the sharding of value {} has more entries than {} has dimensions", v, describe(type));
  }

  static void check_region(const FunctionRef& region) {
    if (region) verify(*region);
  }

  const Function& f_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Function& function) { Verifier(function).run(); }

}  // namespace tessera::ir
