// SPDX-License-Identifier: BSL-1.0
// SetupDiGetClassDevs and IOCTL_STORAGE_GET_DEVICE_NUMBER find the device of a disk; its parent is the controller.
#include <qio/system/windows/calls.hpp>

#include <cfgmgr32.h>
#include <qd1/machine/windows/driver.hpp>
#include <qd1/machine/windows/text.hpp>
#include <setupapi.h>
#include <winioctl.h>

#include <array>
#include <cstddef>
#include <vector>

namespace qd1::windows_system {
namespace {

// GUID_DEVINTERFACE_DISK
constexpr GUID disks = {0x53f56307, 0xb6bf, 0x11d0, {0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}};

std::optional<DWORD> number_of_disk(const wchar_t* path) {
  const HANDLE disk = ::CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
  if (disk == INVALID_HANDLE_VALUE) return std::nullopt;
  STORAGE_DEVICE_NUMBER found{};
  DWORD bytes = 0;
  const bool told =
      ::DeviceIoControl(disk, IOCTL_STORAGE_GET_DEVICE_NUMBER, nullptr, 0, &found, sizeof found, &bytes, nullptr) != 0;
  ::CloseHandle(disk);
  return told ? std::optional(found.DeviceNumber) : std::nullopt;
}

// The path of an interface, and its device.
std::optional<std::wstring> path_of(HDEVINFO all, SP_DEVICE_INTERFACE_DATA& each, SP_DEVINFO_DATA& device) {
  DWORD bytes = 0;
  ::SetupDiGetDeviceInterfaceDetailW(all, &each, nullptr, 0, &bytes, nullptr);
  if (bytes < sizeof(SP_DEVICE_INTERFACE_DETAIL_DATA_W)) return std::nullopt;
  std::vector<std::byte> memory(bytes);
  auto* const detail = reinterpret_cast<SP_DEVICE_INTERFACE_DETAIL_DATA_W*>(memory.data());
  detail->cbSize = sizeof *detail;
  if (::SetupDiGetDeviceInterfaceDetailW(all, &each, detail, bytes, nullptr, &device) == 0) return std::nullopt;
  return std::wstring(detail->DevicePath);
}

std::optional<std::string> driver_of_parent(DEVINST disk) {
  DEVINST controller = 0;
  std::array<wchar_t, 256> name{};
  auto bytes = static_cast<ULONG>(sizeof name - sizeof(wchar_t));
  if (::CM_Get_Parent(&controller, disk, 0) != CR_SUCCESS) return std::nullopt;
  if (::CM_Get_DevNode_Registry_PropertyW(controller, CM_DRP_SERVICE, nullptr, name.data(), &bytes, 0) != CR_SUCCESS)
    return std::nullopt;
  return narrow(name.data());
}

}  // namespace

std::optional<std::string> find_driver(std::uint32_t number) {
  const HDEVINFO all = ::SetupDiGetClassDevsW(&disks, nullptr, nullptr, DIGCF_PRESENT | DIGCF_DEVICEINTERFACE);
  if (all == INVALID_HANDLE_VALUE) return std::nullopt;
  std::optional<std::string> found;
  SP_DEVICE_INTERFACE_DATA each{};
  each.cbSize = sizeof each;
  for (DWORD at = 0; !found && ::SetupDiEnumDeviceInterfaces(all, nullptr, &disks, at, &each) != 0; ++at) {
    SP_DEVINFO_DATA device{};
    device.cbSize = sizeof device;
    const auto path = path_of(all, each, device);
    if (path && number_of_disk(path->c_str()) == number) found = driver_of_parent(device.DevInst);
  }
  ::SetupDiDestroyDeviceInfoList(all);
  return found;
}

}  // namespace qd1::windows_system
