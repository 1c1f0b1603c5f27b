# Toolchain of the mingw-wine preset: compiles for Windows by MinGW-w64, and runs what was compiled by Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)

# The posix flavour, where there are two: the other one's library has no threads.
find_program(qio_mingw NAMES x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-g++ REQUIRED)
set(CMAKE_CXX_COMPILER "${qio_mingw}")
add_compile_options(-Wa,-mbig-obj) # the contract suite has more sections than an object holds by default
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static") # programs that need none of the compiler's DLLs
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/wine")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The libraries that qio uses are headers only, the same for each system: those installed here will do. But
# /usr/include itself would bring this system's C library along. So: a directory that has these and nothing else, and
# packages that lead there.
set(qio_headers "${CMAKE_CURRENT_LIST_DIR}/../build/mingw-headers")
set(CMAKE_FIND_ROOT_PATH "${qio_headers}")
foreach(library IN ITEMS # package, target, directory, definitions
    "Boost Boost::headers boost" "fmt fmt::fmt-header-only fmt FMT_HEADER_ONLY=1" "Catch2 Catch2::Catch2 catch2"
    "CLI11 CLI11::CLI11 CLI" "nlohmann_json nlohmann_json::nlohmann_json nlohmann")
  string(REPLACE " " ";" library "${library}")
  list(POP_FRONT library package target directory)
  set(there "${qio_headers}/lib/cmake/${package}")
  if(EXISTS "/usr/include/${directory}")
    file(MAKE_DIRECTORY "${qio_headers}/include")
    file(CREATE_LINK "/usr/include/${directory}" "${qio_headers}/include/${directory}" SYMBOLIC)
    file(CONFIGURE OUTPUT "${there}/${package}ConfigVersion.cmake" CONTENT "set(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
    file(CONFIGURE OUTPUT "${there}/${package}Config.cmake" CONTENT
"if(NOT TARGET ${target})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE \"${qio_headers}/include\")
  target_compile_definitions(${target} INTERFACE ${library})
endif()
")
  endif()
endforeach()
list(APPEND CMAKE_MODULE_PATH /usr/lib/cmake/Catch2) # its module that makes test cases tests of CTest
