// Lesson 1: arrays, their shapes and their dtypes.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  const Array x = arange(6.0f);
  const Array table = array({{1, 2, 3}, {4, 5, 6}});
  std::cout << x << "\n" << table << "\n";

  std::cout << "x:     " << x.shape() << " " << x.dtype() << "\n";
  std::cout << "table: " << table.shape() << " " << table.dtype() << "\n";

  std::cout << 2 * x + 1 << "\n";
  std::cout << round(exp(-x / 2), 4) << "\n";

  const Array column = array({{10}, {20}});
  std::cout << table + column << "\n";

  Array y = x;
  y += 100;
  std::cout << "x is still " << x << "\n";
  std::cout << "y is now   " << y << "\n";

  std::cout << at(table)[{0, 1}].set(-2) << "\n";
  std::cout << "the table still holds " << index(table, {0, 1}) << "\n";

  std::cout << "row 0:    " << index(table, 0) << "\n";
  std::cout << "column 1: " << index(table, {Slice(None, None), 1}) << "\n";
  std::cout << "large:    " << where(table > 3, table, 0) << "\n";

  std::cout << sum(table) << " " << sum(table, {.axis = 0}) << " " << mean(table, {.axis = 1})
            << "\n";
  std::cout << matmul(table, transpose(table)) << "\n";

  const Array half = astype(x, bfloat16);
  std::cout << "table / 2 is " << (table / 2).dtype() << "\n";
  std::cout << "half * 2.5 is " << (half * 2.5).dtype() << "\n";
  std::cout << "half * x is " << (half * x).dtype() << "\n";

  const float total = sum(x).item<float>();
  const std::vector<float> host = to_vector<float>(x);
  std::cout << total << " " << host.back() << "\n";

  const random::Key key = random::key(0);
  const auto [first, second] = random::split<2>(key);
  std::cout << random::uniform(first, {3}) << "\n";
  std::cout << random::uniform(second, {3}) << "\n";
  std::cout << random::uniform(first, {3}) << "\n";

  try {
    std::cout << x + table << "\n";
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
}
