// contains: returns whether a list (of dimensions or names) has an element.
#pragma once

#include <algorithm>
#include <iterator>

namespace tessera {

template <class List, class T>
bool contains(const List& list, const T& element) {
  return std::find(std::begin(list), std::end(list), element) != std::end(list);
}

}  // namespace tessera
