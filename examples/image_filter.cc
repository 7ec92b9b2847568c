// Edges in a batch of grey images, as in Canny's detector: a Gaussian blur in two passes, Sobel's
// gradients, and thinning to lines one pixel wide.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

// Returns the images (n, height, width) filtered by a kernel along one axis. The border is
// repeated.
Array along(const Array& images, int64_t axis, const std::vector<double>& kernel) {
  const auto radius = static_cast<int64_t>(kernel.size()) / 2;
  std::vector<std::pair<int64_t, int64_t>> widths(3, {0, 0});
  widths[axis] = {radius, radius};
  const Array padded = pad(images, widths, {.mode = PadMode::kEdge});
  Array out = zeros_like(images);
  for (size_t k = 0; k < kernel.size(); ++k)
    if (kernel[k] != 0) out += kernel[k] * slice_in_dim(padded, k, k + images.shape(axis), axis);
  return out;
}

std::vector<double> gaussian(double deviation) {
  std::vector<double> kernel;
  double total = 0;
  const int radius = static_cast<int>(3 * deviation);
  for (int i = -radius; i <= radius; ++i) {
    kernel.push_back(std::exp(-0.5 * i * i / (deviation * deviation)));
    total += kernel.back();
  }
  for (double& k : kernel) k /= total;
  return kernel;
}

struct Edges {
  Array blurred, strength, lines;
};

Edges detect(const Array& images, double deviation, double threshold) {
  const std::vector<double> blur = gaussian(deviation);
  const Array smooth = along(along(images, 1, blur), 2, blur);
  const Array gy = along(along(smooth, 1, {-1, 0, 1}), 2, {1, 2, 1});
  const Array gx = along(along(smooth, 2, {-1, 0, 1}), 1, {1, 2, 1});
  const Array strength = hypot(gx, gy);
  // A pixel stays if it is the strongest of its neighbours across the edge, which has one of four
  // directions.
  const auto beside = [&](int64_t dy, int64_t dx) {
    const Axes axes = {1, 2};
    return maximum(roll(strength, {dy, dx}, axes), roll(strength, {-dy, -dx}, axes));
  };
  const Array octant = remainder(round(4 * arctan2(gy, gx) / M_PI), 4);
  const Array rival =
      where(octant == 0, beside(0, 1),
            where(octant == 1, beside(1, 1), where(octant == 2, beside(1, 0), beside(1, -1))));
  return {smooth, strength, (strength >= rival) & (strength > threshold)};
}

int main(int argc, char** argv) {
  // The images show discs with different radii, on a slope, with noise.
  const int64_t n = 512;
  const Array y = expand_dims(arange(n, float32), 1), x = arange(n, float32);
  const Array radii = reshape(array({60.f, 120.f, 180.f, 240.f}), {4, 1, 1});
  const Array distance = hypot(y - 256, x - 256);
  const Array images = where(distance < radii, 1.0f, 0.0f) + 0.2f * x / n +
                       0.05f * random::normal(random::key(0), {4, n, n});
  const auto run = jit([](const Array& batch) { return detect(batch, 2.0, 0.4); });
  const Edges edges = run(images);
  const Array count = sum(edges.lines, {.axis = {1, 2}});
  const Array mean_distance = sum(where(edges.lines, distance, 0), {.axis = {1, 2}}) / count;
  std::cout << "pixels of lines " << count << ", at mean distance " << mean_distance
            << " from the centre\n";

  // The check: the blur of one pixel in double precision, and the distance of the lines from the
  // circles.
  const std::vector<double> kernel = gaussian(2.0), pixels = to_vector<double>(index(images, {0}));
  double expected = 0;
  for (int i = -6; i <= 6; ++i)
    for (int j = -6; j <= 6; ++j)
      expected += kernel[i + 6] * kernel[j + 6] * pixels[(100 + i) * n + 300 + j];
  const double off = std::abs(index(edges.blurred, {0, 100, 300}).item<double>() - expected);
  const double radius_off = max(abs(mean_distance - ravel(radii))).item<double>();
  std::cout << "the blur is off by " << off << ", circles by " << radius_off << " pixels\n";
  print_times(argc, argv, sum(edges.strength).item<double>(), [&] { run(images); });
  return off < 1e-5 && radius_off < 1 ? 0 : 1;
}
