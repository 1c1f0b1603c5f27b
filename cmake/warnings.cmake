# The warnings our own translation units are built with, the library's headers among them. They are errors where the
# preset says so (CMAKE_COMPILE_WARNING_AS_ERROR), never for someone who only wants to build with a newer compiler.
add_library(qio_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(qio_warnings INTERFACE
    -Wall -Wextra -Wpedantic
    -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wshadow -Wold-style-cast -Wcast-align -Wcast-qual
    -Wnon-virtual-dtor -Woverloaded-virtual
    -Wundef -Wextra-semi -Wimplicit-fallthrough)
  # In programs, the library is silent about this: see QIO_BEGIN_NAMESPACE.
  target_compile_definitions(qio_warnings INTERFACE QIO_WARN_OF_SHADOWING)
endif()
if(MSVC)
  # /bigobj: a file of the contract suite has more sections than an object holds by default. /MP: several at a time.
  target_compile_options(qio_warnings INTERFACE /W4 /permissive- /utf-8 /Zc:__cplusplus /Zc:preprocessor /bigobj /MP)
  # It warns of std::getenv (C4996).
  target_compile_definitions(qio_warnings INTERFACE _CRT_SECURE_NO_WARNINGS)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(qio_warnings INTERFACE -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12, when it optimizes, warns about its own library's "literal" + std::string (GCC bug 105651).
  target_compile_options(qio_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=|-O1")
  # The sanitizers' own code, or little optimization, hides from GCC that a variable is set: it warns about the standard
  # library itself (<regex>, <stop_token>).
  target_compile_options(qio_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
