#include "tessera/ir/scalar_op.h"

#include <fmt/ranges.h>

#include "tessera/ir/format.h"

namespace tessera::ir {
namespace {

bool signature_fits(ScalarSignature signature, DType result, std::span<const DType> args) {
  switch (signature) {
    case ScalarSignature::kUnary:
    case ScalarSignature::kBinary:
    case ScalarSignature::kTernary:
      for (DType arg : args)
        if (arg != result) return false;
      return true;
    case ScalarSignature::kPredicate:
      return result == bool_;
    case ScalarSignature::kComparison:
      return result == bool_ && args[0] == args[1];
    case ScalarSignature::kSelect:
      return args[0] == bool_ && args[1] == result && args[2] == result;
    case ScalarSignature::kConvert:
      return true;
    case ScalarSignature::kBitcast:
      return itemsize(result) == itemsize(args[0]) && is_complex(result) == is_complex(args[0]);
    case ScalarSignature::kJoin:
      return is_complex(result) && args[0] == real_dtype(result) && args[1] == args[0];
    case ScalarSignature::kPart:
      return is_complex(args[0]) && result == real_dtype(args[0]);
  }
  __builtin_unreachable();
}

}  // namespace

int ScalarOpInfo::arity() const {
  switch (signature) {
    case ScalarSignature::kUnary:
    case ScalarSignature::kPredicate:
    case ScalarSignature::kConvert:
    case ScalarSignature::kBitcast:
    case ScalarSignature::kPart:
      return 1;
    case ScalarSignature::kBinary:
    case ScalarSignature::kComparison:
    case ScalarSignature::kJoin:
      return 2;
    case ScalarSignature::kTernary:
    case ScalarSignature::kSelect:
      return 3;
  }
  __builtin_unreachable();
}

const ScalarOpInfo& scalar_op_info(ScalarOp op) {
  using namespace dtype_kinds;
  static constexpr ScalarOpInfo kTable[] = {
#define SCALAR_OP(op, name, signature, kinds, cost, halves, ...) \
  {name, ScalarSignature::signature, kinds, scalar_cost::cost, ScalarHalves::halves},
#include "tessera/ir/scalar_ops.def"
#undef SCALAR_OP
  };
  return kTable[static_cast<size_t>(op)];
}

void verify_scalar_op(ScalarOp op, DType result, std::span<const DType> args) {
  const ScalarOpInfo& info = scalar_op_info(op);
  TESSERA_CHECK(static_cast<int>(args.size()) == info.arity(), "{} of {} operands", info.name,
                args.size());
  TESSERA_CHECK(signature_fits(info.signature, result, args), "{} of {} gives {}", info.name,
                fmt::join(args, ", "), result);
  TESSERA_CHECK(dtype_kinds::contains(info.kinds, args.back()), "{} is not defined for {}",
                info.name, args.back());
}

}  // namespace tessera::ir
