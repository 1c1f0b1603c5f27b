import os

from conan import ConanFile


class SystemBoost(ConanFile):
    """The headers of the system's Boost under the names of ConanCenter's package."""

    name = "boost"
    package_type = "header-library"

    def package(self):
        # Nothing but these: beside them are the headers of this system's C library, which is not that of each target.
        include = os.path.join(self.package_folder, "include")
        os.mkdir(include)
        os.symlink("/usr/include/boost", os.path.join(include, "boost"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.libdirs = headers.bindirs = []
