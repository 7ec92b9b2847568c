// Kernel -> LLVM IR with explicit fixed-width vectors.
//
// A vector has vector_bytes / (widest element) lanes, the same for all values of a kernel; `unroll`
// vectors are computed at a time. Rows longer than a block run in a main loop without masks, and
// the rest in a loop of masked vectors.
//
// Order of summation of a row reduction. It is the same on AVX2 and AVX-512. A granule is 64 bytes
// of the widest dtype, that is one or two vectors; K is the number of elements in 1, 2 or 4
// granules, chosen by the weight of the loop's arithmetic:
//   - element i of the innermost extent is added to partial result i mod K, in order of i, as long
//     as a whole run of K remains; the rest to partial result i mod granule;
//   - partial results j and j + K/2 are combined, then j and j + K/4, ...;
//   - the initial value comes first: init + total.
// Short rows that are unrolled have the same order (fusion/kernels/short_folds.cc), so a row has
// the same sum in a batch of any size.
// Column reductions go row by row. A sum of many rows, or of many runs of K, is a sum of sums of
// blocks (`LongSums`).
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "tessera/codegen/quotient.h"
#include "tessera/codegen/scalar_ops.h"
#include "tessera/fusion/kernel.h"
#include "tessera/fusion/kernels/kernel_body.h"

namespace tessera::codegen {

// The version of the generator, a part of the disk cache's key. Increase it whenever the same
// kernel would get other code.
inline constexpr int kCodegenVersion = 30;

// Adds the function `name` (a KernelFn) for a canonical kernel.
void emit_kernel(const Kernel& kernel, const Target& target, llvm::Module& module,
                 const std::string& name);
// Sets the attributes of every function: the CPU, and that it does not throw.
void set_function_attributes(llvm::Function& function, const Target& target);
// Returns whether the kernel computes elements one by one, some of them from transposed loads that
// tiles may replace (tiles.cc).
bool has_tile_loads(const Kernel& kernel);
// Returns whether rows have enough elements for vectors of so many lanes. Fewer would leave too
// many lanes without work.
bool fill_lanes(const Kernel& kernel, int lanes);
// Returns the number of lanes of every vector of the kernel.
int kernel_lanes(const Kernel& kernel, int vector_bytes);

// The lanes of a vector that are needed.
struct LaneMask {
  llvm::Value* lanes = nullptr;  // <L x i1>; null: all lanes
  llvm::Value* count = nullptr;  // i64: the first `count` lanes, if the mask has that form
  llvm::Value* full = nullptr;   // i1: all lanes are needed, if full vectors have masks, too
  llvm::Value* any = nullptr;    // i1: whether any lane is needed; null: at least one is
};

// Loads and stores of lanes. Addresses are pointers to lane 0. A vector of which no lane is needed
// (`any`) is read from zeros on the stack, since its own address may be far outside of the operand:
// even a load with all lanes masked off takes hundreds of cycles if the page is not mapped.
class Memory {
 public:
  explicit Memory(Ir& ir) : ir_(ir) {}
  // Loads lanes `stride` elements apart; zero for lanes outside of the mask.
  Val load(DType dtype, llvm::Value* pointer, int64_t stride, const LaneMask& mask);
  // Loads lane i from pointer + offsets[i] elements.
  Val gather(DType dtype, llvm::Value* pointer, llvm::Value* offsets, const LaneMask& mask);
  // Loads one element; the result is zero if `guard`, which may be null, is false.
  Val load_scalar(DType dtype, llvm::Value* pointer, llvm::Value* guard);
  void store(DType dtype, llvm::Value* pointer, int64_t stride, Val value, const LaneMask& mask,
             bool streaming);
  void scatter(DType dtype, llvm::Value* pointer, llvm::Value* offsets, Val value,
               const LaneMask& mask);
  void store_scalar(DType dtype, llvm::Value* pointer, Val value, llvm::Value* guard);
  llvm::Value* advance(DType dtype, llvm::Value* pointer, llvm::Value* elements);

