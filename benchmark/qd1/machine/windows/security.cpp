// SPDX-License-Identifier: BSL-1.0
// The registry values that Microsoft documents for Defender ("Microsoft Defender Antivirus ... Group Policy") and for
// memory integrity ("Enable memory integrity"); the state of the service by the service control manager. Every user may
// read these.
#include <qio/system/windows/calls.hpp>

#include <qd1/machine/windows/security.hpp>
#include <winsvc.h>

namespace qd1::windows_system {
namespace {

std::optional<std::uint32_t> registry_number(const wchar_t* key, const wchar_t* value) {
  DWORD number = 0;
  DWORD bytes = sizeof number;
  // The view of 64-bit programs, which is the system's.
  if (::RegGetValueW(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_DWORD, nullptr, &number, &bytes) != ERROR_SUCCESS)
    return std::nullopt;
  return number;
}

bool service_runs(const wchar_t* name) {
  const SC_HANDLE manager = ::OpenSCManagerW(nullptr, nullptr, SC_MANAGER_CONNECT);
  if (manager == nullptr) return false;
  SERVICE_STATUS status{};
  if (const SC_HANDLE service = ::OpenServiceW(manager, name, SERVICE_QUERY_STATUS); service != nullptr) {
    if (::QueryServiceStatus(service, &status) == 0) status = {};
    ::CloseServiceHandle(service);
  }
  ::CloseServiceHandle(manager);
  return status.dwCurrentState == SERVICE_RUNNING;
}

}  // namespace

std::optional<std::string> name_of_scanner(bool service_runs, std::uint32_t disabled_by_policy,
                                           std::uint32_t disabled_by_setting) {
  if (!service_runs || disabled_by_policy != 0 || disabled_by_setting != 0) return std::nullopt;
  return "Microsoft Defender";
}

std::optional<std::string> find_virus_scanner() {
  constexpr const wchar_t* disabled = L"DisableRealtimeMonitoring";
  return name_of_scanner(
      service_runs(L"WinDefend"),
      registry_number(LR"(SOFTWARE\Policies\Microsoft\Windows Defender\Real-Time Protection)", disabled).value_or(0),
      registry_number(LR"(SOFTWARE\Microsoft\Windows Defender\Real-Time Protection)", disabled).value_or(0));
}

std::optional<bool> find_memory_integrity() {
  const auto enabled = registry_number(
      LR"(SYSTEM\CurrentControlSet\Control\DeviceGuard\Scenarios\HypervisorEnforcedCodeIntegrity)", L"Enabled");
  return enabled ? std::optional(*enabled != 0) : std::nullopt;
}

}  // namespace qd1::windows_system
