// LaneRoutines for one instruction set. The files lanes_*.cc choose the instruction set and include
// this file, each in a namespace of its own. It uses nothing of the standard library: a function
// shared with other files would be compiled for a processor on which those files may not run.
//
// Passes: T. G. Stockham, "High-speed convolution and correlation" (1966), as in C. Van Loan,
// "Computational Frameworks for the Fast Fourier Transform" (1992), 1.7. Odd radices: R. C.
// Singleton, "An algorithm for computing the mixed radix fast Fourier transform" (1969).

#define TESSERA_INLINE inline __attribute__((always_inline))

template <class T, int W>
struct LaneCode {
  typedef T V __attribute__((vector_size(W * sizeof(T)), may_alias));
  typedef T Unaligned __attribute__((vector_size(W * sizeof(T)), aligned(sizeof(T)), may_alias));
  struct Point {
    V re, im;
  };
  struct Complex {
    T re, im;
  };

  static TESSERA_INLINE Point* points(T* p) { return reinterpret_cast<Point*>(p); }
  static TESSERA_INLINE const Point* points(const T* p) {
    return reinterpret_cast<const Point*>(p);
  }
  static TESSERA_INLINE V load_vector(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static TESSERA_INLINE void store_vector(T* p, V v) { *reinterpret_cast<Unaligned*>(p) = v; }

  static TESSERA_INLINE Point add(Point a, Point b) { return {a.re + b.re, a.im + b.im}; }
  static TESSERA_INLINE Point sub(Point a, Point b) { return {a.re - b.re, a.im - b.im}; }
  static TESSERA_INLINE Point times_minus_i(Point a) { return {a.im, -a.re}; }
  static TESSERA_INLINE Point times(Point a, Complex w) {
    return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
  }
  static TESSERA_INLINE Point times(Point a, Point w) {
    return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
  }
  static TESSERA_INLINE Point conj(Point a) { return {a.re, -a.im}; }
  static TESSERA_INLINE Point swapped(Point a) { return {a.im, a.re}; }

  // --- Butterflies ---

  static TESSERA_INLINE void butterfly4(Point& x0, Point& x1, Point& x2, Point& x3) {
    const Point a = add(x0, x2), b = sub(x0, x2), c = add(x1, x3), d = times_minus_i(sub(x1, x3));
    x0 = add(a, c);
    x1 = add(b, d);
    x2 = sub(a, c);
    x3 = sub(b, d);
  }

  template <int R>
  static TESSERA_INLINE void butterfly(Point* x, const T* roots) {
    if constexpr (R == 2) {
      const Point a = x[0];
      x[0] = add(a, x[1]);
      x[1] = sub(a, x[1]);
    } else if constexpr (R == 4) {
      butterfly4(x[0], x[1], x[2], x[3]);
    } else if constexpr (R == 8) {
      butterfly8(x);
    } else {
      odd_butterfly<R>(x, roots);
    }
  }
  static TESSERA_INLINE void butterfly8(Point* x) {
    const T h = static_cast<T>(0.70710678118654752440);
    Point e[4] = {x[0], x[2], x[4], x[6]}, o[4] = {x[1], x[3], x[5], x[7]};
    butterfly4(e[0], e[1], e[2], e[3]);
    butterfly4(o[0], o[1], o[2], o[3]);
    o[1] = {(o[1].re + o[1].im) * h, (o[1].im - o[1].re) * h};
    o[2] = times_minus_i(o[2]);
    o[3] = {(o[3].im - o[3].re) * h, (o[3].re + o[3].im) * -h};
    for (int k = 0; k < 4; ++k) {
      x[k] = add(e[k], o[k]);
      x[k + 4] = sub(e[k], o[k]);
    }
  }
  // Uses the sums and differences of x_j and x_{R-j}, which halves the number of products.
  template <int R>
  static TESSERA_INLINE void odd_butterfly(Point* x, const T* roots) {
    constexpr int H = R / 2;
    Point plus[H + 1], minus[H + 1];
    Point sum = x[0];
#pragma GCC unroll 8
    for (int j = 1; j <= H; ++j) {
      plus[j] = add(x[j], x[R - j]);
      minus[j] = sub(x[j], x[R - j]);
      sum = add(sum, plus[j]);
    }
    const Point first = x[0];
#pragma GCC unroll 8
    for (int k = 1; k <= H; ++k) {
      Point even = first, odd = {V{} + 0, V{} + 0};
#pragma GCC unroll 8
      for (int j = 1; j <= H; ++j) {
        const T c = roots[j * k % R], s = roots[R + j * k % R];
        even = {even.re + plus[j].re * c, even.im + plus[j].im * c};
        odd = {odd.re + minus[j].re * s, odd.im + minus[j].im * s};
      }
      const Point turned = times_minus_i(odd);
      x[k] = add(even, turned);
      x[R - k] = sub(even, turned);
    }
    x[0] = sum;
  }

  // --- Passes ---

  template <int R>
  static void run_pass(const Pass<T>& p, const Point* __restrict x, Point* __restrict y) {
    const int64_t s = p.stride, jump = s * p.groups;
    for (int64_t q = 0; q < s; ++q) {
      Point v[R];
#pragma GCC unroll 16
      for (int j = 0; j < R; ++j) v[j] = x[q + jump * j];
      butterfly<R>(v, p.roots);
#pragma GCC unroll 16
      for (int j = 0; j < R; ++j) y[q + s * j] = v[j];
    }
    for (int64_t g = 1; g < p.groups; ++g) {
      const Complex* w = reinterpret_cast<const Complex*>(p.twiddles) + g * (R - 1);
      const Point* from = x + g * s;
      Point* to = y + g * s * R;
      for (int64_t q = 0; q < s; ++q) {
        Point v[R];
#pragma GCC unroll 16
        for (int j = 0; j < R; ++j) v[j] = from[q + jump * j];
        butterfly<R>(v, p.roots);
        to[q] = v[0];
#pragma GCC unroll 16
        for (int j = 1; j < R; ++j) to[q + s * j] = times(v[j], w[j - 1]);
      }
    }
  }

  static T* transform(const Pass<T>* passes, int count, T* a, T* b) {
    for (int i = 0; i < count; ++i) {
      const Point* x = points(a);
      Point* y = points(b);
      switch (passes[i].radix) {
        case 2:
          run_pass<2>(passes[i], x, y);
          break;
        case 3:
          run_pass<3>(passes[i], x, y);
          break;
        case 4:
          run_pass<4>(passes[i], x, y);
          break;
        case 5:
          run_pass<5>(passes[i], x, y);
          break;
        case 7:
          run_pass<7>(passes[i], x, y);
          break;
        case 8:
          run_pass<8>(passes[i], x, y);
          break;
        case 11:
          run_pass<11>(passes[i], x, y);
          break;
        default:
          run_pass<13>(passes[i], x, y);
          break;
      }
      T* const other = a;
      a = b;
      b = other;
    }
    return a;
  }

  // --- Between memory and lanes ---

  template <int... I>
  struct Indices {};
  template <int N, int... I>
  struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
  template <int... I>
  struct MakeIndices<0, I...> {
    using type = Indices<I...>;
  };
  using All = typename MakeIndices<W>::type;

  template <int... I>
  static TESSERA_INLINE Point split(V a, V b, Indices<I...>) {
    return {__builtin_shufflevector(a, b, (2 * I)...),
            __builtin_shufflevector(a, b, (2 * I + 1)...)};
  }
  template <int... I>
  static TESSERA_INLINE void merge(Point p, V& a, V& b, Indices<I...>) {
    a = __builtin_shufflevector(p.re, p.im, (I / 2 + I % 2 * W)...);
    b = __builtin_shufflevector(p.re, p.im, (W / 2 + I / 2 + I % 2 * W)...);
  }
  template <int... I>
  static TESSERA_INLINE V reversed(V a, Indices<I...>) {
    return __builtin_shufflevector(a, a, (W - 1 - I)...);
  }
  // Loads W consecutive complex numbers.
  static TESSERA_INLINE Point load_complex(const T* p) {
    return split(load_vector(p), load_vector(p + W), All{});
  }
  static TESSERA_INLINE void store_complex(T* p, Point x) {
    V a, b;
    merge(x, a, b, All{});
    store_vector(p, a);
    store_vector(p + W, b);
  }

  template <int D, int... I>
  static TESSERA_INLINE void exchange(V& a, V& b, Indices<I...>) {
    const V low = __builtin_shufflevector(a, b, (I & D ? W + (I - D) : I)...);
    b = __builtin_shufflevector(a, b, (I & D ? W + I : I + D)...);
    a = low;
  }
  // Transposes a W x W matrix: exchanges the two blocks off the diagonal, for every block size from
  // W down to 2.
  template <int D = W / 2>
  static TESSERA_INLINE void transpose(V* rows) {
    if constexpr (D > 0) {
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i)
        if (!(i & D)) exchange<D>(rows[i], rows[i + D], All{});
      transpose<D / 2>(rows);
    }
  }

