#include "tessera/ops/fourier/transform.h"

#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
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
      } else {
        passes_.push_back({ComplexPass<T>(outer, n, inner), outer});
      }
      inner *= n;
    }
  }

  void run(const void* in, void* out) const override {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    switch (type_) {
      case FftType::kFft:
        return run_passes(from, to, false, T{1});
      case FftType::kIfft:
        return run_passes(from, to, true, static_cast<T>(1 / size_));
      case FftType::kRfft:
        real_->forward(from, to);
        return run_passes(to, to, false, T{1});
      case FftType::kIrfft: {
        const auto scale = static_cast<T>(1 / size_);
        if (passes_.empty()) return real_->inverse(from, to, scale);
        const Workspace<T> temp(2 * elements_);
        run_passes(from, temp.data(), true, T{1});
        return real_->inverse(temp.data(), to, scale);
      }
    }
  }

 private:
  void run_passes(const T* in, T* out, bool inverse, T scale) const {
    for (const auto& [pass, outer] : passes_) {
      pass.run(in, out, outer, inverse, scale);
      in = out;
      scale = 1;
    }
  }

  struct Step {
    ComplexPass<T> pass;
    int64_t outer;
  };
  FftType type_;
  int64_t elements_;  // number of complex elements
  double size_ = 1;   // points of one transform
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
