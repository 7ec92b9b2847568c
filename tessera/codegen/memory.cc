// Loads and stores of vectors: contiguous, reversed, strided, scattered, masked.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/codegen/emitter.h"
#include "tessera/codegen/helpers.h"

namespace tessera::codegen {

using llvm::FixedVectorType;
using llvm::Value;

llvm::Type* Memory::storage(DType dtype) const {
  auto& b = ir_.builder;
  if (dtype == bool_) return b.getInt8Ty();
  if (is_half(dtype)) return b.getInt16Ty();
  return register_type(b.getContext(), dtype);
}

Val Memory::from_storage(DType dtype, Value* bits) {
  if (dtype == bool_) {
    Vec byte{ir_, bits};
    return {(byte != byte.like_int(0)).v};
  }
  if (is_half(dtype)) return from_half_bits(ir_, dtype, bits);
  return {bits};
}

Value* Memory::to_storage(DType dtype, Value* value, bool rounded) {
  Vec x{ir_, value};
  if (dtype == bool_) return ir_.builder.CreateZExt(value, x.with(ir_.builder.getInt8Ty()));
  if (is_half(dtype)) return half_bits(ir_, dtype, {value, nullptr, rounded});
  return value;
}

// Returns whether the target has masked loads and stores of the element. Other elements are masked
// through a copy or lane by lane.
bool Memory::maskable(llvm::Type* element) const {
  const bool words = ir_.target.architecture == Architecture::kX86;
  return ir_.target.avx512 || (words && element->getScalarSizeInBits() >= 32);
}

Value* Memory::advance(DType dtype, Value* pointer, Value* elements) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  if (is_complex(dtype)) element = llvm::ArrayType::get(element, 2);
  return b.CreateGEP(element, pointer, elements);
}

// Emits a branch with `then` for a true condition and `otherwise` for a false one.
template <class Then, class Otherwise>
static void branch(llvm::IRBuilder<>& b, Value* condition, Then&& then, Otherwise&& otherwise) {
  llvm::Function* fn = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, fn); };
  llvm::BasicBlock *yes = block("then"), *no = block("otherwise"), *join = block("join");
  b.CreateCondBr(condition, yes, no);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(join);
  b.SetInsertPoint(no);
  otherwise();
  b.CreateBr(join);
  b.SetInsertPoint(join);
}

// Returns the value of `whole` if the condition is true, else that of `masked`.
template <class Whole, class Masked>
static Value* choose(llvm::IRBuilder<>& b, Value* condition, Whole&& whole, Masked&& masked) {
  Value *yes = nullptr, *no = nullptr;
  llvm::BasicBlock *yes_end = nullptr, *no_end = nullptr;
  branch(
      b, condition,
      [&] {
        yes = whole();
        yes_end = b.GetInsertBlock();
      },
      [&] {
        no = masked();
        no_end = b.GetInsertBlock();
      });
  llvm::PHINode* out = b.CreatePHI(yes->getType(), 2);
  out->addIncoming(yes, yes_end);
  out->addIncoming(no, no_end);
  return out;
}

// Returns the lanes of the mask. If most vectors are full, the mask is computed again here, in the
// branch for the other vectors, so that the full ones do not wait for it.
static Value* lanes_here(llvm::IRBuilder<>& b, const LaneMask& mask) {
  auto again = [&](auto&& self, Value* value) -> Value* {
    auto* made = llvm::dyn_cast<llvm::Instruction>(value);
    if (!made || !value->getType()->isVectorTy() || llvm::isa<llvm::PHINode>(value)) return value;
    llvm::Instruction* copy = made->clone();
    for (llvm::Use& operand : copy->operands()) operand.set(self(self, operand.get()));
    return b.Insert(copy);
  };
  return mask.full && mask.count ? again(again, mask.lanes) : mask.lanes;
}

Value* Memory::load_lanes(llvm::Type* element, Value* pointer, int lanes, const LaneMask& mask) {
  auto& b = ir_.builder;
  auto* type = FixedVectorType::get(element, lanes);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  if (mask.any) pointer = b.CreateSelect(mask.any, pointer, zeros());
  if (!mask.lanes) return b.CreateAlignedLoad(type, pointer, align);
  if (!maskable(element) && mask.count) {
    llvm::AllocaInst* slot = ir_.stack_slot(type);
    b.CreateStore(llvm::Constant::getNullValue(type), slot);
    Value* bytes = b.CreateMul(mask.count, b.getInt64(element->getScalarSizeInBits() / 8));
    ir_.call_helper(kCopyBytes, {slot, pointer, bytes});
    return b.CreateAlignedLoad(type, slot, slot->getAlign());
  }
  const auto masked = [&] {
    return b.CreateMaskedLoad(type, pointer, align, lanes_here(b, mask),
                              llvm::Constant::getNullValue(type));
  };
  if (!mask.full) return masked();
  // A masked load takes longer than a branch that is predicted.
  return choose(
      b, mask.full, [&] { return b.CreateAlignedLoad(type, pointer, align); }, masked);
}