  static TESSERA_INLINE int smaller(int a, int b) { return a < b ? a : b; }

  // Loads blocks of W / 2 points of W lines, as long as there are whole blocks. Returns how many
  // points it has loaded.
  static int64_t load_lines(T* to, const LaneView<const T>& from) {
    Point* out = points(to);
    int64_t i = 0;
    for (; i + W / 2 <= from.points; i += W / 2) {
      V rows[W];
#pragma GCC unroll 16
      for (int l = 0; l < W; ++l) rows[l] = load_vector(from.data + 2 * (i + l * from.lane_stride));
      transpose(rows);
#pragma GCC unroll 16
      for (int j = 0; j < W / 2; ++j) {
        const Point p = {rows[2 * j], rows[2 * j + 1]};
        out[i + j] = from.swapped ? swapped(p) : p;
      }
    }
    return i;
  }
  static int64_t store_lines(const T* from, const LaneView<T>& to, T scale) {
    const Point* in = points(from);
    int64_t i = 0;
    for (; i + W / 2 <= to.points; i += W / 2) {
      V rows[W];
#pragma GCC unroll 16
      for (int j = 0; j < W / 2; ++j) {
        const Point p = to.swapped ? swapped(in[i + j]) : in[i + j];
        rows[2 * j] = p.re * scale;
        rows[2 * j + 1] = p.im * scale;
      }
      transpose(rows);
#pragma GCC unroll 16
      for (int l = 0; l < W; ++l) store_vector(to.data + 2 * (i + l * to.lane_stride), rows[l]);
    }
    return i;
  }

