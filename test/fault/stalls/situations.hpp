// The situations in which a context's thread might be blocked.
#pragma once

#include "measure.hpp"

#include <functional>
#include <string>
#include <vector>

namespace stalls {

/// What is promised.
enum class promise {
  none,    ///< nothing: measured for comparison
  always,  ///< no turn is longer than 20 ms, 99.99 % are not longer than 1 ms, and deadlines cancel within 7 ms
  pauses,  ///< an inline write may wait, which blocks the thread for at most a seventeenth of the time
};

struct situation {
  std::string name;
  promise kept = promise::none;
  bool never = false;      ///< the context runs nothing inline
  bool only_full = false;  ///< changes something for the whole system, or counts nothing
  std::function<outcome(const form&)> bring_about;
};

std::vector<situation> all_situations();

}  // namespace stalls
