// SPDX-License-Identifier: BSL-1.0
#include "platform/queue_setting.hpp"

#include "failure.hpp"

#include <fmt/format.h>

namespace qd1::platform {

queue_setting::queue_setting(const std::string& device, const std::string& name, const std::string&) {
  throw usage_error(fmt::format("{} of {}: Windows has no such setting", name, device));
}

queue_setting::~queue_setting() = default;
bool queue_setting::keeper_has_put_back() const noexcept { return true; }

}  // namespace qd1::platform
