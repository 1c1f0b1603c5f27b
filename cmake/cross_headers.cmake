# Included by toolchain files that compile for another system or processor; qio_headers is a directory to be made.
# The libraries that qio uses are headers only, the same everywhere: those installed here serve. But /usr/include itself
# would bring this machine's C library along. So the directory has links to these libraries and nothing else, and CMake
# packages that lead there.
set(CMAKE_FIND_ROOT_PATH "${qio_headers}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
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
# Version 3 of Catch2 is not headers only: catch2-source has its sources. The tests have a main of their own.
if(NOT EXISTS /usr/include/catch2/catch.hpp)
  set(catch2 "${CMAKE_CURRENT_LIST_DIR}/../build/catch2")
  file(CONFIGURE OUTPUT "${qio_headers}/lib/cmake/Catch2/Catch2Config.cmake" CONTENT
"if(NOT TARGET Catch2::Catch2)
  add_library(catch2 STATIC \"${catch2}/catch_amalgamated.cpp\")
  target_include_directories(catch2 SYSTEM PUBLIC \"${catch2}\")
  target_compile_features(catch2 PUBLIC cxx_std_20)
  target_compile_definitions(catch2 PRIVATE CATCH_AMALGAMATED_CUSTOM_MAIN)
  add_library(Catch2::Catch2 ALIAS catch2)
endif()
")
endif()
list(APPEND CMAKE_MODULE_PATH /usr/lib/cmake/Catch2) # its module that makes test cases tests of CTest
