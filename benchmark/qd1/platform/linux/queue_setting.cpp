// SPDX-License-Identifier: BSL-1.0
#include "platform/queue_setting.hpp"

#include "failure.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

namespace qd1::platform {
namespace {

// The one in brackets from a list of choices: "none [mq-deadline] kyber".
std::string in_force(const std::string& text) {
  const auto begin = text.find('['), end = text.find(']');
  return begin == std::string::npos || end == std::string::npos ? text : text.substr(begin + 1, end - begin - 1);
}

std::string value_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return in_force(text);
}

// Calls only what may be called between fork() and exec() of a process with threads (signal-safety(7)).
bool put_setting(const char* path, std::string_view value) noexcept {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, value.data(), value.size()) == static_cast<ssize_t>(value.size());
  ::close(file);
  return written;
}

// In a session of its own: what ends this program's processes together must not end this one. All signals that can be
// blocked are, from before the fork on. It reports when it is ready: nothing is changed before.
[[noreturn]] void keep(int lifeline, int ready, const char* path, std::string_view old) noexcept {
  ::setsid();
  put_setting("/proc/self/oom_score_adj", "0");  // whatever was asked for this program's measuring
  char byte = 0;
  if (::write(ready, &byte, 1) != 1) ::_exit(1);
  ::close(ready);
  while (::read(lifeline, &byte, 1) < 0 && errno == EINTR) {}
  ::_exit(put_setting(path, old) ? 0 : 1);
}

}  // namespace

queue_setting::queue_setting(const std::string& device, const std::string& name, const std::string& value)
    : path_(fmt::format("/sys/block/{}/queue/{}", device, name)), old_(value_in(path_)) {
  if (old_.empty()) throw usage_error(fmt::format("{}: there is no such setting", path_));
  int ends[2], ready[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw usage_error(fmt::format("{}: {}", path_, std::strerror(errno)));
  if (::pipe2(ready, O_CLOEXEC) != 0) {
    const int failure = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw usage_error(fmt::format("{}: {}", path_, std::strerror(failure)));
  }
  {
    const qio::platform::signals_blocked until_forked;  // in the keeper, until it ends
    keeper_ = ::fork();
    if (keeper_ == 0) {
      ::close(ends[1]);
      ::close(ready[0]);
      keep(ends[0], ready[1], path_.c_str(), old_);
    }
  }
  ::close(ends[0]);
  ::close(ready[1]);
  lifeline_ = ends[1];
  char byte;
  ssize_t heard;
  do heard = keeper_ > 0 ? ::read(ready[0], &byte, 1) : 0;
  while (heard < 0 && errno == EINTR);
  ::close(ready[0]);
  errno = 0;
  const bool taken = heard == 1 && put_setting(path_.c_str(), value);
  const int reason = errno;
  if (taken && value_in(path_) == value) return;
  ::close(lifeline_);
  if (keeper_ > 0) keeper_has_put_back();
  throw usage_error(fmt::format("{}: {} could not be set: {}; this needs root, and a value that the device supports",
                                path_, value, reason == 0 ? "the kernel chose another value" : std::strerror(reason)));
}

// Else it was killed, or the device is gone.
bool queue_setting::keeper_has_put_back() const noexcept {
  int status = 0;
  while (::waitpid(keeper_, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

queue_setting::~queue_setting() {
  ::close(lifeline_);
  if (keeper_has_put_back() || put_setting(path_.c_str(), old_)) return;
  std::fprintf(stderr, "qd1: %s: could not be restored to %s\n", path_.c_str(), old_.c_str());
}

}  // namespace qd1::platform
