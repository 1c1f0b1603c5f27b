#include "exchanged.hpp"

std::size_t by_parameter(const qio::aligned_buffer& buffer) { return buffer.size(); }
qio::result<qio::aligned_buffer> by_return() { return qio::aligned_buffer::allocate(4096); }
qio::result<qio::aligned_buffer> by_variable = by_return();