void Memory::store_lanes(Value* value, Value* pointer, const LaneMask& mask, bool streaming) {
  auto& b = ir_.builder;
  auto* type = llvm::cast<FixedVectorType>(value->getType());
  llvm::Type* element = type->getElementType();
  const unsigned item = element->getScalarSizeInBits() / 8;
  const unsigned bytes = item * type->getNumElements();
  auto masked = [&] {
    if (!maskable(element) && mask.count) {
      llvm::AllocaInst* slot = ir_.stack_slot(type);
      b.CreateAlignedStore(value, slot, slot->getAlign());
      ir_.call_helper(kCopyBytes, {pointer, slot, b.CreateMul(mask.count, b.getInt64(item))});
    } else {
      b.CreateMaskedStore(value, pointer, llvm::Align(item), lanes_here(b, mask));
    }
  };
  auto plain = [&] { b.CreateAlignedStore(value, pointer, llvm::Align(item)); };
  if (!streaming || bytes < 16) {
    if (!mask.lanes) return plain();
    if (!mask.full) return masked();
    // Later loads wait for a masked store, because the CPU does not know which bytes it writes.
    return branch(b, mask.full, plain, masked);
  }
  if (mask.lanes && !mask.full) return masked();
  // Non-temporal stores must be aligned. Within a row, either all of them are or none.
  const unsigned alignment = std::min(bytes, 64u);
  Value* low = b.CreateAnd(b.CreatePtrToInt(pointer, b.getInt64Ty()), b.getInt64(alignment - 1));
  Value* aligned = b.CreateICmpEQ(low, b.getInt64(0));
  if (mask.full) aligned = b.CreateAnd(aligned, mask.full);
  auto stream = [&] {
    llvm::StoreInst* store = b.CreateAlignedStore(value, pointer, llvm::Align(alignment));
    auto* one = llvm::ConstantAsMetadata::get(b.getInt32(1));
    store->setMetadata("nontemporal", llvm::MDNode::get(b.getContext(), one));
  };
  if (mask.full) {
    branch(b, aligned, stream, masked);
  } else {
    branch(b, aligned, stream, plain);
  }
}

// Returns a pointer to zeros, as many bytes as a vector of complex numbers has.
Value* Memory::zeros() {
  if (zeros_) return zeros_;
  const unsigned words = 2 * static_cast<unsigned>(ir_.target.vector_bytes) / 8;
  auto* type = FixedVectorType::get(ir_.builder.getInt64Ty(), words);
  zeros_ = ir_.stack_slot(type);
  llvm::IRBuilder<> entry(ir_.alloca_point);
  entry.CreateAlignedStore(llvm::Constant::getNullValue(type), zeros_, zeros_->getAlign());
  return zeros_;
}

Value* Memory::strided_offsets(int64_t stride) {
  auto& b = ir_.builder;
  const bool narrow = std::abs(stride) * ir_.lanes <= INT32_MAX;
  llvm::Type* type = narrow ? b.getInt32Ty() : b.getInt64Ty();
  std::vector<llvm::Constant*> offsets;
  for (int i = 0; i < ir_.lanes; ++i) {
    offsets.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(i * stride), true));
  }
  return llvm::ConstantVector::get(offsets);
}

Val Memory::load(DType dtype, Value* pointer, int64_t stride, const LaneMask& mask) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  const int lanes = ir_.lanes;
  if (stride == 1 && is_complex(dtype))
    return parts_of_pairs(load_lanes(element, pointer, 2 * lanes, mask_of_pairs(mask)));
  if (stride == 1) return from_storage(dtype, load_lanes(element, pointer, lanes, mask));
  if (stride == -1 && (!mask.lanes || maskable(element))) {
    std::vector<int> reversed;
    for (int i = lanes; i-- > 0;) reversed.push_back(i);
    const auto turned = [&](Value* x) { return b.CreateShuffleVector(x, reversed); };
    Value* first = advance(dtype, pointer, b.getInt64(static_cast<uint64_t>(1 - lanes)));
    LaneMask backwards{.full = mask.full, .any = mask.any};
    if (mask.lanes) backwards.lanes = turned(mask.lanes);
    if (is_complex(dtype)) {
      const Val both =
          parts_of_pairs(load_lanes(element, first, 2 * lanes, mask_of_pairs(backwards)));
      return {turned(both.re), turned(both.im)};
    }
    return from_storage(dtype, turned(load_lanes(element, first, lanes, backwards)));
  }
  LaneMask wanted = mask;
  if (mask.any) {
    wanted.lanes = b.CreateVectorSplat(lanes, mask.any);
    if (mask.lanes) wanted.lanes = b.CreateAnd(wanted.lanes, mask.lanes);
    if (mask.full) wanted.full = b.CreateAnd(mask.full, mask.any);
  }
  return gather(dtype, pointer, strided_offsets(stride), wanted);
}

