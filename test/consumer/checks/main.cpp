#include <qio/configuration.hpp>

static_assert(QIO_CHECKS == EXPECTED);

int main() {}
