// SPDX-License-Identifier: BSL-1.0
#include "platform/loop.hpp"

namespace qd1::platform {

loop_file file_behind(const std::string&) { return {}; }

buffered_loop::buffered_loop(const std::string&) : why_not_("this system has no loop devices") {}
buffered_loop::~buffered_loop() = default;

std::optional<placement> place(const std::string&, const std::vector<byte_range>&) { return std::nullopt; }

}  // namespace qd1::platform
