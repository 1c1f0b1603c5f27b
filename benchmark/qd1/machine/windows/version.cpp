// SPDX-License-Identifier: BSL-1.0
// RtlGetVersion tells every program the same, GetVersionEx what its manifest claims to know. By name, since the headers
// of programs do not have it. Wine's developers document wine_get_version for those who have to know (the Wine
// Developer's Guide).
#include <qio/system/windows/calls.hpp>

#include <fmt/format.h>
#include <qd1/machine/windows/version.hpp>

namespace qd1::windows_system {
namespace {

template <class Function>
Function* function_of_ntdll(const char* name) {
  const HMODULE ntdll = ::GetModuleHandleW(L"ntdll.dll");
  if (ntdll == nullptr) return nullptr;
  return reinterpret_cast<Function*>(reinterpret_cast<void (*)()>(::GetProcAddress(ntdll, name)));
}

}  // namespace

std::optional<version> find_version() {
  const auto get = function_of_ntdll<LONG WINAPI(OSVERSIONINFOEXW*)>("RtlGetVersion");
  OSVERSIONINFOEXW found{};
  found.dwOSVersionInfoSize = sizeof found;
  if (get == nullptr || get(&found) != 0) return std::nullopt;
  return version{found.dwMajorVersion, found.dwMinorVersion, found.dwBuildNumber,
                 found.wProductType != VER_NT_WORKSTATION};
}

// Windows 11 calls itself 10.0; its first build was 22000.
std::string name_of(const version& of) {
  constexpr std::uint32_t first_of_11 = 22000;
  if (of.major != 10 || of.server)
    return fmt::format("Windows{} {}.{}, build {}", of.server ? " Server" : "", of.major, of.minor, of.build);
  return fmt::format("Windows {}, build {}", of.build >= first_of_11 ? 11 : 10, of.build);
}

std::optional<std::string> find_wine() {
  const auto get_version = function_of_ntdll<const char* __cdecl()>("wine_get_version");
  if (get_version == nullptr) return std::nullopt;
  const char* host = "an unknown system";
  const char* release = nullptr;
  const auto get_host = function_of_ntdll<void __cdecl(const char**, const char**)>("wine_get_host_version");
  if (get_host != nullptr) get_host(&host, &release);
  return fmt::format("Wine {} on {}", get_version(), host);
}

}  // namespace qd1::windows_system
