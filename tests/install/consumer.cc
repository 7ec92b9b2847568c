// What an installed Tessera must give a project of its own: headers, libraries and the ops, which
// register themselves.
#include <tessera/base/format_array.h>
#include <tessera/ir/op_def.h>

#include <iostream>

int main() {
  std::cout << tessera::repr(tessera::Literal::scalar(2.5f)) << "\n"
            << (tessera::find_op("stablehlo", "sine") ? "sine is defined" : "sine is missing")
            << "\n";
}