  // Loads the points from `begin` on, one by one, of up to W lanes.
  static void load_points(T* to, const LaneView<const T>& from, int64_t begin) {
    for (int64_t i = begin; i < from.points; ++i) {
      T* re = to + i * 2 * W;
      T* im = re + W;
      for (int l = 0; l < W; ++l) {
        const T* x = from.data + 2 * (i * from.point_stride + l * from.lane_stride);
        re[l] = l < from.lanes ? x[from.swapped] : 0;
        im[l] = l < from.lanes ? x[!from.swapped] : 0;
      }
    }
  }
  static void store_points(const T* from, const LaneView<T>& to, T scale, int64_t begin) {
    for (int64_t i = begin; i < to.points; ++i) {
      const T* re = from + i * 2 * W;
      const T* im = re + W;
      for (int l = 0; l < to.lanes; ++l) {
        T* x = to.data + 2 * (i * to.point_stride + l * to.lane_stride);
        x[to.swapped] = re[l] * scale;
        x[!to.swapped] = im[l] * scale;
      }
    }
  }

  // Returns the view of the lanes in buffer g.
  template <class View>
  static TESSERA_INLINE View group(View view, int g) {
    view.data += 2 * g * W * view.lane_stride;
    view.lanes = smaller(W, view.lanes - g * W);
    return view;
  }

