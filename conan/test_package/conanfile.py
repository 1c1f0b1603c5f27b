"""Builds a program against the package as its users do, and runs it: it writes a file and reads it back."""

from conan import ConanFile
from conan.tools.build import can_run, cross_building
from conan.tools.cmake import CMake, cmake_layout


class QioTestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"
    test_type = "explicit"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            # The environment of what runs elsewhere is a script for that system's shell.
            env = "conanbuild" if cross_building(self) else "conanrun"
            CMake(self).ctest(["--output-on-failure", "--no-tests=error"], env=env)
