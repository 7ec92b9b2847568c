#include "tessera/numpy/operators.h"

#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"

namespace tessera {

Array operator+(const Array& x, const Array& y) { return add(x, y); }
Array operator-(const Array& x, const Array& y) { return subtract(x, y); }
Array operator*(const Array& x, const Array& y) { return multiply(x, y); }
Array operator/(const Array& x, const Array& y) { return divide(x, y); }
Array operator%(const Array& x, const Array& y) { return remainder(x, y); }
Array operator-(const Array& x) { return negative(x); }
Array operator+(const Array& x) { return positive(x); }

Array operator==(const Array& x, const Array& y) { return equal(x, y); }
Array operator!=(const Array& x, const Array& y) { return not_equal(x, y); }
Array operator<(const Array& x, const Array& y) { return less(x, y); }
Array operator<=(const Array& x, const Array& y) { return less_equal(x, y); }
Array operator>(const Array& x, const Array& y) { return greater(x, y); }
Array operator>=(const Array& x, const Array& y) { return greater_equal(x, y); }

Array operator&(const Array& x, const Array& y) { return bitwise_and(x, y); }
Array operator|(const Array& x, const Array& y) { return bitwise_or(x, y); }
Array operator^(const Array& x, const Array& y) { return bitwise_xor(x, y); }
Array operator~(const Array& x) { return bitwise_not(x); }
Array operator<<(const Array& x, const Array& y) { return left_shift(x, y); }
Array operator>>(const Array& x, const Array& y) { return right_shift(x, y); }

}  // namespace tessera