  static void load(T* const* to, const LaneView<const T>& from) {
    const int whole = from.lanes / W, groups = (from.lanes + W - 1) / W;
    const bool across = from.lane_stride == 1, along = from.point_stride == 1;
    if (across)
      for (int64_t i = 0; i < from.points; ++i)
        for (int g = 0; g < whole; ++g) {
          const Point p = load_complex(from.data + 2 * (i * from.point_stride + g * W));
          points(to[g])[i] = from.swapped ? swapped(p) : p;
        }
    for (int g = across ? whole : 0; g < groups; ++g) {
      const LaneView<const T> view = group(from, g);
      load_points(to[g], view, along && view.lanes == W ? load_lines(to[g], view) : 0);
    }
  }
  static void store(T* const* from, const LaneView<T>& to, T scale) {
    const int whole = to.lanes / W, groups = (to.lanes + W - 1) / W;
    const bool across = to.lane_stride == 1, along = to.point_stride == 1;
    if (across)
      for (int64_t i = 0; i < to.points; ++i)
        for (int g = 0; g < whole; ++g) {
          const Point x = points(from[g])[i], p = {x.re * scale, x.im * scale};
          store_complex(to.data + 2 * (i * to.point_stride + g * W), to.swapped ? swapped(p) : p);
        }
    for (int g = across ? whole : 0; g < groups; ++g) {
      const LaneView<T> view = group(to, g);
      const bool lines = along && view.lanes == W;
      store_points(from[g], view, scale, lines ? store_lines(from[g], view, scale) : 0);
    }
  }

  static void turn(T* const* to, const T* from, int64_t block_points, int64_t row, int lanes,
                   int64_t count) {
    for (int64_t i = 0; i < count; i += W) {
      const int n = count - i < W ? static_cast<int>(count - i) : W;
      for (int first = 0; first < lanes; first += W) {
        const Point* block = points(from) + i / W * block_points + row + first;
        V re[W], im[W];
#pragma GCC unroll 16
        for (int l = 0; l < W; ++l) {
          re[l] = first + l < lanes ? block[l].re : V{};
          im[l] = first + l < lanes ? block[l].im : V{};
        }
        transpose(re);
        transpose(im);
        Point* out = points(to[first / W]) + i;
        for (int j = 0; j < n; ++j) out[j] = {re[j], im[j]};
      }
    }
  }

  // --- Products ---

  static void multiply(T* to, const T* from, const T* table, int64_t count, bool swap_in,
                       bool swap_out) {
    const Point* x = points(from);
    const Complex* w = reinterpret_cast<const Complex*>(table);
    Point* y = points(to);
    for (int64_t i = 0; i < count; ++i) {
      const Point p = times(swap_in ? swapped(x[i]) : x[i], w[i]);
      y[i] = swap_out ? swapped(p) : p;
    }
  }
  static void twist(T* to, const T* from, const T* table, const T* lanes, int64_t count) {
    const Point* x = points(from);
    const Point* v = points(lanes);
    const Complex* w = reinterpret_cast<const Complex*>(table);
    Point* y = points(to);
    for (int64_t i = 0; i < count; ++i) y[i] = times(x[i], times(v[i], w[i]));
  }
  static void product(T* to, const T* a, const T* b, int64_t n, T scale, bool swap_in) {
    int64_t i = 0;
    for (; i + W <= n; i += W) {
      const Point x = load_complex(a + 2 * i);
      const Point p = times(swap_in ? swapped(x) : x, load_complex(b + 2 * i));
      store_complex(to + 2 * i, {p.re * scale, p.im * scale});
    }
    for (; i < n; ++i) {
      const T re = a[2 * i + swap_in], im = a[2 * i + !swap_in];
      const T c = b[2 * i], s = b[2 * i + 1];
      to[2 * i] = (re * c - im * s) * scale;
      to[2 * i + 1] = (re * s + im * c) * scale;
    }
  }

  // --- Real lines by complex ones of half the length ---
  // W. H. Press et al., "Numerical Recipes", 12.3. E and O are the transforms of the even and odd
  // elements, and z = E + iO. E and O at h - k are the conjugates of those at k, so z at k and at h
  // - k yields both.

