// Two translation units include the library: the program links, and both see the same error category.
#include <qio/qio.hpp>

const void* category_seen_by_the_other_unit();

int main() { return category_seen_by_the_other_unit() == &qio::qio_category() ? 0 : 1; }
