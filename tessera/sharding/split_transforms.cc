#include "tessera/sharding/split_transforms.h"

#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/fourier/fft.h"

namespace tessera::sharding {
namespace {

// Returns whether the transform of the last dimension has real results. Then it must be the last.
bool ends_in_reals(FftType type) { return type == FftType::kIrfft; }

class TransformSplitter {
 public:
  explicit TransformSplitter(const Function& f) : f_(f), map_(f.types.size(), -1) {}

  Function run() {
    out_.name = f_.name;
    for (ValueId v : f_.inputs) map_[v] = out_.add_input(f_.types[v]);
    for (const Op& op : f_.ops) {
      const FftParams* fft = as_fft(op);
      if (fft && fft->lengths.rank() > 1) {
        map_[op.results[0]] = split(op, *fft);
      } else {
        append(op);
      }
    }
    for (ValueId v : f_.outputs) out_.outputs.push_back(map_[v]);
    return std::move(out_);
  }

 private:
  void append(const Op& op) {
    ValueIds operands;
    for (ValueId v : op.operands) operands.push_back(map_[v]);
    const ValueIds& results = out_.add_op(*op.def, map_control_regions(op, split_transforms),
                                          std::move(operands), f_.types_of(op.results), op.source);
    for (size_t i = 0; i < results.size(); ++i) map_[op.results[i]] = results[i];
  }

  ValueId add(const Op& like, const OpDef& def, const OpParams& params, ValueId operand) {
    const std::vector<Type> types = infer_types(def, std::span(&out_.types[operand], 1), params);
    return out_.add_op(def, params, {operand}, types, like.source)[0];
  }

  ValueId split(const Op& op, const FftParams& p) {
    const FftParams last{p.type, {p.lengths.back()}};
    const bool inverse = p.type == FftType::kIfft || p.type == FftType::kIrfft;
    const int64_t rank = f_.type(op.operands[0]).rank();
    ValueId v = map_[op.operands[0]];
    if (!ends_in_reals(p.type)) v = add(op, fft_op, last, v);
    for (int64_t d = rank - 2; d >= rank - p.lengths.rank(); --d)
      v = add(op, fft_along_op, FftAlongParams{inverse ? FftType::kIfft : FftType::kFft, d}, v);
    return ends_in_reals(p.type) ? add(op, fft_op, last, v) : v;
  }

  const Function& f_;
  Function out_;
  std::vector<ValueId> map_;
};

}  // namespace

Function split_transforms(const Function& function) { return TransformSplitter(function).run(); }

}  // namespace tessera::sharding
