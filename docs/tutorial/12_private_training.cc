// Lesson 12: private training, sharded.
#include <tessera/format.h>
#include <tessera/privacy/privacy.h>
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Model {
  Array weights, bias;
};

Array loss_fn(const Model& model, const Array& x, const Array& y) {
  const Array logits = matmul(x, model.weights) + model.bias;
  return -mean(sum(one_hot(y, 2) * log_softmax(logits), {.axis = -1}));
}

void say(const std::string& line) {
  if (process_index() == 0) std::cout << line << std::endl;
}

int main() {
  initialize({.devices = "cpu:8", .cluster = Cluster::mpi({.share_devices = true})});
  const int64_t count = 4096;
  const Array points = random::normal(random::key(0), {count, 8});
  const Array labels = astype(sum(points, {.axis = 1}) > 0, int32);

  const privacy::Plan plan = privacy::make_plan({.num_examples = count,
                                                 .steps = 60,
                                                 .expected_batch_size = 512,
                                                 .epsilon = 2,
                                                 .delta = 1e-5,
                                                 .l2_clip_norm = 1});
  say(to_string(plan));

  const Mesh mesh(devices(), {"data"});
  const NamedSharding rows(mesh, P("data")), everywhere(mesh, P());
  const Array x = device_put(points, rows), y = device_put(labels, rows);
  const Model start = device_put(Model{zeros({8, 2}), zeros({2})}, everywhere);

  const privacy::Trainer trainer(plan, loss_fn, optim::sgd(1.0));
  auto state = trainer.init(start, privacy::reproducible(random::key(1)));
  while (trainer.steps_done(state) < plan.steps()) {
    const privacy::StepReport report = trainer.step(state, x, y);
    if (report.step % 20 == 0)
      say(fmt::format("step {}: epsilon {:.2f} of {:.2f} spent", report.step,
                      trainer.epsilon(state), plan.epsilon()));
  }

  const Model model = trainer.release(state);
  const auto accuracy = jit([](const Model& model, const Array& x, const Array& y) {
    const Array predicted = argmax(matmul(x, model.weights) + model.bias, {.axis = -1});
    return mean(astype(predicted == y, float32));
  });
  say(fmt::format("accuracy {:.2f}", accuracy(model, x, y).item<float>()));

  try {
    trainer.step(state, x, y);
  } catch (const UserError& error) {
    say(error.what());
  }
}