Value* Memory::lane_pointers(DType dtype, Value* pointer, Value* offsets) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  if (is_complex(dtype)) element = llvm::ArrayType::get(element, 2);
  Value* wide = b.CreateSExt(offsets, FixedVectorType::get(b.getInt64Ty(), ir_.lanes));
  return b.CreateGEP(element, pointer, wide);
}

// Returns the mask for vectors of the parts of complex numbers, which are pairs of elements.
LaneMask Memory::mask_of_pairs(const LaneMask& mask) {
  LaneMask twice{.full = mask.full, .any = mask.any};
  std::vector<int> doubled;
  for (int i = 0; i < ir_.lanes; ++i) doubled.insert(doubled.end(), {i, i});
  if (mask.lanes) twice.lanes = ir_.builder.CreateShuffleVector(mask.lanes, doubled);
  return twice;
}

Val Memory::parts_of_pairs(Value* pairs) {
  std::vector<int> even, odd;
  for (int i = 0; i < ir_.lanes; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return {ir_.builder.CreateShuffleVector(pairs, even),
          ir_.builder.CreateShuffleVector(pairs, odd)};
}

Value* Memory::pairs_of_parts(const Val& parts) {
  std::vector<int> interleaved;
  for (int i = 0; i < ir_.lanes; ++i) interleaved.insert(interleaved.end(), {i, ir_.lanes + i});
  return ir_.builder.CreateShuffleVector(parts.re, parts.im, interleaved);
}

// Returns vectors of equal length one after the other, as one vector. There are 2^n of them.
Value* Memory::joined(std::vector<Value*> vectors) {
  auto& b = ir_.builder;
  while (vectors.size() > 1) {
    const auto* type = llvm::cast<FixedVectorType>(vectors[0]->getType());
    std::vector<int> picks(size_t{2} * type->getNumElements());
    std::iota(picks.begin(), picks.end(), 0);
    for (size_t q = 0; 2 * q < vectors.size(); ++q)
      vectors[q] = b.CreateShuffleVector(vectors[2 * q], vectors[2 * q + 1], picks);
    vectors.resize(vectors.size() / 2);
  }
  return vectors[0];
}

Value* Memory::lane_pointer(DType dtype, Value* pointer, Value* offsets, int lane) {
  auto& b = ir_.builder;
  Value* offset = b.CreateExtractElement(offsets, static_cast<uint64_t>(lane));
  return advance(dtype, pointer, b.CreateSExt(offset, b.getInt64Ty()));
}

// Gathers 16-bit elements as the aligned words of 32 bits that contain them. There are no gathers
// of less, and LLVM would load lane by lane. (That takes as long for elements of 8 bits.)
//
// Example: elements 5 and 2 of numbers that begin in the middle of a word are numbers 6 and 3 from
// the beginning of that word on: the low half of word 3 and the high half of word 1.
Value* Memory::gather_halves_of_words(Value* pointer, Value* offsets, Value* lanes) {
  auto& b = ir_.builder;
  const auto all = [&](uint64_t number) {
    return llvm::ConstantInt::get(offsets->getType(), number);
  };
  Value* before = b.CreateAnd(b.CreatePtrToInt(pointer, b.getInt64Ty()), b.getInt64(2));
  Value* first = b.CreateGEP(b.getInt8Ty(), pointer, b.CreateNeg(before));
  Value* skipped = b.CreateTrunc(b.CreateLShr(before, 1), offsets->getType()->getScalarType());
  Value* at = b.CreateAdd(offsets, b.CreateVectorSplat(ir_.lanes, skipped));
  Value* word =
      b.CreateSExt(b.CreateAShr(at, all(1)), FixedVectorType::get(b.getInt64Ty(), ir_.lanes));
  auto* words = FixedVectorType::get(b.getInt32Ty(), ir_.lanes);
  Value* loaded = b.CreateMaskedGather(words, b.CreateGEP(b.getInt32Ty(), first, word),
                                       llvm::Align(4), lanes, llvm::Constant::getNullValue(words));
  Value* shift = b.CreateIntCast(b.CreateShl(b.CreateAnd(at, all(1)), all(4)), words, false);
  return b.CreateTrunc(b.CreateLShr(loaded, shift),
                       FixedVectorType::get(b.getInt16Ty(), ir_.lanes));
}

Val Memory::gather(DType dtype, Value* pointer, Value* offsets, const LaneMask& mask) {
  auto& b = ir_.builder;
  // Both parts of a complex64 are one element.
  llvm::Type* element = dtype == complex64 ? b.getInt64Ty() : storage(dtype);
  auto* type = FixedVectorType::get(element, ir_.lanes);
  const llvm::Align align(storage(dtype)->getScalarSizeInBits() / 8);
  const bool narrow = ir_.target.avx512 && element->isIntegerTy(16);
  const auto gathered = [&](Value* base, Value* lanes) -> Value* {
    if (narrow) return gather_halves_of_words(base, offsets, lanes);
    return b.CreateMaskedGather(type, lane_pointers(dtype, base, offsets), align, lanes,
                                llvm::Constant::getNullValue(type));
  };
  const auto masked = [&]() -> Value* {
    if (dtype == complex64)
      return b.CreateBitCast(gathered(pointer, mask.lanes),
                             FixedVectorType::get(storage(dtype), 2 * ir_.lanes));
    if (dtype != complex128) return gathered(pointer, mask.lanes);
    Value* imaginary = b.CreateGEP(element, pointer, b.getInt64(1));
    return pairs_of_parts({gathered(pointer, mask.lanes), gathered(imaginary, mask.lanes)});
  };
  const auto whole = [&]() -> Value* {
    if (!is_complex(dtype)) return gathered(pointer, nullptr);
    // A load for each number, which has both parts, takes less time than a gather.
    std::vector<Value*> numbers;
    for (int i = 0; i < ir_.lanes; ++i)
      numbers.push_back(b.CreateAlignedLoad(FixedVectorType::get(storage(dtype), 2),
                                            lane_pointer(dtype, pointer, offsets, i), align));
    return joined(std::move(numbers));
  };
  Value* loaded = mask.full ? choose(b, mask.full, whole, masked) : mask.lanes ? masked() : whole();
  return is_complex(dtype) ? parts_of_pairs(loaded) : from_storage(dtype, loaded);
}

Val Memory::load_scalar(DType dtype, Value* pointer, Value* guard) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  if (guard) {
    // If the guard is false, reads a zero instead. This needs no branch.
    pointer = b.CreateSelect(guard, pointer, zeros());
  }
  auto load = [&](Value* at) { return b.CreateAlignedLoad(element, at, align); };
  if (is_complex(dtype)) return {load(pointer), load(b.CreateGEP(element, pointer, b.getInt64(1)))};
  return from_storage(dtype, load(pointer));
}

