# What `cmake --install` installs: the headers, a CMake package, a pkg-config file, the pretty-printers for gdb and
# the scripts for bpftrace. A header-only library has no architecture, so all but the headers go under share/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_DATADIR}/cmake/qio")
set(pkgconfig_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")

install(DIRECTORY include/qio DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
install(TARGETS qio EXPORT qio INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT qio NAMESPACE qio:: FILE qio-targets.cmake DESTINATION "${config_dir}")

# The package decides about liburing as this build did: what was compiled against it must not lose it later.
set(QIO_USES_LIBURING ${liburing_FOUND})
configure_package_config_file(cmake/qio-config.cmake.in qio-config.cmake
  INSTALL_DESTINATION "${config_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(qio-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/qio-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/qio-config-version.cmake"
  cmake/Findliburing.cmake
  cmake/module.cmake
  module/qio.cppm
  DESTINATION "${config_dir}")

# The prefix is relative to the file, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}" OUTPUT_VARIABLE prefix_from_pcfiledir)
if(liburing_FOUND)
  # Private: its header is needed, and nothing of it is linked.
  set(pc_requires "Requires.private: liburing >= 2.3")
else()
  set(pc_defines " -DQIO_WITHOUT_LIBURING")
endif()
if(QIO_USDT)
  string(APPEND pc_defines " -DQIO_USDT=1")
endif()
configure_file(cmake/qio.pc.in qio.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/qio.pc" DESTINATION "${pkgconfig_dir}")
install(DIRECTORY cmake/gdb/ DESTINATION "${CMAKE_INSTALL_DATADIR}/qio/gdb" FILES_MATCHING PATTERN "*.py"
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY tools/ DESTINATION "${CMAKE_INSTALL_DATADIR}/qio/tools" FILES_MATCHING PATTERN "*.bt")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/qio")
