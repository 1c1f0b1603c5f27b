// The whole of <windows.h>, with all its macros (small, near, interface ...), before the library.
#if defined(WIN32_LEAN_AND_MEAN) || defined(NOMINMAX)
#error "compile this file without NOMINMAX and WIN32_LEAN_AND_MEAN"
#endif
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <windows.h>
