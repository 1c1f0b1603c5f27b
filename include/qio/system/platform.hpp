// SPDX-License-Identifier: BSL-1.0
// The only header that checks which operating system this is. Every header below has a twin with the same name and
// interface in the folder of another system.
#pragma once

#if defined(__linux__)
#include <qio/system/linux/direct.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/end.hpp>
#include <qio/system/linux/event.hpp>
#include <qio/system/linux/open.hpp>
#include <qio/system/linux/page_cache.hpp>
#include <qio/system/linux/transfer.hpp>
#include <qio/system/posix/guarded_copy.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/mapping.hpp>
#include <qio/system/posix/process.hpp>
#include <qio/system/posix/request_state.hpp>
#elif defined(_WIN32)
#include <qio/system/windows/direct.hpp>
#include <qio/system/windows/directory.hpp>
#include <qio/system/windows/end.hpp>
#include <qio/system/windows/event.hpp>
#include <qio/system/windows/guarded_copy.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/mapping.hpp>
#include <qio/system/windows/open.hpp>
#include <qio/system/windows/page_cache.hpp>
#include <qio/system/windows/process.hpp>
#include <qio/system/windows/request_state.hpp>
#include <qio/system/windows/transfer.hpp>
#else
#error "qio: this operating system is not supported"
#endif
