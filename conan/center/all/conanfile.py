"""qio as ConanCenter has packages: the sources come from the archive of a release, which conandata.yml names."""

import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class QioConan(ConanFile):
    name = "qio"
    description = "Asynchronous file I/O where latency matters: cached, direct, mapped"
    license = "BSL-1.0"
    topics = ("async", "file", "io", "io_uring", "direct-io", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_fmt": [True, False]}
    default_options = {"with_fmt": False}
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        self.requires("boost/1.86.0")
        if self.settings.os == "Linux":
            self.requires("liburing/2.8", libs=False)  # its header only
        if self.options.with_fmt:
            self.requires("fmt/11.0.2")

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        copy(self, "*.py", os.path.join(self.source_folder, "cmake", "gdb"),
             os.path.join(self.package_folder, "share", "qio", "gdb"))
        copy(self, "*.bt", os.path.join(self.source_folder, "tools"),
             os.path.join(self.package_folder, "share", "qio", "tools"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []

        qio = self.cpp_info.components["qio"]
        qio.set_property("cmake_target_name", "qio::qio")
        qio.set_property("pkg_config_name", "qio")
        qio.requires = ["boost::headers"]
        if self.settings.os == "Linux":
            qio.requires.append("liburing::liburing")
            qio.system_libs = ["pthread"]
        if self.options.with_fmt:
            formatters = self.cpp_info.components["format"]
            formatters.set_property("cmake_target_name", "qio::format")
            formatters.requires = ["qio", "fmt::fmt"]
