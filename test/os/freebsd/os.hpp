// What tests need from the operating system: on FreeBSD.
#pragma once

#include "../bsd/bsd_os.hpp"