  // These four are in strided.cc.
  bool takes_whole_vectors(DType dtype, int64_t stride, const LaneMask& mask) const;
  // Loads lanes `stride` elements apart, the first one at pointer[phase]; 0 <= phase < stride. If
  // `whole_rows`, the rest of the last lane's `stride` elements may be read, too.
  Val load_apart(DType dtype, llvm::Value* pointer, int64_t stride, int64_t phase, bool whole_rows,
                 const LaneMask& mask);
  // Stores lane i of column c at pointer[i * columns.size() + c].
  void store_columns(DType dtype, llvm::Value* pointer, std::span<const Val> columns,
                     const LaneMask& mask, bool streaming);
  // Loads pieces of `length` lanes from the addresses, one piece after the other: neighbours, or,
  // if `same`, one element for all lanes of a piece. The address of a piece is used only if one of
  // its lanes is in the mask.
  Val load_pieces(DType dtype, std::span<llvm::Value* const> pointers, int length, bool same,
                  const LaneMask& mask);
  // Returns whether the target has masked loads and stores of the element. Other elements are
  // masked through a copy or lane by lane.
  bool maskable(DType dtype) const { return maskable(storage(dtype)); }

  // These three are in tiles.cc.
  int least_tile_rows(DType dtype) const;
  // Loads a tile of `rows` elements from each of the addresses `stride` elements apart, one for
  // each lane, or `columns` of them if it is not null, and returns it transposed.
  llvm::AllocaInst* load_tile(DType dtype, llvm::Value* pointer, int64_t stride, int rows,
                              llvm::Value* columns);
  Val row_of_tile(DType dtype, llvm::AllocaInst* tile, llvm::Value* row);

 private:
  LaneMask part_of_mask(llvm::Value* wanted, int part, int lanes);
  llvm::Value* column_of_parts(std::vector<llvm::Value*> parts, int64_t column);
  void prefetch_ahead(llvm::Value* pointer);
  std::vector<llvm::Value*> rows_of_columns(std::vector<llvm::Value*> columns, int width);
  std::vector<llvm::Value*> load_run(llvm::Type* element, llvm::Value* pointer, int64_t stride,
                                     int rows, llvm::Value* columns);
  llvm::Type* storage(DType dtype) const;  // of the element, or of its real part if it is complex
  Val from_storage(DType dtype, llvm::Value* bits);
  llvm::Value* to_storage(DType dtype, llvm::Value* value, bool rounded);
  llvm::Value* load_lanes(llvm::Type* element, llvm::Value* pointer, int lanes,
                          const LaneMask& mask);
  void store_lanes(llvm::Value* value, llvm::Value* pointer, const LaneMask& mask, bool streaming);
  bool maskable(llvm::Type* element) const;
  llvm::Value* lane_pointers(DType dtype, llvm::Value* pointer, llvm::Value* offsets);
  llvm::Value* lane_pointer(DType dtype, llvm::Value* pointer, llvm::Value* offsets, int lane);
  llvm::Value* gather_halves_of_words(llvm::Value* pointer, llvm::Value* offsets,
                                      llvm::Value* lanes);
  LaneMask mask_of_pairs(const LaneMask& mask);
  // The real and the imaginary parts of a vector of complex numbers as they are in memory.
  Val parts_of_pairs(llvm::Value* pairs);
  llvm::Value* pairs_of_parts(const Val& parts);
  llvm::Value* joined(std::vector<llvm::Value*> vectors);
  llvm::Value* strided_offsets(int64_t stride);
  llvm::Value* zeros();

  Ir& ir_;
  llvm::AllocaInst* zeros_ = nullptr;
};

// The memory of a routine's own buffers extends to a multiple of this many bytes.
inline constexpr int64_t kPaddedBytes = 64;

class KernelEmitter {
 public:
  KernelEmitter(const Kernel& kernel, Ir& ir, llvm::Function* function);
  // Emits the body of a KernelFn.
  void run();
  // Emits code for all `elements` of the parallel index within a function, from the builder's
  // position on, and leaves the builder after the kernel. `padded` has the number of elements
  // of each buffer whose memory extends to a multiple of kPaddedBytes, and 0 for the others.
  void run_here(std::vector<llvm::Value*> buffers, std::vector<int64_t> padded, int64_t elements);

 private:
  using Value = llvm::Value;
  // A block of straight-line code to which instructions are still added while loops inside it are
  // emitted: a value that does not change in an inner loop is added at the end of an outer scope.
  // The last branch of a scope is made when the loop that interrupts it is closed.
  struct Scope {
    llvm::BasicBlock* tail;
    // For each node, its value, or a value for each vector.
    std::unordered_map<int, boost::container::small_vector<Val, 4>> values;
    // For each id, its sum (of an index) or pointer (of a load or store) in this scope.
    std::unordered_map<int, Value*> addresses;
    std::vector<std::vector<Value*>> flat_indices;         // flat mode: [vector][parallel dim]
    Value* index = nullptr;                                // of the loop that made the scope
    std::unordered_map<int, SharedDivisor> divisors = {};  // by the node of the divisor
    std::vector<std::vector<Value*>> piece_indices = {};   // flat mode: [piece][parallel dim]
  };
  struct Loop {
    llvm::BasicBlock *header, *body, *exit;
    llvm::PHINode* index;
    Value* start;
    std::vector<llvm::PHINode*> carried;
    std::vector<Value*> initial;
  };

