// Lesson 2: jit, and what compiling a function means.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

Array wave(const Array& x) { return 2 * sin(x) + 1; }

struct Filter {
  Array weights;
  int64_t power;
};

int main() {
  int calls = 0;
  const auto fast_wave = jit([&](const Array& x) {
    ++calls;
    return wave(x);
  });
  std::cout << round(fast_wave(arange(4.0f)), 4) << "\n";
  std::cout << round(fast_wave(arange(4.0f) + 10), 4) << "\n";
  std::cout << "called twice, traced " << calls << " time\n";

  std::cout << fast_wave.lower(arange(4.0f)).text("traced");

  calls = 0;
  fast_wave(arange(5.0f));
  fast_wave(arange(5));
  fast_wave(arange(5));
  std::cout << "three calls with new types, traced " << calls << " times\n";

  const auto apply = jit([&](const Filter& filter, const Array& x) {
    ++calls;
    return sum(power(filter.weights * x, filter.power));
  });
  calls = 0;
  const Array x = arange(3.0f);
  std::cout << apply(Filter{ones({3}), 2}, x) << "\n";
  std::cout << apply(Filter{2 * ones({3}), 2}, x) << "\n";
  std::cout << apply(Filter{ones({3}), 3}, x) << "\n";
  std::cout << "traced " << calls << " times\n";

  const auto bad = jit([](const Array& x) { return sum(x) > 0 ? x : -x; });
  try {
    bad(x);
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }

  const auto good = jit([](const Array& x) { return where(sum(x) > 0, x, -x); });
  std::cout << good(-x) << "\n";

  Array leaked;
  const auto leaky = jit([&](const Array& x) {
    leaked = 2 * x;
    return x + 1;
  });
  leaky(x);
  try {
    std::cout << leaked + 1 << "\n";
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }

  const auto printing = jit([](const Array& x) {
    const Array y = square(x);
    std::cout << "y is " << y << "\n";
    return y;
  });
  printing(x);
  printing(x + 1);

  const auto update = jit([](const Array& state) { return state + 1; }, {.donate_argnums = {0}});
  Array state = zeros({3});
  for (int i = 0; i < 5; ++i) state = update(state);
  std::cout << state << "\n";
}
