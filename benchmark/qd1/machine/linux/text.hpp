// SPDX-License-Identifier: BSL-1.0
// The few forms in which the kernel writes values as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1::linux_system {

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> lines(std::string_view text);
/// Separated by white space.
std::vector<std::string_view> words(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

/// A decimal number and nothing else.
std::optional<std::uint64_t> to_number(std::string_view text);
std::optional<double> to_decimal(std::string_view text);

/// The rest of the first line that starts with `key`, after spaces and at most one ':' or '='; without quotes.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key);

/// "none [mq-deadline] kyber": everything that may be chosen, and what is.
struct choice {
  std::optional<std::string> current;
  std::vector<std::string> available;
};
choice to_choice(std::string_view text);

/// "0-3,8": 0, 1, 2, 3, 8. Empty if it is not an ascending list, or has numbers that no machine has.
std::vector<std::uint64_t> to_cpu_list(std::string_view text);

}  // namespace qd1::linux_system
