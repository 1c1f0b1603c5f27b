// SPDX-License-Identifier: BSL-1.0
// A setting of a block device's queue, changed for a while.
#pragma once

#include <string>

namespace qd1::platform {

/// Sets `name` ("scheduler", "read_ahead_kb") of the device to `value`, until destroyed. A process of its own puts the
/// old value back whenever this one is done or gone, however that ends. Only one of them may exist at a time. Throws
/// usage_error where the setting cannot be changed, with the reason.
class queue_setting {
 public:
  queue_setting(const std::string& device, const std::string& name, const std::string& value);
  queue_setting(const queue_setting&) = delete;
  queue_setting& operator=(const queue_setting&) = delete;
  ~queue_setting();

 private:
  bool keeper_has_put_back() const noexcept;

  std::string path_;
  std::string old_;
  [[maybe_unused]] int lifeline_ = -1;  // the keeper waits for its end
  [[maybe_unused]] int keeper_ = -1;
};

}  // namespace qd1::platform
