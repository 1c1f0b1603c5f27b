// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>

namespace qd1::windows_system {

/// Whether BitLocker encrypts the volume with this root directory ("C:\"): see device_facts::encryption. None where
/// Windows does not say.
std::optional<std::string> find_encryption(const std::wstring& root);

/// What a value of the shell's property System.Volume.BitLockerProtection means; none for an unknown value.
std::optional<std::string> name_of_protection(int value);

}  // namespace qd1::windows_system