  // The scopes. 0 is the function. 1 is a row (the parallel dimensions except the one of the
  // lanes), or the part of a row between two turns. With lanes along parallel, 2 is a block of
  // columns, and 3 and further are the loop's extents. With lanes along inner, 2 and further are
  // the loop's extents, of which the last is the one of the lanes.
  enum class LaneKind : uint8_t { kUniform, kStrided, kScattered };
  // A comparison in a load's guard that changes once along a row: if it `rises`, it is true from
  // column `at` on, otherwise before that column. Rows are divided at their turns, so that the
  // comparison is the same for all lanes.
  struct Turn {
    int node;
    bool rises;
    Value* at = nullptr;  // in the row that is being emitted
  };
  // These six are in turns.cc.
  void find_turns();
  std::optional<int64_t> step_along_row(int node) const;
  Value* at_row_start(int node);
  Value* column_of(const Turn& turn);
  Value* end_of_part(Value* column, Value* end);
  bool is_turn(int node) const { return turn_of_[node] >= 0; }

  // The box of indices in which all comparisons of indices with constants are known.
  struct Middle {
    // For each parallel dimension, the first index and the end; empty: there is no such box.
    std::vector<std::pair<int64_t, int64_t>> ranges;
    std::vector<int8_t> known;  // for each node: its value in the box, 0 or 1; -1: not known
  };
  // The index along parallel dimension `dim` from which on a comparison is true (if it `rises`) or
  // false.
  struct Threshold {
    int64_t dim, at;
    bool rises;
  };
  // These are in middle.cc.
  std::optional<Threshold> threshold_of(int node) const;
  void find_middle();
  std::optional<bool> known(int node) const;
  std::optional<int> known_choice(int node) const;
  int guard_of(const KernelNode& load) const;
  bool is_never_loaded(const KernelNode& node) const;
  std::optional<Val> value_in_middle(int node, int u);
  void emit_part(Value* column, Value* end);
  void emit_flat_parts();

  // A loop that is no scope: its code is emitted in order, and the scopes are within it.
  struct Steps {
    llvm::BasicBlock *header, *body, *exit;
    llvm::PHINode* index;
  };
  // These are in tiles.cc.
  bool is_reversed_tile(const KernelNode& load) const;
  Val load_from_tile(int node);
  void find_tiles();
  Steps begin_steps(Value* first);
  void enter_steps(const Steps& steps, Value* condition);
  void end_steps(const Steps& steps, Value* next);
  void emit_tiles();
  void decompose_slab(Value* slab);
  void emit_tile(Value* row, Value* column, Value* columns, Value* skipped, Value* after);

  int address_depth(const Affine& address) const;
  LaneKind lane_kind(const Affine& address) const;
  // Returns the distance between neighbouring lanes, in elements, if they are kStrided.
  int64_t lane_stride(const Affine& address) const;
  void analyse();
  void choose_lanes();  // in strided.cc
  void find_node_scopes();

  // These make the start and the end of a loop (emit_loops.cc).
  Loop open_loop(Value* start, std::vector<Value*>& carried);
  void enter_loop(Loop& loop, Value* condition);
  void close_loop(Loop& loop, Value* next, std::vector<Value*>& carried);
  void use_scope(int scope) { b_.SetInsertPoint(scopes_[scope].tail); }
  void keep_scope(int scope) {
    scopes_[scope].tail = b_.GetInsertBlock();
  }  // after code that may branch
  int top() const { return static_cast<int>(scopes_.size()) - 1; }
  // Opens a scope that runs once.
  void open_block(Value* index);
  void close_block();
  llvm::BasicBlock* new_block(const char* name);
  Value* i64(int64_t value);

