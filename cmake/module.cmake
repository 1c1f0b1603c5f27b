# qio::module, for programs with `import qio;`. Included by the project, and by its installed package.
#
# A compiled module fits only the compiler, the C++ standard and the options that it was compiled with. So it is compiled
# in the project that imports it, by CMAKE_CXX_STANDARD and the other settings of that project. Nothing compiled is
# installed.

# qio_add_module(<file>): adds the target, from module/qio.cppm or where that was installed.
function(qio_add_module file)
  cmake_path(GET file PARENT_PATH directory)
  add_library(qio_module STATIC EXCLUDE_FROM_ALL)
  add_library(qio::module ALIAS qio_module)
  target_sources(qio_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS "${directory}" FILES "${file}")
  target_link_libraries(qio_module PUBLIC qio::qio)
  target_compile_features(qio_module PUBLIC cxx_std_20)
  set_target_properties(qio_module PROPERTIES CXX_SCAN_FOR_MODULES ON)
endfunction()
