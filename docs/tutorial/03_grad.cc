// Lesson 3: derivatives.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Line {
  Array slope, offset;
};

Array predict(const Line& line, const Array& x) { return line.slope * x + line.offset; }

Array loss(const Line& line, const Array& x, const Array& y) {
  return mean(square(predict(line, x) - y));
}

int main() {
  const auto cube = [](const Array& x) { return x * x * x; };
  const auto slope = grad(cube);
  const auto curvature = grad(slope);
  std::cout << cube(2.0f) << " " << slope(2.0f) << " " << curvature(2.0f) << "\n";

  const Array x = arange(8.0f) / 4;
  const Array y = 3 * x - 1;
  Line line{0.0f, 0.0f};
  const auto [value, gradient] = value_and_grad(loss)(line, x, y);
  std::cout << "loss " << value << ", by slope " << gradient.slope << ", by offset "
            << gradient.offset << "\n";

  const auto step = jit([](const Line& line, const Array& x, const Array& y) {
    const auto [value, gradient] = value_and_grad(loss)(line, x, y);
    const auto down = [](const Array& p, const Array& g) { return p - 0.25 * g; };
    return std::pair(value, tree::map(down, line, gradient));
  });
  Array error;
  for (int i = 0; i < 100; ++i) std::tie(error, line) = step(line, x, y);
  std::cout << "slope " << round(line.slope, 3) << ", offset " << round(line.offset, 3) << "\n";

  const auto [by_line, by_x] = grad<0, 1>(loss)(Line{1.0f, 0.0f}, x, y);
  std::cout << by_line.slope << " " << by_x.shape() << "\n";

  const auto loss_and_worst = [](const Line& line, const Array& x, const Array& y) {
    const Array error = predict(line, x) - y;
    return std::pair(mean(square(error)), max(abs(error)));
  };
  const auto [result, same_gradient] = value_and_grad(loss_and_worst)(Line{1.0f, 0.0f}, x, y);
  std::cout << "loss " << result.first << ", worst error " << result.second << "\n";

  const auto wave = [](const Array& x) { return sin(x); };
  const auto [height, steepness] = jvp(wave, std::tuple(zeros({3})), std::tuple(arange(3.0f)));
  std::cout << height << " " << steepness << "\n";
  std::cout << jacrev([](const Array& x) { return square(x); })(arange(3.0f)) << "\n";

  const auto norm = [](const Array& x) { return sqrt(sum(square(x))); };
  std::cout << grad(norm)(array({3.0f, 4.0f})) << " " << grad(norm)(zeros({2})) << "\n";

  const auto safe_norm = [](const Array& x) {
    const Array s = sum(square(x));
    const Array positive = where(s > 0, s, 1);
    return where(s > 0, sqrt(positive), 0);
  };
  std::cout << grad(safe_norm)(array({3.0f, 4.0f})) << " " << grad(safe_norm)(zeros({2})) << "\n";

  try {
    grad(wave)(x);
  } catch (const UserError& e) {
    std::cout << e.what() << "\n";
  }
}
