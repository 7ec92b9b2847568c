#include "tessera/ops/fourier/transform.h"

#include <deque>

#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
#include "tessera/ops/fourier/infinities.h"
#include "tessera/ops/fourier/passes.h"

namespace tessera::ops::fourier {
namespace {

// Transforms one dimension after the other. The real transform is along the last dimension: it is
// the first step of a forward transform and the last step of an inverse one.
template <class T>
class ArrayTransform final : public Transform {
 public:
  ArrayTransform(const TransformSpec& spec, const Shape& shape) : type_(spec.type) {
    const bool is_real = type_ == FftType::kRfft || type_ == FftType::kIrfft;
    Shape complex = shape;
    if (is_real) complex.back() = spec.lengths.back() / 2 + 1;
    elements_ = complex.elements();
    for (int64_t n : spec.lengths) size_ *= static_cast<double>(n);
    if (elements_ == 0 || size_ == 0) return;
    const int64_t end = spec.first + spec.lengths.rank();
    int64_t inner = 1;
    for (int64_t d = end; d < complex.rank(); ++d) inner *= complex[d];
    for (int64_t d = end - 1; d >= spec.first; --d) {
      const int64_t n = complex[d], outer = elements_ / n / inner;
      if (is_real && d == end - 1) {
        real_ = std::make_unique<RealPass<T>>(outer, spec.lengths.back());
        real_lines_ = {type_, outer, spec.lengths.back(), 1};
      } else {
        const FftType type = inverse() ? FftType::kIfft : FftType::kFft;
        passes_.push_back({ComplexPass<T>(outer, n, inner), {type, outer, n, inner}});
      }
      inner *= n;
    }
  }

  void run(const void* in, void* out) const override {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    if (elements_ == 0 || size_ == 0) return;
    Noticed noticed;
    run_fast(from, to, noticed);
    if (noticed.not_finite) run_by_definition(from, to);
  }

 private:
  bool inverse() const { return type_ == FftType::kIfft || type_ == FftType::kIrfft; }

  void run_fast(const T* in, T* out, Noticed& noticed) const {
    switch (type_) {
      case FftType::kFft:
        return run_passes(in, out, T{1}, noticed);
      case FftType::kIfft:
        return run_passes(in, out, static_cast<T>(1 / size_), noticed);
      case FftType::kRfft:
        real_->forward(in, out, noticed);
        return run_passes(out, out, T{1}, noticed);
      case FftType::kIrfft: {
        const auto scale = static_cast<T>(1 / size_);
        if (passes_.empty()) return real_->inverse(in, out, scale, noticed);
        const Workspace<T> temp(2 * elements_);
        run_passes(in, temp.data(), T{1}, noticed);
        return real_->inverse(temp.data(), out, scale, noticed);
      }
    }
  }

  void run_passes(const T* in, T* out, T scale, Noticed& noticed) const {
    for (const auto& [pass, lines] : passes_) {
      pass.run(in, out, lines.outer, inverse(), scale, noticed);
      in = out;
      scale = 1;
    }
  }

  // The same passes, each of which leaves its operand as it is, and after each the lines of its
  // operand that hold infinities.
  void run_by_definition(const T* in, T* out) const {
    Noticed noticed;
    std::deque<Workspace<T>> kept;
    const auto next = [&](bool final) {
      if (final) return out;
      kept.emplace_back(2 * elements_);
      return kept.back().data();
    };
    const bool to_real = type_ == FftType::kIrfft;
    const T scale = inverse() ? static_cast<T>(1 / size_) : T{1};
    if (type_ == FftType::kRfft) {
      T* to = next(passes_.empty());
      real_->forward(in, to, noticed);
      transform_infinities(real_lines_, in, to, T{1});
      in = to;
    }
    for (size_t i = 0; i < passes_.size(); ++i) {
      T* to = next(!to_real && i + 1 == passes_.size());
      const auto& [pass, lines] = passes_[i];
      const T factor = to_real || i > 0 ? T{1} : scale;
      pass.run(in, to, lines.outer, inverse(), factor, noticed);
      transform_infinities(lines, in, to, factor);
      in = to;
    }
    if (!to_real) return;
    real_->inverse(in, out, scale, noticed);
    transform_infinities(real_lines_, in, out, scale);
  }

  struct Step {
    ComplexPass<T> pass;
    Lines lines;
  };
  FftType type_;
  int64_t elements_;    // number of complex elements
  double size_ = 1;     // points of one transform
  Lines real_lines_{};  // of real_
  std::vector<Step> passes_;
  std::unique_ptr<RealPass<T>> real_;
};

struct TransformKey {
  TransformSpec spec;
  DType real;
  Shape shape;
  bool operator==(const TransformKey&) const = default;
  size_t hash() const {
    size_t seed = hash_combine(static_cast<size_t>(spec.type), static_cast<size_t>(spec.first));
    seed = hash_combine(seed, hash_value(spec.lengths));
    return hash_combine(hash_combine(seed, static_cast<size_t>(real)), hash_value(shape));
  }
};

constexpr size_t kKeptTransforms = 32;

}  // namespace

std::shared_ptr<const Transform> find_transform(const TransformSpec& spec, DType real,
                                                const Shape& shape) {
  // It is never destroyed: programs may run while the process ends.
  static auto& kept = *new BoundedCache<TransformKey, std::shared_ptr<const Transform>>(
      kKeptTransforms, ForkParticipant::Level::kLeaves);
  TransformKey key{spec, real, shape};
  const size_t hash = key.hash();
  if (auto found = kept.find(hash, [&](const TransformKey& k) { return k == key; })) return *found;
  std::shared_ptr<const Transform> made;
  if (real == float64) {
    made = std::make_shared<const ArrayTransform<double>>(spec, shape);
  } else {
    made = std::make_shared<const ArrayTransform<float>>(spec, shape);
  }
  return kept.insert(hash, std::move(key), std::move(made));
}

}  // namespace tessera::ops::fourier
