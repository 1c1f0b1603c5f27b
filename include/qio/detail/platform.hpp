// SPDX-License-Identifier: BSL-1.0
// The one place that asks which operating system this is. Every part below has a twin of the same name and shape in
// the folder of another system.
#pragma once

#if defined(__linux__)
#include <qio/detail/linux/direct.hpp>
#include <qio/detail/linux/transfer.hpp>
#include <qio/detail/posix/guarded_copy.hpp>
#include <qio/detail/posix/handle.hpp>
#include <qio/detail/posix/mapping.hpp>
#include <qio/detail/posix/open.hpp>
#include <qio/detail/posix/signals.hpp>
#else
#error "qio: this operating system is not supported"
#endif

// io_uring is used where liburing's header is found; defining QIO_WITHOUT_LIBURING builds without it.
#if defined(__linux__) && __has_include(<liburing.h>) && !defined(QIO_WITHOUT_LIBURING)
#define QIO_HAS_URING 1
#else
#define QIO_HAS_URING 0
#endif
