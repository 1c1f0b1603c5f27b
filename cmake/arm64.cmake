# Toolchain of the arm64 preset: compiles for Linux on ARM64. The programs are static, so that they run in an emulated
# machine that has no libraries; this machine cannot run them, and so their tests are not listed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

find_program(qio_arm64 NAMES aarch64-linux-gnu-g++ REQUIRED)
set(CMAKE_CXX_COMPILER "${qio_arm64}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_CROSSCOMPILING_EMULATOR true)

set(qio_headers "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-headers")
include("${CMAKE_CURRENT_LIST_DIR}/cross_headers.cmake")
# Of liburing the header serves, too. Nothing is linked, but a library is looked for.
if(EXISTS /usr/include/liburing.h)
  file(CREATE_LINK /usr/include/liburing.h "${qio_headers}/include/liburing.h" SYMBOLIC)
  file(CREATE_LINK /usr/include/liburing "${qio_headers}/include/liburing" SYMBOLIC)
  file(TOUCH "${qio_headers}/lib/liburing.a")
endif()
