// SPDX-License-Identifier: BSL-1.0
// The one place that asks which operating system this is. Every part below has a twin of the same name and shape in
// the folder of another system.
#pragma once

#if defined(__linux__)
#include <qio/detail/linux/cached_write.hpp>
#include <qio/detail/linux/direct.hpp>
#include <qio/detail/linux/directory.hpp>
#include <qio/detail/linux/open.hpp>
#include <qio/detail/linux/transfer.hpp>
#include <qio/detail/posix/guarded_copy.hpp>
#include <qio/detail/posix/handle.hpp>
#include <qio/detail/posix/mapping.hpp>
#include <qio/detail/posix/relax.hpp>
#include <qio/detail/posix/request_state.hpp>
#include <qio/detail/posix/signals.hpp>
#elif defined(_WIN32)
#include <qio/detail/windows/cached_write.hpp>
#include <qio/detail/windows/direct.hpp>
#include <qio/detail/windows/directory.hpp>
#include <qio/detail/windows/guarded_copy.hpp>
#include <qio/detail/windows/handle.hpp>
#include <qio/detail/windows/mapping.hpp>
#include <qio/detail/windows/open.hpp>
#include <qio/detail/windows/request_state.hpp>
#include <qio/detail/windows/signals.hpp>
#include <qio/detail/windows/transfer.hpp>
#else
#error "qio: this operating system is not supported"
#endif

// io_uring is used where liburing's header is found; defining QIO_WITHOUT_LIBURING builds without it.
#if defined(__linux__) && __has_include(<liburing.h>) && !defined(QIO_WITHOUT_LIBURING)
#define QIO_HAS_URING 1
#else
#define QIO_HAS_URING 0
#endif

#if defined(_WIN32)
#define QIO_HAS_IOCP 1
#else
#define QIO_HAS_IOCP 0
#endif
