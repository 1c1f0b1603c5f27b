// SPDX-License-Identifier: BSL-1.0
// The interface for administrators (Win32_EncryptableVolume) tells more, but every user may ask the shell for what it
// shows beside the volume. The values of the property are not documented; they are those that programs use.
#include <qio/system/windows/calls.hpp>

#include <objbase.h>
#include <propsys.h>
#include <qd1/machine/windows/bitlocker.hpp>
#include <shobjidl.h>

namespace qd1::windows_system {
namespace {

// COM, as long as this exists.
class component_library {
 public:
  component_library() : started_(SUCCEEDED(::CoInitializeEx(nullptr, COINIT_MULTITHREADED))) {}
  component_library(const component_library&) = delete;
  component_library& operator=(const component_library&) = delete;
  ~component_library() {
    if (started_) ::CoUninitialize();
  }
  bool started() const { return started_; }

 private:
  bool started_;
};

}  // namespace

std::optional<std::string> name_of_protection(int value) {
  switch (value) {
    case 1: return "BitLocker";
    case 2: return "none";
    case 3: return "BitLocker, encrypting";
    case 4: return "BitLocker, decrypting";
    case 5: return "BitLocker, suspended";
    default: return std::nullopt;
  }
}

std::optional<std::string> find_encryption(const std::wstring& root) {
  const component_library library;
  PROPERTYKEY key;
  IShellItem2* volume = nullptr;
  if (!library.started() || root.empty()) return std::nullopt;
  if (FAILED(::PSGetPropertyKeyFromName(L"System.Volume.BitLockerProtection", &key))) return std::nullopt;
  if (FAILED(::SHCreateItemFromParsingName(root.c_str(), nullptr, IID_PPV_ARGS(&volume)))) return std::nullopt;
  INT value = 0;
  const bool told = SUCCEEDED(volume->GetInt32(key, &value));
  volume->Release();
  return told ? name_of_protection(value) : std::nullopt;
}

}  // namespace qd1::windows_system
