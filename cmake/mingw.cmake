# Toolchain of the mingw-wine preset: compiles for Windows by MinGW-w64, and runs what was compiled by Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

# The posix flavor, where there are two: the other one's library has no threads.
find_program(qio_mingw NAMES x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-g++ REQUIRED)
set(CMAKE_CXX_COMPILER "${qio_mingw}")
add_compile_options(-Wa,-mbig-obj) # the contract suite has more sections than an object holds by default
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static") # programs that need none of the compiler's DLLs
# GNU ld takes minutes for the contract suite, with its 700,000 sections, where LLD takes a second. Debian's GCC has the
# path of GNU ld built in, and -fuse-ld changes nothing.
find_program(qio_lld NAMES ld.lld-16 ld.lld)
if(qio_lld)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -wrapper ${CMAKE_CURRENT_LIST_DIR}/link_by_lld,${qio_lld}")
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/wine")

set(qio_headers "${CMAKE_CURRENT_LIST_DIR}/../build/mingw-headers")
include("${CMAKE_CURRENT_LIST_DIR}/cross_headers.cmake")