void Memory::store(DType dtype, Value* pointer, int64_t stride, Val value, const LaneMask& mask,
                   bool streaming) {
  if (stride != 1) return scatter(dtype, pointer, strided_offsets(stride), value, mask);
  if (!is_complex(dtype)) {
    return store_lanes(to_storage(dtype, value.re, value.rounded), pointer, mask, streaming);
  }
  store_lanes(pairs_of_parts(value), pointer, mask_of_pairs(mask), streaming);
}

void Memory::scatter(DType dtype, Value* pointer, Value* offsets, Val value, const LaneMask& mask) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  const auto scattered = [&](Value* elements, Value* base) {
    b.CreateMaskedScatter(elements, lane_pointers(dtype, base, offsets), align, mask.lanes);
  };
  if (!is_complex(dtype)) return scattered(to_storage(dtype, value.re, value.rounded), pointer);
  if (dtype == complex64) {
    auto* type = FixedVectorType::get(b.getInt64Ty(), ir_.lanes);
    return scattered(b.CreateBitCast(pairs_of_parts(value), type), pointer);
  }
  if (mask.lanes) {
    scattered(value.re, pointer);
    return scattered(value.im, b.CreateGEP(element, pointer, b.getInt64(1)));
  }
  Value* pairs = pairs_of_parts(value);
  for (int i = 0; i < ir_.lanes; ++i)
    b.CreateAlignedStore(b.CreateShuffleVector(pairs, {2 * i, 2 * i + 1}),
                         lane_pointer(dtype, pointer, offsets, i), align);
}

void Memory::store_scalar(DType dtype, Value* pointer, Val value, Value* guard) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  llvm::BasicBlock* join = nullptr;
  if (guard) {
    llvm::Function* fn = b.GetInsertBlock()->getParent();
    auto* then = llvm::BasicBlock::Create(b.getContext(), "guarded", fn);
    join = llvm::BasicBlock::Create(b.getContext(), "join", fn);
    b.CreateCondBr(guard, then, join);
    b.SetInsertPoint(then);
  }
  b.CreateAlignedStore(to_storage(dtype, value.re, value.rounded), pointer, align);
  if (value.im) b.CreateAlignedStore(value.im, b.CreateGEP(element, pointer, b.getInt64(1)), align);
  if (join) {
    b.CreateBr(join);
    b.SetInsertPoint(join);
  }
}

}  // namespace tessera::codegen
