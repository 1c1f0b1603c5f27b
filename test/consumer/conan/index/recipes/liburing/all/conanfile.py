from conan import ConanFile


class SystemLiburing(ConanFile):
    """The system's liburing under the names of ConanCenter's package."""

    name = "liburing"
    package_type = "header-library"

    def package_info(self):
        self.cpp_info.system_libs = ["uring"]
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
