// The library decides nothing about what the program includes later.
#include <version>  // MinGW's library defines NOMINMAX

#if !defined(NOMINMAX)
#define NOMINMAX_IS_OF_THE_PROGRAM
#endif

#include <qio/qio.hpp>

#if defined(WIN32_LEAN_AND_MEAN) || (defined(NOMINMAX) && defined(NOMINMAX_IS_OF_THE_PROGRAM))
#error "the library leaves macros behind that change <windows.h>"
#endif
#if defined(min) || defined(max)
#error "the library leaves the macros min and max behind"
#endif
