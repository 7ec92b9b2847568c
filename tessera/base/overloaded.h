// Overloaded: combines several callables into one, for std::visit: std::visit(Overloaded{[](A) {},
// [](B) {}}, variant).
#pragma once

namespace tessera {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace tessera
