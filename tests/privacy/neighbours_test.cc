// Neighbours are two batches that differ in one example. The norms of the other examples must have
// the same bits in both, and the sums of clipped gradients may differ by at most sensitivity(),
// whatever the example is: NaN, infinite, huge, denormal, cancelling; at any index, with padding or
// without, in microbatches, with every method of computing norms. TESSERA_NEIGHBOURS=first:end
// tests more of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tessera/mesh/scoped_devices.h"
#include "tests/privacy/random_loss.h"
#include "tests/sanitizers.h"

namespace tessera::privacy::neighbours_test {
namespace {

using helpers::Params;
using helpers::RandomLoss;

uint64_t pairs() { return has_sanitizer() ? 40 : 500; }

struct Batch {
  Array x, tokens;
};

// The kinds of the one example.
enum class Kind : uint8_t { kUsual, kNan, kInfinite, kHuge, kDenormal, kZero, kCancelling };
constexpr const char* kKinds[] = {"usual",    "NaN", "infinite",  "huge",
                                  "denormal", "0",   "cancelling"};

class Pair {
 public:
  explicit Pair(uint64_t seed)
      : random_(seed),
        loss_(seed / 3, pick({4, 4, 4, 20, 33})),
        kind_(static_cast<Kind>(seed % std::size(kKinds))) {
    // Sizes around those at which kernels, tiles and slices change.
    size_ = pick({2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 66});
    at_ = below(size_);
    const auto keys = random::split<3>(random::key(static_cast<int64_t>(seed)));
    half_ = below(5) == 0;
    for (size_t i = 0; i < loss_.parameter_shapes().size(); ++i)
      params_.push_back(with_dtype(
          .7f * random::normal(random::fold_in(keys[0], i), loss_.parameter_shapes()[i])));
    batch_.x = random::normal(keys[1], {size_, loss_.tokens(), loss_.features()});
    batch_.tokens = random::randint(keys[2], {size_, loss_.tokens()}, Array(0),
                                    Array(loss_.vocabulary()), int32);
    put_example();
    choose_options();
  }

  std::string text() const {
    return loss_.text() + "; " + std::to_string(size_) + " examples, number " +
           std::to_string(at_) + " is " + kKinds[static_cast<size_t>(kind_)] +
           (half_ ? ", bfloat16" : "") + (padded_ ? ", padded" : "") + ", way " +
           (options_.norm_way ? std::to_string(static_cast<int>(*options_.norm_way)) : "chosen") +
           ", nan_safe " + std::to_string(static_cast<int>(options_.nan_safe));
  }

  void check() {
    choose_norm();
    const auto with = run(all(), none());
    const auto without = padded_ ? run(all(), only()) : run(others(), none());
    const auto of_others = [&](const std::vector<float>& norms, bool has_example) {
      std::vector<float> out = norms;
      if (has_example) out.erase(out.begin() + at_);
      return out;
    };
    const std::vector<float> a = of_others(to_vector<float>(with.grad_norms), true),
                             b = of_others(to_vector<float>(without.grad_norms), padded_);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(std::memcmp(&a[i], &b[i], sizeof(float)), 0)
          << "norm of example " << i << ": " << a[i] << " and " << b[i];
    const double moved = distance(with.grads, without.grads);
    const double allowed = sensitivity(options_, NeighboringRelation::kAddOrRemoveOne);
    EXPECT_LE(moved, allowed) << "the sum";
    // Another example replaces it.
    batch_.x = where(expand_dims(row_is_example(), {1, 2}), flip(batch_.x, 0), batch_.x);
    const auto replaced = run(all(), none());
    EXPECT_LE(distance(with.grads, replaced.grads),
              sensitivity(options_, NeighboringRelation::kReplaceOne))
        << "the sum, with another example in its place";
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t pick(const std::vector<int64_t>& of) {
    return of[static_cast<size_t>(below(static_cast<int64_t>(of.size())))];
  }
  Array with_dtype(const Array& x) const { return half_ ? astype(x, bfloat16) : x; }

  Array row_is_example() const { return arange(size_) == Array(at_); }

  void put_example() {
    const Array old = slice_in_dim(batch_.x, at_, at_ + 1, 0);
    Array example = old;
    switch (kind_) {
      case Kind::kUsual:
        break;
      case Kind::kNan:
        example = old * std::numeric_limits<float>::quiet_NaN();
        break;
      case Kind::kInfinite:
        example = old * std::numeric_limits<float>::infinity();
        break;
      case Kind::kHuge:
        example = old * 1e30f;
        break;
      case Kind::kDenormal:
        example = old * 1e-40f;
        break;
      case Kind::kZero:
        example = zeros_like(old);
        break;
      case Kind::kCancelling: {
        const Array sign = where(arange(loss_.tokens()) % 2 == 0, 1.0f, -1.0f);
        example = broadcast_to(slice_in_dim(old, 0, 1, 1), old.shape()) *
                  expand_dims(sign, {0, 2}) * 1e3f;
        break;
      }
    }
    batch_.x = where(expand_dims(row_is_example(), {1, 2}), example, batch_.x);
    batch_.x = with_dtype(batch_.x);
  }

  void choose_options() {
    options_.batch_argnums = {1, 2};
    options_.keep_batch_dim = false;
    const std::optional<NormWay> methods[] = {std::nullopt, std::nullopt, NormWay::kFactors,
                                              NormWay::kTiles, NormWay::kKeep};
    options_.norm_way = methods[static_cast<size_t>(below(5))];
    options_.nan_safe = below(4) == 0 ? NanSafe::kElement : NanSafe::kExample;
    options_.rescale_to_unit_norm = below(6) == 0;
    padded_ = below(2) == 0;
    // With the example as padding the batch has the same size, so it may be split into
    // microbatches.
    if (padded_ && below(2) == 0)
      for (const int64_t m : {1, 2, 3, 16, 33})
        if (size_ % m == 0) options_.microbatch_size = m;
  }

  // Chooses a norm that clips about half of the examples.
  void choose_norm() {
    std::vector<float> norms;
    for (float n : to_vector<float>(run(all(), none()).grad_norms))
      if (std::isfinite(n) && n > 0) norms.push_back(n);
    if (norms.empty()) return;
    std::sort(norms.begin(), norms.end());
    options_.l2_clip_norm = .9 * static_cast<double>(norms[norms.size() / 2]);
  }

  Batch all() const { return batch_; }
  Batch others() const {
    std::vector<int32_t> rows;
    for (int64_t b = 0; b < size_; ++b)
      if (b != at_) rows.push_back(static_cast<int32_t>(b));
    const Array index = array(rows);
    return {take(batch_.x, index, {.axis = 0}), take(batch_.tokens, index, {.axis = 0})};
  }
  std::optional<Padding> none() const { return std::nullopt; }
  std::optional<Padding> only() const { return Padding{row_is_example()}; }

  ClippedGradients<Params> run(const Batch& batch, const std::optional<Padding>& padding) const {
    const auto clipped = clipped_value_and_grad(loss_, options_);
    return padding ? clipped(params_, batch.x, batch.tokens, *padding)
                   : clipped(params_, batch.x, batch.tokens);
  }

  static double distance(const Params& a, const Params& b) {
    double squares = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const auto x = to_vector<double>(astype(a[i], float64)),
                 y = to_vector<double>(astype(b[i], float64));
      for (size_t k = 0; k < x.size(); ++k) squares += (x[k] - y[k]) * (x[k] - y[k]);
    }
    return std::sqrt(squares);
  }

