#include <tessera/base/format_array.h>
#include <iostream>
int main() { std::cout << tessera::repr(tessera::Literal::scalar(2.5f)) << "\n"; }
