// SPDX-License-Identifier: BSL-1.0
// What short memory may have done to a round: the kernel makes writers wait, and every thread that needs a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1 {

/// At a round's end: that more memory is dirty than the background limit. Empty: it is not.
std::string throttling_note();

/// That the control group reached its limit more than `before` times. Empty: it did not, or that is unknown.
std::string memory_limit_note(std::optional<std::uint64_t> before);

}  // namespace qd1
