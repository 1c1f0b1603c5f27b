// What tests need from the operating system: on macOS.
#pragma once

#include "../bsd/bsd_os.hpp"
