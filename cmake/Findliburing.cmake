# Finds liburing and defines liburing::liburing, with the library if it is there: qio needs the header only. Needs no
# pkg-config: the version is read from the header, which is
# what decides. Up to 2.3 the header does not say it, so a function that 2.3 brought stands for it.
find_path(liburing_INCLUDE_DIR liburing.h)
find_library(liburing_LIBRARY uring)
mark_as_advanced(liburing_INCLUDE_DIR liburing_LIBRARY)

if(liburing_INCLUDE_DIR)
  if(EXISTS "${liburing_INCLUDE_DIR}/liburing/io_uring_version.h")
    file(STRINGS "${liburing_INCLUDE_DIR}/liburing/io_uring_version.h" lines REGEX "IO_URING_VERSION_(MAJOR|MINOR) +[0-9]+")
    string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" liburing_VERSION "${lines}")
  else()
    file(STRINGS "${liburing_INCLUDE_DIR}/liburing.h" lines REGEX "io_uring_register_sync_cancel" LIMIT_COUNT 1)
    if(lines)
      set(liburing_VERSION 2.3)
    else()
      set(liburing_VERSION 2.2)
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(liburing
  REQUIRED_VARS liburing_INCLUDE_DIR VERSION_VAR liburing_VERSION)

if(liburing_FOUND AND NOT TARGET liburing::liburing)
  add_library(liburing::liburing INTERFACE IMPORTED)
  target_include_directories(liburing::liburing INTERFACE "${liburing_INCLUDE_DIR}")
  if(liburing_LIBRARY)
    target_link_libraries(liburing::liburing INTERFACE "${liburing_LIBRARY}")
  endif()
endif()
