// Lesson 4: vmap, from one example to many.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Model {
  Array weights, bias;
};

Array predict(const Model& model, const Array& features) {
  return dot(model.weights, features) + model.bias;
}

Array loss(const Model& model, const Array& features, const Array& target) {
  return square(predict(model, features) - target);
}

int main() {
  const Model model{array({1.0f, -2.0f, 0.5f}), 1.0f};
  const Array one = array({1.0f, 1.0f, 2.0f});
  std::cout << predict(model, one) << "\n";

  const Array batch = reshape(arange(12.0f), {4, 3});
  const auto predict_all = vmap(predict, {.in_axes = {None, 0}});
  std::cout << predict_all(model, batch) << "\n";

  std::cout << vmap(predict, {.in_axes = {None, 1}})(model, transpose(batch)) << "\n";

  const auto distance = [](const Array& a, const Array& b) { return sum(abs(a - b)); };
  const auto to_all = vmap(distance, {.in_axes = {None, 0}});
  const auto all_to_all_pairs = vmap(to_all, {.in_axes = {0, None}});
  std::cout << all_to_all_pairs(batch, batch) << "\n";

  const Array targets = arange(4.0f);
  const auto per_example = vmap(grad(loss), {.in_axes = {None, 0, 0}});
  const Model gradients = per_example(model, batch, targets);
  std::cout << gradients.weights << "\n" << gradients.bias << "\n";

  const auto centred = [](const Array& x) { return x - pmean(x, "batch"); };
  std::cout << vmap(centred, {.axis_name = "batch"})(targets) << "\n";

  const random::Key keys = random::split(random::key(0), 3);
  const auto draw = [](const random::Key& key) { return random::randint(key, {4}, 0, 10); };
  std::cout << vmap(draw)(keys) << "\n";

  try {
    vmap(loss, {.in_axes = {None, 0, 0}})(model, batch, arange(5.0f));
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
}
