// The second translation unit of the program in main.cpp.
#include <qio/qio.hpp>

const void* category_seen_by_the_other_unit() { return &qio::qio_category(); }
