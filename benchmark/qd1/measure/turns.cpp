// SPDX-License-Identifier: BSL-1.0
#include "measure/turns.hpp"

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

}  // namespace qd1
