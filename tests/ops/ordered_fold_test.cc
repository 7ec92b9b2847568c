#include "tessera/ops/reductions/ordered_fold.h"

#include "tessera/ops/core/elementwise.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::ordered_fold_test {

using namespace ops;

namespace {

class OrderedFold : public HostTest {
 protected:
  // acc - x
  static FunctionRef difference() {
    Function f;
    const Type scalar{.dtype = int32, .shape = {}};
    const ValueId acc = f.add_input(scalar), x = f.add_input(scalar);
    f.outputs = {f.add_op(sub_op, NoParams{}, {acc, x}, {&scalar, 1})[0]};
    return std::make_shared<const Function>(std::move(f));
  }
};

TEST_F(OrderedFold, BeginsWithTheInitialValue) {
  const Array x(Literal::from<int32_t>(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {2, 3})),
      init(Literal::scalar<int32_t>(100));
  EXPECT_EQ(ordered_fold({x}, {init}, difference(), {1})[0].to_host(),
            Literal::from<int32_t>(std::vector<int32_t>{94, 85}, {2}));
  EXPECT_EQ(ordered_fold({x}, {init}, difference(), {0, 1})[0].to_host(),
            Literal::scalar<int32_t>(79));
}

TEST_F(OrderedFold, HasTheErrorsOfReduce) {
  const std::vector<Type> types{{.dtype = int32, .shape = {2}}, {.dtype = int32, .shape = {}}};
  EXPECT_USER_ERROR(ordered_fold_op.infer(types, OrderedFoldParams{{1}, difference()}),
                    "expected dimensions in [0, 1), got (1,)");
}

}  // namespace
}  // namespace tessera::testing_ops::ordered_fold_test
