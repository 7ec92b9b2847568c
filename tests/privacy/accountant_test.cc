#include "tessera/privacy/accounting/accountant.h"

#include "tessera/base/error.h"

namespace tessera::privacy::accounting::accountant_test {
namespace {

TEST(Accountant, IsEitherKind) {
  PrivacyAccountant rdp = create_accountant(RdpAccountantConfig{}),
                    pld = create_accountant(PldAccountantConfig{});
  rdp.compose(GaussianDpEvent{1});
  pld.compose(GaussianDpEvent{1});
  EXPECT_GT(rdp.get_epsilon(1e-5), pld.get_epsilon(1e-5));
  EXPECT_GT(rdp.get_delta(3), pld.get_delta(3));
  EXPECT_TRUE(rdp.supports(ZCDpEvent{1}));
  EXPECT_FALSE(pld.supports(ZCDpEvent{1}));
  EXPECT_EQ(pld.neighboring_relation(), NeighboringRelation::kAddOrRemoveOne);
}

TEST(Accountant, KeepsALedger) {
  PrivacyAccountant accountant = create_accountant(PldAccountantConfig{});
  EXPECT_EQ(accountant.ledger(), DpEvent(NoOpDpEvent{}));
  accountant.compose(GaussianDpEvent{1})
      .compose(LaplaceDpEvent{2}, 3)
      .compose(LaplaceDpEvent{2}, 0);
  EXPECT_THROW(accountant.compose(ZCDpEvent{1}), UserError);
  EXPECT_EQ(to_string(accountant.ledger()), "Composed(Gaussian(1), SelfComposed(Laplace(2), 3))");
  PrivacyAccountant again = create_accountant(PldAccountantConfig{});
  EXPECT_EQ(again.compose(accountant.ledger()).get_epsilon(1e-5), accountant.get_epsilon(1e-5));
}

TEST(Accountant, OrdersAreJaxPrivacys) {
  const std::vector<double> orders = training_rdp_orders();
  EXPECT_EQ(orders.size(), 116u);
  EXPECT_DOUBLE_EQ(orders[0], 1.01);
  EXPECT_DOUBLE_EQ(orders[49], 8);
  EXPECT_EQ(orders[107], 114);
  EXPECT_EQ(orders.back(), 512);
}

}  // namespace
}  // namespace tessera::privacy::accounting::accountant_test
