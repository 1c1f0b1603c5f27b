// SPDX-License-Identifier: BSL-1.0
// The configuration of this copy of the library: version, engine, exceptions, checks. Translation units that differ in
// any of these disagree about the layout of qio's types, so all of qio lives in an inline namespace named after them.
//
// Every public header includes this one first, so a compiler that lacks something gets its error here, once.
#pragma once

#include <qio/version.hpp>

// A header that does not exist is a fatal error: nothing after it is compiled, and no second error is reported.
#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "qio requires C++20: compile with -std=c++20 or later (MSVC: /std:c++20)"
#include "qio requires C++20"
#endif

#include <version>
#if !defined(__cpp_lib_jthread)
#error "qio requires std::stop_token: an older libc++ needs -fexperimental-library, MinGW its POSIX threads"
#include "qio requires std::stop_token"
#endif

// Attributes by the names that each compiler has for them. MSVC warns about attributes that it does not know.
#if defined(__GNUC__)
#define QIO_COLD [[gnu::cold, gnu::noinline]]
#define QIO_NOINLINE [[gnu::noinline]]
#define QIO_ALWAYS_INLINE [[gnu::always_inline]]
#define QIO_WARN_UNUSED [[gnu::warn_unused]]
#if defined(__clang__)  // which must not inline await_suspend() before it has saved the coroutine
#define QIO_ALWAYS_INLINE_BY_GCC
#else
#define QIO_ALWAYS_INLINE_BY_GCC [[gnu::always_inline]]
#endif
#else
#define QIO_COLD
#define QIO_NOINLINE
#define QIO_ALWAYS_INLINE
#define QIO_ALWAYS_INLINE_BY_GCC
#define QIO_WARN_UNUSED
#endif
#if defined(_MSC_VER)
#define QIO_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#else
#define QIO_NO_UNIQUE_ADDRESS [[no_unique_address]]
#endif

/// QIO_SYMMETRIC_TRANSFER: 1 where an await_suspend() may return the coroutine to resume although its own coroutine is
/// destroyed meanwhile. 0 for MSVC before 19.50, which stores the returned handle in the frame of the suspended
/// coroutine; there, await_suspend() resumes the other coroutine itself, which takes some of the stack. To test that
/// with another compiler, define it to 0 for the whole program.
#if !defined(QIO_SYMMETRIC_TRANSFER)
#if defined(_MSC_VER) && !defined(__clang__) && _MSC_VER < 1950
#define QIO_SYMMETRIC_TRANSFER 0
#else
#define QIO_SYMMETRIC_TRANSFER 1
#endif
#endif

/// QIO_HAS_ATOMIC_WAIT: 0 where std::atomic::wait() may miss a notification. Without a futex, as on Windows, that of
/// libstdc++ compares before it takes its lock, until GCC 13.
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAVE_LINUX_FUTEX)
#define QIO_HAS_ATOMIC_WAIT 0
#else
#define QIO_HAS_ATOMIC_WAIT 1
#endif

/// QIO_HAS_URING: 1 where qio can use io_uring, which needs the header <liburing.h>, but not the library. To build
/// without it, define QIO_WITHOUT_LIBURING (to anything).
#if defined(__linux__) && __has_include(<liburing.h>) && !defined(QIO_WITHOUT_LIBURING)
#define QIO_HAS_URING 1
#else
#define QIO_HAS_URING 0
#endif

/// QIO_LACKS_LIBURING: 1 on Linux without io_uring in the build, where worker threads take its place.
#if defined(__linux__) && !QIO_HAS_URING
#define QIO_LACKS_LIBURING 1
#else
#define QIO_LACKS_LIBURING 0
#endif

/// QIO_HAS_IOCP: 1 where qio uses I/O completion ports, that is, on Windows.
#if defined(_WIN32)
#define QIO_HAS_IOCP 1
#else
#define QIO_HAS_IOCP 0
#endif

/// QIO_CHECKS: 1 checks preconditions and invariants, and ends the program with one line that names the mistake (see
/// base/helpers.hpp); 0 does not. Define it to 0 or 1 to decide. The CMake target qio::qio defines it to 1 in the Debug
/// configuration, or to the value of the variable or target property QIO_CHECKS. Undefined, it is 1 in builds with the
/// address, thread or memory sanitizer and in MSVC's debug builds, else 0. It does not depend on NDEBUG, in which the
/// translation units of one program often differ.
#if !defined(QIO_CHECKS)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(_DEBUG)
#define QIO_CHECKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define QIO_CHECKS 1
#endif
#endif
#endif
#if !defined(QIO_CHECKS)
#define QIO_CHECKS 0
#endif

