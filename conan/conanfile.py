"""qio as a Conan 2 package: headers only, on Boost's headers and, on Linux, liburing."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load

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

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "include", "qio", "version.hpp"))
        self.version = ".".join(re.findall(r"#define QIO_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    # The recipe lives in conan/, what it packages beside it.
    def export_sources(self):
        project = os.path.join(self.recipe_folder, "..")
        copy(self, "LICENSE", project, self.export_sources_folder)
        copy(self, "include/*.hpp", project, self.export_sources_folder)
        copy(self, "cmake/gdb/*.py", project, self.export_sources_folder)
        copy(self, "tools/*.bt", project, self.export_sources_folder)

    def layout(self):
        self.folders.root = ".."

    def requirements(self):
        self.requires("boost/[>=1.74]")
        if self.settings.os == "Linux":
            self.requires("liburing/[>=2.3]", libs=False)  # its header only
        if self.options.with_fmt:
            self.requires("fmt/[>=9.1]")

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

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
