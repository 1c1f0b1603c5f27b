// SPDX-License-Identifier: BSL-1.0
// Static probes (USDT) of operations, which bpftrace, perf, SystemTap and gdb attach to while a program runs: see
// docs/operate.md. If QIO_USDT is 1, each is a nop while nobody listens, and the compiler keeps the arguments at hand;
// if it is 0, there is nothing.
//
//     qio:operation_start(request, kind, descriptor, offset, bytes, path)
//     qio:operation_submit(request, kind, how, offset, bytes)
//     qio:operation_complete(request, kind, how, transferred, error, path)
//
// `request` is an address, the same for all probes of an operation, and of another operation later. `kind` is an
// opcode: 0 a read, 1 a write, 2 a sync, 3 a writeback, 4 a call on a worker thread. `offset` and `bytes` are those of
// the whole transfer. `path` is the file's, as it was opened: a string, empty if there is none. `how` is an
// operation_path: 0 on the context's thread at once, 1 by the kernel, 2 by a worker thread. `error` is the number of
// the std::error_code, 0 if the operation succeeded. (bpftrace reads six arguments, no more.)
#pragma once

#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#if QIO_USDT
#include <sys/sdt.h>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace detail {

/// What a probe reports of a request. Each is in memory as it is, so that a probe need not compute it.
struct probed {
  static std::uint8_t kind(const request& r) noexcept { return static_cast<std::uint8_t>(r.op); }
  static const char* path(const request& r) noexcept { return r.activity->path.c_str(); }
  static int failure(const request& r) noexcept { return r.failure.value_; }
};

}  // namespace detail
QIO_END_NAMESPACE

/// For a short function that contains a probe. GCC counts the lines of a probe's assembler text as instructions, and
/// would call what it inlines without the probe.
#define QIO_PROBED QIO_ALWAYS_INLINE

/// An engine takes a request.
#define QIO_PROBE_START(r)                                                                                             \
  STAP_PROBE6(qio, operation_start, &(r), ::qio::detail::probed::kind(r), (r).handle, (r).io.offset(), (r).io.total(), \
              ::qio::detail::probed::path(r))

/// An engine hands a request, or the rest of one, to the kernel (1), or a worker thread begins with it (2).
#define QIO_PROBE_SUBMIT(r, how) \
  STAP_PROBE5(qio, operation_submit, &(r), ::qio::detail::probed::kind(r), how, (r).io.offset(), (r).io.total())

/// A request is complete, by the context's thread at once (0), the kernel (1) or a worker thread (2).
#define QIO_PROBE_COMPLETE(r, how)                                                                      \
  STAP_PROBE6(qio, operation_complete, &(r), ::qio::detail::probed::kind(r), how, (r).io.transferred(), \
              ::qio::detail::probed::failure(r), ::qio::detail::probed::path(r))
#else
#define QIO_PROBED
#define QIO_PROBE_START(r) static_cast<void>(0)
#define QIO_PROBE_SUBMIT(r, how) static_cast<void>(0)
#define QIO_PROBE_COMPLETE(r, how) static_cast<void>(0)
#endif
