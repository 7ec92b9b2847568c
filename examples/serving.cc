// A model server without a framework. Weights come from a safetensors file. Threads share one
// compiled program and answer requests from a queue, as many together as are waiting.
#include <tessera/tessera.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include "examples/timed.h"

using namespace tessera;

constexpr int64_t kFeatures = 64, kWidth = 256, kClasses = 10;
constexpr size_t kBatch = 16;

Array model(const std::map<std::string, Array>& weights, const Array& x) {
  const auto layer = [&](const std::string& name, const Array& v) {
    return matmul(v, weights.at(name + ".weight")) + weights.at(name + ".bias");
  };
  return softmax(layer("last", relu(layer("second", relu(layer("first", x))))));
}

class Server {
 public:
  Server(std::map<std::string, Array> weights, int threads) : weights_(std::move(weights)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Server() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    waiting_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns a future for the probabilities of the classes.
  std::future<std::vector<float>> ask(std::vector<float> features) {
    Request request{std::move(features), {}};
    auto answer = request.answer.get_future();
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(request));
    }
    waiting_.notify_one();
    return answer;
  }

 private:
  struct Request {
    std::vector<float> features;
    std::promise<std::vector<float>> answer;
  };

  void work() {
    while (true) {
      std::vector<Request> batch;
      {
        std::unique_lock lock(mutex_);
        waiting_.wait(lock, [&] { return ended_ || !queue_.empty(); });
        if (queue_.empty()) return;
        for (; !queue_.empty() && batch.size() < kBatch; queue_.pop_front())
          batch.push_back(std::move(queue_.front()));
      }
      answer(batch);
    }
  }

  // Answers a batch. It is filled up with zeros, so that one program serves batches of every size.
  void answer(std::vector<Request>& batch) {
    std::vector<float> rows(kBatch * kFeatures);
    for (size_t i = 0; i < batch.size(); ++i)
      std::copy(batch[i].features.begin(), batch[i].features.end(), &rows[i * kFeatures]);
    const auto out = view<float>(run_(weights_, adopt(std::move(rows), {kBatch, kFeatures})));
    for (size_t i = 0; i < batch.size(); ++i) {
      const float* row = out.data() + i * kClasses;
      batch[i].answer.set_value({row, row + kClasses});
    }
  }

  std::map<std::string, Array> weights_;
  Jitted<decltype(&model)> run_ = jit(&model);
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Request> queue_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

int main(int argc, char** argv) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("model" + std::to_string(std::random_device()()) + ".safetensors");
  std::map<std::string, Array> made;
  random::Key key = random::key(0);
  for (const auto& [name, in, out] :
       {std::tuple("first", kFeatures, kWidth), std::tuple("second", kWidth, kWidth),
        std::tuple("last", kWidth, kClasses)}) {
    key = random::fold_in(key, in + out);
    made[name + std::string(".weight")] = initializers::glorot_normal()(key, {in, out}, float32);
    made[name + std::string(".bias")] = zeros(out);
  }
  save_safetensors(file, made);
  const auto weights = load_safetensors(file);
  std::filesystem::remove(file);

  const int64_t count = 1000;
  const Array questions = random::normal(random::key(1), {count, kFeatures});
  const auto values = view<float>(questions);
  Server server(weights, 4);
  const auto ask_all = [&] {
    std::vector<std::future<std::vector<float>>> answers;
    for (int64_t i = 0; i < count; ++i) {
      const float* row = values.data() + i * kFeatures;
      answers.push_back(server.ask({row, row + kFeatures}));
    }
    std::vector<float> all;
    for (auto& answer : answers)
      for (float p : answer.get()) all.push_back(p);
    return all;
  };
  const Array got = array(ask_all()), expected = model(made, questions);
  const double off = max(abs(reshape(got, {count, kClasses}) - expected)).item<double>();
  std::cout << count << " answers of four threads, off one call for all by " << off << "\n";
  print_times(argc, argv, sum(square(got)).item<double>(), ask_all);
  return off < 1e-6 ? 0 : 1;
}
