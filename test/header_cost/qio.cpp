#include <qio/qio.hpp>