  void emit_range();
  void emit_parallel();
  void emit_columns(Value* begin, Value* end);
  void emit_flat_columns(Value* begin, Value* end);
  // Computes columns by blocks of `unroll` vectors that all have masks; `mostly_full` if most of
  // the vectors will be whole ones.
  void emit_masked_columns(Value* begin, Value* end, int unroll, bool mostly_full);
  void emit_lane_block(int unroll);
  void emit_column_loop(int l);
  void emit_inner();
  void emit_row_loop(int l);
  void prefetch_next_row(int l);
  void prefetch_gathered(int l);
  void emit_once(int l);
  void decompose(Value* flat, size_t dims);
  void set_masks(int unroll, Value* count);
  // Emits one run of the innermost body of loop l: values, reductions, stores.
  void emit_body(int l, std::vector<Value*>& accumulators);
  void emit_store(const KernelStore& store, int id);
  // These seven are in strided.cc.
  int piece_length(const KernelNode& load) const;
  int pieces() const;
  std::vector<Value*> piece_pointers(const KernelNode& load, int length, int u);
  int64_t phase_of(const KernelNode& load, int64_t stride) const;
  bool reads_most_of_rows(const KernelNode& load, int64_t stride) const;
  bool reads_rows_to_the_end(const KernelNode& load, int64_t stride) const;
  bool loads_apart() const;
  // The largest distance of lanes that are loaded or stored by whole vectors: the columns of rows.
  int64_t columns_of_rows() const;
  bool gathers_lanes() const;  // whether a load's address depends on an index in lanes
  size_t columns_from(const std::vector<KernelStore>& stores, size_t first) const;
  void emit_columns_of_rows(std::span<const KernelStore> stores, int id);
  bool may_fill_vectors(const KernelStore& store) const;
  bool may_read_whole_vectors(const KernelNode& load) const;
  // These two are in copied_rows.cc.
  bool copies_rows() const;
  void copy_columns(Value* begin, Value* end);
  // These three are in side_by_side.cc.
  void compute_together(int node);
  void compute_together(int node, int from, int to);
  void finish_before_stores(int l);
  // The nodes that a loop needs, and their costs (needed_nodes.cc).
  std::vector<int> needed_nodes(int l) const;
  // These two are in store_lines.cc.
  int find_store_along_lines() const;
  Value* end_before_line(Value* column, Value* end);
  // These return rough costs of a vector: of a node, of all nodes of a loop, and of the longest
  // chain of dependent nodes.
  int node_weight(const KernelNode& node) const;
  int loop_weight(int l) const;
  int loop_chain(int l) const;
  bool has_powers() const;  // of float64
  // Whether there is an elementary function that is a chain by itself (side_by_side.cc).
  bool has_function() const;
  // Returns whether results are 16-bit floats. Storing a vector of them branches for denormal
  // numbers, which costs more than a single function gains by other vectors beside it.
  bool stores_halves() const;
  // Returns the cost of the nodes of a loop that change from row to row, with lanes along parallel.
  int row_weight(int l) const;
  int weight_within(int l, int depth) const;  // of nodes at this depth and deeper

  // Returns the value of a node (emitter.cc), in vector u of the block.
  Val value(int node, int u);
  Val compute(int node, int u);
  Val compute_quotient(int node, int u);
  bool is_shared_divisor(int divisor, int node) const;
  Val compute_load(int node, int u);
  Val load_pieces(int node, int length, Val guard, int u);
  llvm::Value* with_dynamic_by_lane(const KernelNode& n, std::span<const Val> dynamic,
                                    llvm::Value* offsets);
  Val load_for_guarded_lanes(DType dtype, llvm::Value* pointer, LaneMask mask);
  Val compute_turn(const Turn& turn);
  Val compute_index(int node, int u);
  Value* address_sum(const Affine& address, int id, int scope);
  Value* pointer_sum(int buffer, const Affine& address, int id, int scope);
  std::vector<std::pair<Value*, int64_t>> terms_of(const Affine& address, int scope) const;
  Value* pointer_to(int buffer, const Affine& address, int id, int scope, int u);
  Value* iota(llvm::Type* element, int64_t scale);
  Value* scattered_offsets(const Affine& address, int u, llvm::Type* element);
  Value* flat_index(int d, int u);
  LaneMask mask_of(int u) const;
  LaneMask with_guard(LaneMask mask, Val guard);

  // Reductions (emit_reduce.cc).

