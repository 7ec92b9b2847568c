// What cannot work, one mistake a function: run.sh compiles this file and expects one error for
// each line marked `// error: TEXT`, of that text, and no other.
#include <tessera/compile/composite.h>
#include <tessera/tessera.h>

namespace tessera {

Array mutable_under_jit(const Array& x) {
  auto counted = [n = 0](const Array& v) mutable { return v + ++n; };
  return jit(counted)(x);  // error: is no `mutable` lambda
}

Array mutable_under_vmap(const Array& x) {
  auto counted = [n = 0](const Array& v) mutable { return v + ++n; };
  return vmap(counted)(x);  // error: is no `mutable` lambda
}

Array changing_an_argument(const Array& x) {
  auto in_place = [](Array& v) { return v = v + 1; };
  return grad(in_place)(x);  // error: it takes them by value or const
}

Array changing_a_copy(const Array& x) {
  auto in_place = [](Array& v) { return v = v + 1; };
  return checkpoint(in_place)(x);  // error: it takes them by value or const
}

Array default_arguments(const Array& x) {
  return vmap(sum)(x);  // error: its name alone has no default arguments
}

Array body_of_a_scan(const Array& x) {
  auto body = [](Array& c, const Array& v) { return std::pair(c, v); };
  return scan(body, Array(0.f), x).first;  // error: it takes them by value or const
}

Array shards(const Array& x, const ShardMapOptions& options) {
  auto in_place = [](Array& v) { return v = v + 1; };
  return shard_map(in_place, options)(x);  // error: it takes them by value or const
}

auto no_second_moments() {
  return privacy::scale_then_privatize(  // error: takes an optimizer with second moments
      optim::sgd(0.1));
}

Array capturing_composite(const Array& x, double factor) {
  const auto body = [&](const NoParams&, std::span<const Array> a) { return a[0] * factor; };
  return composite("scaled", {}, {x}, body);  // error: the body of a composite captures nothing
}

}  // namespace tessera