// By token pasting, because #if treats every unknown identifier as 0: QIO_CHECKS=ON would turn the checks off.
#define QIO_TAG_PASTE(left, right) left##right
#define QIO_TAG_PASTE_VALUES(left, right) QIO_TAG_PASTE(left, right)
#define QIO_TAG_CHECKS_IS_0 1
#define QIO_TAG_CHECKS_IS_1 1
#if !QIO_TAG_PASTE_VALUES(QIO_TAG_CHECKS_IS_, QIO_CHECKS)
#error "QIO_CHECKS must be 0 or 1"
#include "QIO_CHECKS must be 0 or 1"
#endif

/// QIO_USDT: 1 compiles in static probes for bpftrace and other tracers (see request/probes.hpp and docs/operate.md); 0
/// does not, and is the default. Linux only; needs the header <sys/sdt.h>. It changes no type. Define it in all
/// translation units of a program or in none: a function that several of them have may come from any of them.
#if !defined(QIO_USDT)
#define QIO_USDT 0
#endif
#if !QIO_TAG_PASTE_VALUES(QIO_TAG_CHECKS_IS_, QIO_USDT)
#error "QIO_USDT must be 0 or 1"
#include "QIO_USDT must be 0 or 1"
#endif
#if QIO_USDT && !defined(__linux__)
#error "QIO_USDT: there are static probes on Linux only"
#elif QIO_USDT && !__has_include(<sys/sdt.h>)
#error "QIO_USDT needs <sys/sdt.h>: install systemtap-sdt-dev (Debian, Ubuntu) or systemtap-sdt-devel (Fedora)"
#endif

// The leading underscores make it unlikely that a macro of the program has one of these names.
#if QIO_HAS_URING
#define QIO_TAG_ENGINE _uring
#elif QIO_HAS_IOCP
#define QIO_TAG_ENGINE _iocp
#else
#define QIO_TAG_ENGINE _pool
#endif
#if defined(__cpp_exceptions)
#define QIO_TAG_EXCEPTIONS _exceptions
#else
#define QIO_TAG_EXCEPTIONS _no_exceptions
#endif
#if QIO_CHECKS
#define QIO_TAG_CHECKS _checks
#else
#define QIO_TAG_CHECKS _no_checks
#endif
#define QIO_TAG_JOIN(major, minor, patch, engine, exceptions, checks) \
  v##major##_##minor##_##patch##engine##exceptions##checks
#define QIO_TAG_JOIN_VALUES(major, minor, patch, engine, exceptions, checks) \
  QIO_TAG_JOIN(major, minor, patch, engine, exceptions, checks)
#define QIO_TAG_QUOTE(name) #name
#define QIO_TAG_QUOTE_VALUE(name) QIO_TAG_QUOTE(name)

/// QIO_CONFIGURATION: the inline namespace that contains everything in qio, such as v0_1_0_uring_exceptions_no_checks.
///
/// Translation units of different configurations that exchange qio's types do not link: the linker reports an undefined
/// function or variable, whose name contains the configuration of the unit that refers to it. Units that exchange none
/// work side by side in one program.
#define QIO_CONFIGURATION                                                                                          \
  QIO_TAG_JOIN_VALUES(QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH, QIO_TAG_ENGINE, QIO_TAG_EXCEPTIONS, \
                      QIO_TAG_CHECKS)

/// Opens and closes the library's namespace, which tools that do not expand macros need not understand. Between them,
/// names that shadow global ones of the program are no mistake (-Wshadow), except while the library itself is tested
/// (QIO_WARN_OF_SHADOWING).
#if defined(__GNUC__) && !defined(QIO_WARN_OF_SHADOWING)
#define QIO_BEGIN_NAMESPACE                                                                     \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"") namespace qio { \
    inline namespace QIO_CONFIGURATION {
#define QIO_END_NAMESPACE \
  }                       \
  }                       \
  _Pragma("GCC diagnostic pop")
#else
#define QIO_BEGIN_NAMESPACE \
  namespace qio {           \
  inline namespace QIO_CONFIGURATION {
#define QIO_END_NAMESPACE \
  }                       \
  }
#endif

static_assert(sizeof(void*) == 8, "qio requires a 64-bit system");

namespace qio {

// Where symbol names contain neither return types nor the types of variables, the tag adds the configuration to the
// names of functions that return one of qio's types, and to those of variables.
#if defined(__GNUC__)
inline namespace QIO_CONFIGURATION __attribute__((abi_tag(QIO_TAG_QUOTE_VALUE(QIO_CONFIGURATION)))) {}
#else
inline namespace QIO_CONFIGURATION {}
#endif

}  // namespace qio