  template <class P, class W1>
  static TESSERA_INLINE void unpack_pair(P a, P b, W1 w, P& low, P& high) {
    const T half = static_cast<T>(0.5);
    const P even = {(a.re + b.re) * half, (a.im - b.im) * half};
    const P odd = {(a.im + b.im) * half, (b.re - a.re) * half};
    const P turned = {odd.re * w.re - odd.im * w.im, odd.re * w.im + odd.im * w.re};
    low = {even.re + turned.re, even.im + turned.im};
    high = {even.re - turned.re, turned.im - even.im};
  }
  // The inverse of unpack_pair, except that results are doubled and have their parts exchanged.
  template <class P, class W1>
  static TESSERA_INLINE void pack_pair(P a, P b, W1 w, P& low, P& high) {
    const P even = {a.re + b.re, a.im - b.im};
    const P turned = {a.re - b.re, a.im + b.im};
    const P odd = {turned.re * w.re + turned.im * w.im, turned.im * w.re - turned.re * w.im};
    low = {even.im + odd.re, even.re - odd.im};
    high = {odd.re - even.im, even.re + odd.im};
  }

  static void unpack_real(T* to, const T* z, const T* table, int64_t h) {
    const Point* in = points(z);
    Point* out = points(to);
    const Complex* w = reinterpret_cast<const Complex*>(table);
    for (int64_t k = 0; k <= h / 2; ++k)
      unpack_pair(in[k], in[k == 0 ? 0 : h - k], w[k], out[k], out[h - k]);
    out[0].im = V{};
    out[h].im = V{};
  }
  static void pack_real(T* z, const T* from, const T* table, int64_t h) {
    const Point* in = points(from);
    Point* out = points(z);
    const Complex* w = reinterpret_cast<const Complex*>(table);
    Point ignored;
    const Point first = {in[0].re, V{}}, last = {in[h].re, V{}};
    pack_pair(first, last, w[0], out[0], ignored);
    for (int64_t k = 1; k <= h / 2; ++k) pack_pair(in[k], in[h - k], w[k], out[k], out[h - k]);
  }

  static TESSERA_INLINE Point reversed(Point p) {
    return {reversed(p.re, All{}), reversed(p.im, All{})};
  }
  // Calls pair for blocks of W points from both ends, as long as the blocks do not meet, then for
  // single points.
  template <class Pair>
  static TESSERA_INLINE void both_ends(T* to, const T* from, const T* table, int64_t h,
                                       int64_t begin, int64_t end, Pair pair) {
    int64_t k = begin;
    for (; k + W <= end && 2 * (k + W - 1) < h - W; k += W) {
      Point low, high;
      pair(load_complex(from + 2 * k), reversed(load_complex(from + 2 * (h - k - W + 1))),
           load_complex(table + 2 * k), low, high);
      store_complex(to + 2 * k, low);
      store_complex(to + 2 * (h - k - W + 1), reversed(high));
    }
    for (; k < end; ++k) {
      Complex low, high;
      pair(Complex{from[2 * k], from[2 * k + 1]}, Complex{from[2 * (h - k)], from[2 * (h - k) + 1]},
           Complex{table[2 * k], table[2 * k + 1]}, low, high);
      to[2 * k] = low.re;
      to[2 * k + 1] = low.im;
      to[2 * (h - k)] = high.re;
      to[2 * (h - k) + 1] = high.im;
    }
  }
  static void unpack_line(T* to, const T* z, const T* table, int64_t h, int64_t begin,
                          int64_t end) {
    if (begin == 0) {
      const T re = z[0], im = z[1];
      to[0] = re + im;
      to[2 * h] = re - im;
      to[1] = to[2 * h + 1] = 0;
      begin = 1;
    }
    both_ends(to, z, table, h, begin, end, [](auto a, auto b, auto w, auto& low, auto& high) {
      unpack_pair(a, b, w, low, high);
    });
  }
  static void pack_line(T* z, const T* from, const T* table, int64_t h, int64_t begin,
                        int64_t end) {
    if (begin == 0) {
      const T first = from[0], last = from[2 * h];
      z[0] = first - last;
      z[1] = first + last;
      begin = 1;
    }
    both_ends(z, from, table, h, begin, end,
              [](auto a, auto b, auto w, auto& low, auto& high) { pack_pair(a, b, w, low, high); });
  }

  static constexpr LaneRoutines<T> routines() {
    return {W,    transform,   load,      store,       multiply,  twist,
            turn, unpack_real, pack_real, unpack_line, pack_line, product};
  }
};
