// The ways in which two units exchange a type of qio's.
#pragma once

#include <qio/buffer.hpp>

std::size_t by_parameter(const qio::aligned_buffer& buffer);
qio::result<qio::aligned_buffer> by_return();
extern qio::result<qio::aligned_buffer> by_variable;