  // Accumulators are a flat list that loops carry: for each reduction, each result and each vector,
  // the value, or its real and imaginary parts; then, for a custom reduction across lanes, for each
  // vector whether a lane has had an element.
  std::vector<Value*> initial_accumulators(int l, int unroll, bool across_lanes);
  bool folds_one_value() const;
  // Returns how many vectors of a row are computed at a time, if it could be `unroll`.
  int unroll_within_row(int unroll) const;
  void accumulate(int l, std::vector<Value*>& accumulators, int unroll, bool across_lanes);
  void finish_reductions(int l, std::vector<Value*>& accumulators, int unroll, bool across_lanes);
  // One vector's results so far and, for a custom reduction across lanes, whether each lane has had
  // an element.
  struct Partial {
    std::vector<Val> values;
    Value* seen = nullptr;
  };
  // A sum of floating-point numbers over more passes of a loop than kLongSum is computed in blocks
  // of about the square root of their number, because the rounding error of a sum grows with the
  // number of additions one after another. A pass is one row of a column reduction, or one call of
  // emit_body for a row reduction.
  //
  // Example: a sum over 65,536 rows adds 256 rows to an accumulator, adds this to a total, and
  // begins again, 256 times.
  struct LongSums {
    int64_t block = 0;                 // the passes of a block, a power of two; 0: no long sums
    std::vector<size_t> accumulators;  // the positions of the accumulators of long sums
    size_t totals = 0;                 // the position of their totals, before the count of passes
  };
  static constexpr int64_t kLongSum = 64;
  LongSums begin_long_sums(int l, std::vector<Value*>& accumulators, int unroll, bool across_lanes,
                           int64_t passes);
  // Ends a pass: adds the accumulators to their totals if it was the last pass of a block.
  void end_pass(const LongSums& sums, std::vector<Value*>& accumulators);
  // Ends the loop: stores the sums in the accumulators and removes the totals.
  void end_long_sums(const LongSums& sums, std::vector<Value*>& accumulators);
  Partial fold(const KernelReduction& r, const Partial& a, const Partial& c);
  Partial fold_lanes(const KernelReduction& r, Partial total);
  std::vector<Val> total_of(const KernelReduction& r, std::vector<Partial> parts);
  void keep_result(int l, int result, const KernelReduction& r, size_t k,
                   std::span<const Partial> totals);
  std::vector<Val> combine(const KernelReduction& r, std::span<const Val> a,
                           std::span<const Val> b);
  std::vector<Val> apply_body(const ScalarProgram& body, std::span<const Val> args);
  std::vector<Val> elements_of(const KernelReduction& r, int u);
  DType accumulator_dtype(const KernelReduction& r, size_t k) const;
  bool is_negated(const KernelReduction& r) const;
  Val identity(const KernelReduction& r, size_t k);
  Val to_accumulator(const KernelReduction& r, size_t k, Val v);

  const Kernel& k_;
  Ir& ir_;
  llvm::IRBuilder<>& b_;
  Memory memory_;
  llvm::Function* function_;
  bool along_parallel_;
  bool flat_ = false;    // lanes are along the flat parallel index, not along its last dimension
  bool aligned_ = true;  // flat mode: blocks begin at multiples of the lanes
  bool single_ = false;  // one element: no vectors
  int lanes_;

  std::vector<int> depth_;     // for each node: the scope it is computed in
  std::vector<char> by_lane_;  // for each node: whether its lanes differ
  std::vector<char> fused_;    // for each node: whether it is a product in a sum
  std::vector<char> written_;  // for each buffer: whether the kernel stores to it
  std::vector<Turn> turns_;
  std::vector<int> turn_of_;  // for each node: its index in turns_, or -1
  Middle middle_;
  bool in_middle_ = false;       // whether the code of the middle is emitted
  std::vector<int> tile_of_;     // for each node: its index in tile_loads_, or -1
  std::vector<int> tile_loads_;  // the loads that are read through tiles
  int tile_rows_ = 0;            // the number of rows of a tile; 0: there are none

  std::vector<Scope> scopes_;
  std::vector<llvm::BasicBlock*> entries_;  // the entries of the open blocks
  std::vector<Value*> buffers_;
  std::vector<int64_t> padded_;              // for each buffer; empty: none is padded
  int64_t elements_ = 0;                     // the number of elements, if padded_ is set
  Value *begin_ = nullptr, *end_ = nullptr;  // the range of the flat parallel index
  // The index along each parallel dimension except the lanes'.
  std::vector<Value*> parallel_;
  // The beginning of the part of a row, if there are turns.
  Value* column_ = nullptr;
  // The store whose vectors are aligned within a row; -1: they begin with the row.
  int line_store_ = -1;
  // The tiles of tile_loads_ and the row that is read of them; empty outside of emit_tile.
  std::vector<llvm::AllocaInst*> tiles_;
  Value* tile_row_ = nullptr;
  int unroll_ = 1;               // vectors in the current lane scope
  std::vector<LaneMask> masks_;  // one for each vector; empty: all lanes
  bool side_by_side_ = false;    // whether the vectors of a block are computed side by side
  int accumulator_unroll_ = 1;   // the number of vectors of the current loop's accumulators
};

}  // namespace tessera::codegen
