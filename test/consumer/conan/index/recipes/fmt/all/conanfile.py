import os

from conan import ConanFile


class SystemFmt(ConanFile):
    """The headers of the system's fmt under the names of ConanCenter's package."""

    name = "fmt"
    package_type = "header-library"

    def package(self):
        # Nothing but these: beside them are the headers of this system's C library, which is not that of each target.
        include = os.path.join(self.package_folder, "include")
        os.mkdir(include)
        os.symlink("/usr/include/fmt", os.path.join(include, "fmt"))

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "fmt::fmt-header-only")
        self.cpp_info.defines = ["FMT_HEADER_ONLY=1"]
        self.cpp_info.libdirs = self.cpp_info.bindirs = []
