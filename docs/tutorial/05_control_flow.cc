// Lesson 5: loops and branches in compiled code.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Walk {
  Array number, steps;
};

Array collatz_steps(const Array& start) {
  const auto not_yet_one = [](const Walk& w) { return w.number != 1; };
  const auto next = [](const Walk& w) {
    const Array even = w.number % 2 == 0;
    const Array number = where(even, floor_divide(w.number, 2), 3 * w.number + 1);
    return Walk{number, w.steps + 1};
  };
  return while_loop(not_yet_one, next, Walk{start, 0}).steps;
}

int main() {
  const auto unrolled = jit([](const Array& start) {
    Array x = start;
    for (int i = 0; i < 3; ++i) x = x * x + 1;
    return x;
  });
  std::cout << unrolled(1.0f) << "\n";

  const auto add = [](const Array& sum, const Array& x) {
    const Array next = sum + x;
    return std::pair(next, next);
  };
  const auto [total, sums] = scan(add, Array(0.0f), arange(6.0f));
  std::cout << total << " " << sums << "\n";

  const Array weights = stack({2 * eye(3), eye(3) + 1, flip(eye(3), 0)});
  const auto layer = [](const Array& h, const Array& w) { return std::pair(matmul(h, w), None); };
  const auto [last, none] = scan(layer, arange(3.0f), weights);
  std::cout << last << "\n";

  const auto twice = [](const Array& i, const Array& x) { return 2 * x + i; };
  std::cout << fori_loop(0, 4, twice, Array(1)) << "\n";

  std::cout << collatz_steps(6) << " " << collatz_steps(27) << "\n";
  std::cout << vmap(collatz_steps)(arange(1, 9)) << "\n";

  const auto arrange = jit([](const Array& x) {
    const auto ascending = [](const Array& x) { return sort(x); };
    const auto reversed = [](const Array& x) { return flip(x); };
    return cond(sum(x) > 10, ascending, reversed, x);
  });
  std::cout << arrange(array({9, 1, 5})) << " " << arrange(array({3, 1, 2})) << "\n";

  const auto squared = [](const Array& x) { return x * x; };
  const auto tripled = [](const Array& x) { return 3 * x; };
  const auto choose = [&](int i) { return switch_(i, std::tuple{squared, tripled}, 5); };
  std::cout << choose(0) << " " << choose(1) << " " << choose(7) << "\n";

  const auto growth = [](const Array& rate) {
    const auto year = [&](const Array& x, NoneType) { return std::pair(x * rate, None); };
    return scan(year, Array(1.0f), None, {.length = 4}).first;
  };
  std::cout << growth(2.0f) << " " << grad(growth)(2.0f) << "\n";

  const auto doubling = [](const Array& x, NoneType) {
    return std::pair(concatenate({x, x}), None);
  };
  try {
    scan(doubling, ones({1}), None, {.length = 3});
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
}
