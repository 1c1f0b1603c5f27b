// SPDX-License-Identifier: BSL-1.0
// Keeps the program's signals off the library's own threads.
#pragma once

#include <qio/configuration.hpp>

#include <signal.h>

namespace qio::inline QIO_CONFIGURATION::platform {

/// While it exists, the calling thread receives no signals; threads started meanwhile never receive any.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
