// SPDX-License-Identifier: BSL-1.0
// What the headers of posix and bsd need from the system itself: see platform.hpp, which has everything.
#pragma once

#if defined(__linux__)
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/mapping.hpp>
#include <qio/system/linux/status.hpp>
#elif defined(__APPLE__)
#include <qio/system/bsd/directory.hpp>
#include <qio/system/bsd/mapping.hpp>
#include <qio/system/bsd/status.hpp>
#include <qio/system/darwin/cache.hpp>
#include <qio/system/darwin/sync.hpp>
#elif defined(__FreeBSD__)
#include <qio/system/bsd/directory.hpp>
#include <qio/system/bsd/mapping.hpp>
#include <qio/system/bsd/status.hpp>
#include <qio/system/freebsd/cache.hpp>
#include <qio/system/freebsd/sync.hpp>
#endif
