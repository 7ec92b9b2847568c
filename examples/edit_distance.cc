// Edit distances of many pairs of words. The table of the dynamic program is computed one diagonal
// after the other, because the entries of a diagonal do not depend on each other.
#include <tessera/tessera.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

#include "examples/timed.h"

using namespace tessera;

// Returns the least number of insertions, deletions and substitutions that turn a into b, two
// vectors of length n. Entry i of diagonal d is the distance between the first i elements of a and
// the first d - i elements of b; outside of the table it is a large number.
Array edit_distance(const Array& a, const Array& b) {
  const int64_t n = a.size(), large = 2 * n + 1;
  const Array i = arange(n + 1);
  const Array before_a =
      // Entry i is the last of the first i elements of a.
      concatenate({array({-1}), a});
  const Array reversed = concatenate({full(n, -2), flip(b), full(n + 1, -2)});
  const auto diagonal = [&](const std::pair<Array, Array>& two, const Array& d) {
    const auto& [older, last] = two;
    const Array shifted = roll(last, 1), corner = roll(older, 1);
    // Entry i is element d - i of b, counted from 1.
    const Array of_b = dynamic_slice_in_dim(reversed, 2 * n - d, n + 1);
    Array next = minimum(minimum(last, shifted) + 1, corner + astype(before_a != of_b, int32));
    next = where(i == 0, d, where(i == d, d, next));
    next = where((i > d) | (d - i > n), large, next);
    return std::pair(std::pair(last, next), None);
  };
  const Array first = where(i == 0, 0, large), second = where(i <= 1, 1, large);
  const auto last = scan(diagonal, std::pair(first, second), arange(2, 2 * n + 1)).first;
  return index(last.second, {-1});
}

// Computes the distance by the textbook's table, for the check.
int by_table(const int* a, const int* b, int n) {
  std::vector<int> row(n + 1);
  std::iota(row.begin(), row.end(), 0);
  for (int i = 1; i <= n; ++i) {
    int corner = std::exchange(row[0], i);
    for (int j = 1; j <= n; ++j) {
      const int substituted = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[n];
}

int main(int argc, char** argv) {
  const int64_t pairs = 256, n = 200;
  const auto [a, b] = random::split<2>(random::key(0));
  const Array words = random::randint(a, {pairs, n}, 0, 4),
              others = random::randint(b, {pairs, n}, 0, 4);
  const auto distances =
      jit([](const Array& x, const Array& y) { return vmap(edit_distance)(x, y); });
  const Array found = distances(words, others);
  std::cout << "mean distance of " << pairs << " pairs of random words of " << n
            << " letters: " << mean(found) << "\n";

  const std::vector<int> x = to_vector<int>(words), y = to_vector<int>(others),
                         d = to_vector<int>(found);
  int wrong = 0;
  for (int64_t p = 0; p < pairs; ++p) wrong += by_table(&x[p * n], &y[p * n], n) != d[p];
  std::cout << wrong << " of them differ from the textbook's table\n";
  print_times(argc, argv, sum(found).item<double>(), [&] { distances(words, others); });
  return wrong;
}
