// Mistakes, one in each function. run.sh compiles this file and expects one error with the text
// TEXT for each line marked `// error: TEXT`, and no other error. If compilers differ, the text of
// one is marked `// g++: TEXT`, and that of the other `// clang: TEXT`.
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

// Mistakes that newcomers make. docs/debugging.md lists their messages.

Array brackets(const Array& x) {
  return x[0];  // error: an Array has no operator[]: write index(x, {i, Slice(1, 5)})
}

Array a_vector_as_an_array(const std::vector<double>& values) {
  return sin(values);  // error: got a std::vector of numbers: write array(values), or from_host
}

Array an_axis_as_a_number(const Array& x) {
  // clang: no matching function for call to 'sum'
  return sum(x, 0);  // g++: 'const tessera::ReduceOptions&' from expression of type 'int'
}

Array an_option_that_is_not_there(const Array& x) {
  // clang: field designator 'axes' does not refer to any field in type 'tessera::ReduceOptions'
  return sum(x, ReduceOptions{.axes = 0});  // g++: has no non-static data member named 'axes'
}

auto a_scan_without_a_pair(const Array& x) {
  const auto body = [](const Array& c, const Array& v) { return c + v; };
  return scan(body, Array(0.f), x);  // error: the body of a scan returns a pair of the new carry
}

auto nothing_returned(const Array& x) {
  const auto f = [](const Array& v) { v + 1; };
  return jit(f)(x);  // error: the function returns nothing: end it with `return y;`
}

class Model {
 public:
  explicit Model(const Array& w) : w_(w) {}
  const Array& w() const { return w_; }

 private:
  Array w_;
};
auto a_class_as_an_argument(const Model& m) {
  return jit([](const Model& m) { return m.w(); })(m);  // error: not a tree: make it a plain struct
}

auto a_gradient_of_many(const Array& x) {
  const auto f = [](const Array& v) { return std::vector<Array>{v}; };
  return grad(f)(x);  // error: a function to differentiate returns its loss, an Array
}

auto argnums_as_an_argument(const Array& x) {
  const auto f = [](const Array& v) { return sum(v); };
  return grad(f, 0)(x);  // error: write the arguments to differentiate by as grad<0, 2>(f)
}

auto branches_that_differ(const Array& x) {
  const auto one = [](const Array& v) { return v; };
  const auto two = [](const Array& v) { return std::pair(v, v); };
  return cond(true, one, two, x);  // error: the branches of cond and switch_ return different
}

auto an_axis_by_name(const Array& x) {
  const auto f = [](const Array& v) { return v + 1; };
  return vmap(f, {.in_axes = "rows"})(x);  // error: a mapped axis of vmap is the number of a
}

}  // namespace tessera
