#include <qio/format.hpp>

int main() { fmt::print("{}\n", qio::error(qio::errc::misaligned_offset, 1000, 512)); }
