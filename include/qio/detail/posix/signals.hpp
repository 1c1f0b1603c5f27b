// SPDX-License-Identifier: BSL-1.0
// Threads of the library's own must not be where the program's signals are handled.
#pragma once

#include <signal.h>

namespace qio::platform {

/// While it lives, the calling thread takes no signals, nor do threads that it starts, ever.
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

}  // namespace qio::platform
