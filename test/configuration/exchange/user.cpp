#include "exchanged.hpp"

int main() { return by_return() && by_parameter(by_variable.value()) == 4096 ? 0 : 1; }
