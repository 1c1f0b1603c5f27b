# Toolchain of the presets for macOS, FreeBSD and ARM64 Windows: compiles by Clang as the package ziglang has it, with
# the headers and the C and C++ libraries of these systems. Nothing runs the programs here.
# QIO_ZIG_TARGET says for what, as zig names it: aarch64-macos, x86_64-macos, x86_64-freebsd, aarch64-windows-gnu.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QIO_ZIG_TARGET)
string(REGEX MATCH "^([^-]+)-([^-]+)" target "${QIO_ZIG_TARGET}")
set(CMAKE_SYSTEM_PROCESSOR "${CMAKE_MATCH_1}")
set(names_of_systems macos Darwin freebsd FreeBSD windows Windows)
list(FIND names_of_systems "${CMAKE_MATCH_2}" at)
math(EXPR at "${at} + 1")
list(GET names_of_systems ${at} CMAKE_SYSTEM_NAME)

file(GLOB qio_zig "${CMAKE_CURRENT_LIST_DIR}/../build/zig/lib/python3*/site-packages/ziglang/zig")
if(NOT qio_zig)
  message(FATAL_ERROR "zig is not installed: cmake/install-dependencies other-systems")
endif()
set(CMAKE_CXX_COMPILER "${qio_zig}" c++)
set(CMAKE_CXX_COMPILER_TARGET "${QIO_ZIG_TARGET}")
set(CMAKE_INSTALL_NAME_TOOL true) # which CMake looks for, and nothing needs
# By default, zig adds a sanitizer to what is not optimized, and its checks end a program without a message.
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=undefined")
set(CMAKE_CROSSCOMPILING_EMULATOR true) # tests cannot be listed

set(qio_headers "${CMAKE_CURRENT_LIST_DIR}/../build/zig-headers")
include("${CMAKE_CURRENT_LIST_DIR}/cross_headers.cmake")
