#include "compiling.h"

#include "tessera/tessera.h"
#include "tessera/trace/trace.h"

namespace tessera::costs {

using namespace tracing;

namespace {

using Arrays = std::vector<Array>;

Type floats(Shape shape) { return {.dtype = float32, .shape = std::move(shape)}; }

Function traced(const FlatFn& body, const std::vector<Type>& types) {
  return trace_function(body, types).function;
}

Function ops_in_a_row(int64_t size) {
  return traced(
      [&](const Arrays& x) {
        Array v = x[0];
        for (int64_t k = 0; k < size; ++k) v = k % 2 ? v * 0.5F : sin(v);
        return Arrays{v};
      },
      {floats({64})});
}

// Returns a step of momentum for `size` arrays.
Function leaves(int64_t size) {
  return traced(
      [&](const Arrays& x) {
        Arrays out;
        for (int64_t k = 0; k < size; ++k) {
          const Array velocity = x[size + k] * 0.9F + x[k];
          out.push_back(x[k] - velocity * 0.01F);
          out.push_back(velocity);
        }
        return out;
      },
      std::vector<Type>(static_cast<size_t>(2 * size), floats({8, 8})));
}

Function layers(int64_t size) {
  return traced(
      [&](const Arrays& x) {
        return Arrays{grad([&](const Array& w) {
          Array v = x[1];
          for (int64_t k = 0; k < size; ++k) v = tanh(matmul(v, w) + v);
          return sum(v);
        })(x[0])};
      },
      {floats({16, 16}), floats({4, 16})});
}

Array scans(const Array& x, int64_t depth) {
  if (depth == 0) return sin(x);
  return scan([&](const Array& carry,
                  const Arrays&) { return std::pair(scans(carry * 0.5F, depth - 1), Arrays{}); },
              x, Arrays{}, {.length = 2})
      .first;
}
Function nested_scans(int64_t size) {
  return traced(
      [&](const Arrays& x) {
        return Arrays{grad([&](const Array& v) { return sum(scans(v, size)); })(x[0])};
      },
      {floats({8})});
}

Array vmaps(const Array& x, const Array& y, int64_t depth) {
  if (depth == 0) return sin(x) * y;
  return vmap([&](const Array& row) { return vmaps(row, y, depth - 1); })(x);
}
Function nested_vmaps(int64_t size) {
  return traced([&](const Arrays& x) { return Arrays{vmaps(x[0], x[1], size)}; },
                {floats(Shape(static_cast<size_t>(size), 2)), floats({})});
}

Function shapes(int64_t size) {
  std::vector<Type> types;
  for (int64_t k = 0; k < size; ++k) types.push_back(floats({k + 1, 8}));
  return traced(
      [&](const Arrays& x) {
        Arrays out;
        for (const Array& one : x) out.push_back(softmax(one, 1));
        return out;
      },
      types);
}

Family family(const char* name, Function (*program)(int64_t), int64_t size, bool deep = false) {
  Family out;
  out.name = name;
  out.program = program;
  out.text_grows = true;
  if (deep) {
    // Values pass through every loop, and every vmap adds a dimension to all.
    out.text = [](int64_t depth) { return static_cast<double>(depth * depth); };
    out.depth = [](int64_t depth) { return static_cast<double>(depth); };
  }
  out.size = size;
  out.most_sizes = 4;
  return out;
}

}  // namespace

std::vector<Family> families_of_compiling() {
  return {family("5,000 ops in a row", ops_in_a_row, 625),
          family("2,000 leaves", leaves, 250),
          family("500 layers under a gradient", layers, 63),
          family("scans under a gradient, nested", nested_scans, 1, true),
          family("vmaps, nested", nested_vmaps, 1, true),
          family("1,000 shapes", shapes, 125)};
}

}  // namespace tessera::costs
