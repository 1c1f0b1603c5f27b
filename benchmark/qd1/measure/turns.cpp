// SPDX-License-Identifier: BSL-1.0
#include "measure/turns.hpp"

#include <chrono>

namespace qd1 {

turns::turns(const std::string& path) : file_(path) { take(); }

void turns::pass() {
  file_.unlock(now);
  take();
}

void turns::take() {
  file_.lock(next);
  file_.lock(now);
  file_.unlock(next);
}

void note_turns(std::vector<series>& all, const std::string& path, double seconds) {
  if (path.empty()) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  for (series& each : all) {
    each.turns = path;
    each.began = now.count() - seconds;
  }
}

}  // namespace qd1
