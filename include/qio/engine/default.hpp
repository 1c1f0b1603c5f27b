// SPDX-License-Identifier: BSL-1.0
// The engine of this system.
#pragma once

#include <qio/configuration.hpp>
#if QIO_HAS_URING
#include <qio/engine/linux.hpp>
#elif QIO_HAS_IOCP
#include <qio/engine/iocp.hpp>
#else
#include <qio/engine/pool.hpp>
#endif

QIO_BEGIN_NAMESPACE

/// The engine of qio::context: io_uring or a completion port, where it is available, otherwise worker threads. Which of
/// them is chosen when the context is created: see context_options::engine.
#if QIO_HAS_URING
using default_engine = linux_engine;
#elif QIO_HAS_IOCP
using default_engine = iocp;
#else
using default_engine = pool;
#endif

QIO_END_NAMESPACE
