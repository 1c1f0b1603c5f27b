from conan import ConanFile


class SystemBoost(ConanFile):
    """The headers of the system's Boost under the names of ConanCenter's package."""

    name = "boost"
    package_type = "header-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.includedirs = headers.libdirs = headers.bindirs = []