  std::mt19937_64 random_;
  RandomLoss loss_;
  Kind kind_;
  int64_t size_ = 0, at_ = 0;
  bool half_ = false, padded_ = false;
  Params params_;
  Batch batch_;
  ClipOptions options_;
};

TEST(Neighbours, DifferByAtMostTheSensitivityAndLeaveTheOthersAlone) {
  uint64_t first = 0, end = pairs();
  if (const char* seeds = std::getenv("TESSERA_NEIGHBOURS"))
    std::sscanf(seeds, "%lu:%lu", &first, &end);
  for (uint64_t seed = first; seed < end; ++seed) {
    try {
      Pair pair(seed);
      SCOPED_TRACE("pair " + std::to_string(seed) + ":" + pair.text());
      pair.check();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "pair " << seed << ": " << e.what();
    }
  }
}

// Compares two examples on each of four devices with a batch that has as much padding again: four
// examples on each device. (An example that is alone on its device is computed by another program:
// docs/privacy_proof.md.)
TEST(Neighbours, NormsOnDevicesAreTheSameBitsInLongerBatches) {
  const ScopedDevices four("cpu:4");
  const NamedSharding rows(make_mesh({4}, {"data"}), P("data"));
  for (uint64_t seed = 0; seed < pairs() / 5; ++seed) {
    const RandomLoss loss(seed, seed % 2 == 0 ? 4 : 20);
    SCOPED_TRACE("loss " + std::to_string(seed) + ": " + loss.text());
    const bool half = seed % 5 == 0;
    const auto with_dtype = [&](const Array& x) { return half ? astype(x, bfloat16) : x; };
    const auto keys = random::split<3>(random::key(static_cast<int64_t>(seed)));
    Params params;
    for (size_t i = 0; i < loss.parameter_shapes().size(); ++i)
      params.push_back(with_dtype(
          .7f * random::normal(random::fold_in(keys[0], i), loss.parameter_shapes()[i])));
    const Array x = with_dtype(random::normal(keys[1], {8, loss.tokens(), loss.features()}));
    const Array tokens =
        random::randint(keys[2], {8, loss.tokens()}, Array(0), Array(loss.vocabulary()), int32);
    ClipOptions options;
    options.batch_argnums = {1, 2};
    options.keep_batch_dim = false;
    const auto clipped = jit(clipped_value_and_grad(loss, options));
    const auto placed = [&](const Array& a) { return device_put(a, rows); };
    const auto twice = [&](const Array& a) { return repeat(a, 2, 0); };
    const Array second = placed(arange(16) % 2 == 1);
    const auto one = clipped(params, placed(x), placed(tokens));
    const auto two = clipped(params, placed(twice(x)), placed(twice(tokens)), Padding{second});
    const std::vector<float> a = to_vector<float>(one.grad_norms),
                             b = to_vector<float>(two.grad_norms);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(std::memcmp(&a[i], &b[2 * i], sizeof(float)), 0)
          << "norm of example " << i << ": " << a[i] << " and " << b[2 * i];
  }
}

}  // namespace
}  // namespace tessera::privacy::neighbours_test
