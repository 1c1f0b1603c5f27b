# Toolchain of the presets that compile by Clang: the pinned version where it is installed, else whatever clang there is.
find_program(qio_clang NAMES clang++-16 clang++ REQUIRED)
set(CMAKE_CXX_COMPILER "${qio_clang}")
