// SPDX-License-Identifier: BSL-1.0
// IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, IOCTL_STORAGE_QUERY_PROPERTY, IOCTL_DISK_GET_DRIVE_GEOMETRY_EX and
// IOCTL_DISK_PERFORMANCE, all of which want a handle without any right, which every user may open.
#include <qio/system/windows/handle.hpp>

#include <qd1/machine/windows/bitlocker.hpp>
#include <qd1/machine/windows/device.hpp>
#include <qd1/machine/windows/driver.hpp>
#include <qd1/machine/windows/text.hpp>
#include <winioctl.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace qd1::windows_system {
namespace {

class device {
 public:
  explicit device(const std::wstring& path)
      : handle_(
            ::CreateFileW(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr)) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  ~device() {
    if (handle_ != INVALID_HANDLE_VALUE) ::CloseHandle(handle_);
  }

  /// What the device answers to a control code: bytes, none if it does not.
  template <class In>
  std::vector<std::byte> ask(DWORD code, const In& in) const {
    return answer(code, &in, sizeof in);
  }
  std::vector<std::byte> ask(DWORD code) const { return answer(code, nullptr, 0); }

  std::vector<std::byte> property_bytes(STORAGE_PROPERTY_ID id) const {
    STORAGE_PROPERTY_QUERY query{};
    query.PropertyId = id;
    query.QueryType = PropertyStandardQuery;
    return ask(IOCTL_STORAGE_QUERY_PROPERTY, query);
  }

  template <class Answer>
  std::optional<Answer> property(STORAGE_PROPERTY_ID id) const {
    return as<Answer>(property_bytes(id));
  }

  template <class Answer>
  static std::optional<Answer> as(const std::vector<std::byte>& bytes) {
    if (bytes.size() < sizeof(Answer)) return std::nullopt;
    Answer found;
    std::memcpy(&found, bytes.data(), sizeof found);
    return found;
  }

 private:
  std::vector<std::byte> answer(DWORD code, const void* in, std::size_t in_bytes) const {
    std::vector<std::byte> out(4096);
    DWORD bytes = 0;
    if (::DeviceIoControl(handle_, code, const_cast<void*>(in), static_cast<DWORD>(in_bytes), out.data(),
                          static_cast<DWORD>(out.size()), &bytes, nullptr) == 0)
      bytes = 0;
    out.resize(bytes);
    return out;
  }

  HANDLE handle_;
};

std::wstring device_path(const std::string& name) {
  const auto wide = qio::platform::wide(name.c_str());
  return wide ? LR"(\\.\)" + wide.value() : std::wstring();
}

// A text in the answer, at an offset; zero means that there is none. Drives pad theirs.
std::optional<std::string> text_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  if (offset == 0 || offset >= bytes.size()) return std::nullopt;
  std::string text;
  for (std::size_t at = offset; at < bytes.size() && bytes[at] != std::byte(0); ++at)
    text += static_cast<char>(bytes[at]);
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return std::nullopt;
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Never its serial number, which lies beside these.
void find_identity(const device& disk, device_facts& facts) {
  STORAGE_PROPERTY_QUERY query{};
  query.PropertyId = StorageDeviceProperty;
  query.QueryType = PropertyStandardQuery;
  const auto answer = disk.ask(IOCTL_STORAGE_QUERY_PROPERTY, query);
  const auto found = device::as<STORAGE_DEVICE_DESCRIPTOR>(answer);
  if (!found) return;
  facts.transport = name_of_bus(found->BusType);
  facts.vendor = text_at(answer, found->VendorIdOffset);
  facts.model = text_at(answer, found->ProductIdOffset);
  facts.firmware = text_at(answer, found->ProductRevisionOffset);
}

std::optional<std::string> name_of_cache(const STORAGE_WRITE_CACHE_PROPERTY& cache) {
  return windows_system::name_of_cache(
      cache.WriteCacheEnabled == WriteCacheEnabled, cache.WriteCacheEnabled != WriteCacheEnableUnknown,
      cache.WriteCacheType == WriteCacheTypeWriteThrough, cache.WriteCacheType == WriteCacheTypeWriteBack,
      cache.UserDefinedPowerProtection != FALSE);
}

void find_properties(const device& disk, device_facts& facts) {
  if (const auto cache = disk.property<STORAGE_WRITE_CACHE_PROPERTY>(StorageDeviceWriteCacheProperty)) {
    facts.write_cache = name_of_cache(*cache);
    if (cache->WriteThroughSupported != WriteThroughUnknown)
      facts.force_unit_access = cache->WriteThroughSupported == WriteThroughSupported;
  }
  if (const auto seek = disk.property<DEVICE_SEEK_PENALTY_DESCRIPTOR>(StorageDeviceSeekPenaltyProperty))
    facts.rotational = seek->IncursSeekPenalty != 0;
  if (const auto trim = disk.property<DEVICE_TRIM_DESCRIPTOR>(StorageDeviceTrimProperty))
    facts.discard = trim->TrimEnabled != 0;
  if (const auto blocks = disk.property<STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR>(StorageAccessAlignmentProperty)) {
    facts.logical_block_bytes = blocks->BytesPerLogicalSector;
    facts.physical_block_bytes = blocks->BytesPerPhysicalSector;
  }
  if (const auto adapter = disk.property<STORAGE_ADAPTER_DESCRIPTOR>(StorageAdapterProperty))
    facts.largest_transfer_kib = adapter->MaximumTransferLength / 1024;
  facts.temperature_c = temperature_in(disk.property_bytes(StorageDeviceTemperatureProperty));
  if (const auto geometry = device::as<DISK_GEOMETRY_EX>(disk.ask(IOCTL_DISK_GET_DRIVE_GEOMETRY_EX)))
    facts.size_bytes = static_cast<std::uint64_t>(geometry->DiskSize.QuadPart);
}

device_facts find_disk(DWORD number) {
  device_facts facts;
  facts.name = "PhysicalDrive" + std::to_string(number);
  facts.kind = "disk";
  const device disk(device_path(facts.name));
  find_identity(disk, facts);
  find_properties(disk, facts);
  facts.driver = find_driver(number);
  return facts;
}

// By the name that Windows has for it, whether or not there is a letter.
std::wstring volume_path(const std::wstring& root) {
  std::array<wchar_t, 64> name{};
  if (::GetVolumeNameForVolumeMountPointW(root.c_str(), name.data(), static_cast<DWORD>(name.size())) == 0) return {};
  std::wstring path = name.data();
  path.pop_back();  // the backslash: with it, this is the root directory
  return path;
}

}  // namespace

std::optional<std::string> name_of_bus(int type) {
  static constexpr std::array<std::pair<int, const char*>, 16> all = {{{1, "scsi"},
                                                                       {2, "atapi"},
                                                                       {3, "ata"},
                                                                       {6, "fibre channel"},
                                                                       {7, "usb"},
                                                                       {8, "raid"},
                                                                       {9, "iscsi"},
                                                                       {10, "sas"},
                                                                       {11, "sata"},
                                                                       {12, "sd"},
                                                                       {13, "mmc"},
                                                                       {14, "virtual"},
                                                                       {15, "virtual, in a file"},
                                                                       {16, "storage spaces"},
                                                                       {17, "nvme"},
                                                                       {19, "ufs"}}};
  for (const auto& [number, name] : all)
    if (number == type) return name;
  return std::nullopt;
}

std::vector<device_facts> find_devices(const volume& on) {
  if (on.disk) return {find_disk(*on.disk)};
  const device opened(volume_path(on.root));
  const auto answer = opened.ask(IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS);
  const auto found = device::as<VOLUME_DISK_EXTENTS>(answer);
  if (!found) return {};
  device_facts partition;
  partition.name = on.root.size() == 3 ? narrow(on.root.substr(0, 2)) : "volume";
  partition.kind = "partition";
  partition.encryption = find_encryption(on.root);
  std::vector<device_facts> disks;
  for (std::size_t each = 0; each < found->NumberOfDiskExtents; ++each) {
    DISK_EXTENT extent;
    const std::size_t at = offsetof(VOLUME_DISK_EXTENTS, Extents) + each * sizeof extent;
    if (at + sizeof extent > answer.size()) break;
    std::memcpy(&extent, answer.data() + at, sizeof extent);
    partition.start_bytes = static_cast<std::uint64_t>(extent.StartingOffset.QuadPart);
    partition.size_bytes = partition.size_bytes.value_or(0) + static_cast<std::uint64_t>(extent.ExtentLength.QuadPart);
    disks.push_back(find_disk(extent.DiskNumber));
    partition.over.push_back(disks.back().name);
  }
  disks.insert(disks.begin(), std::move(partition));
  return disks;
}

std::optional<std::string> name_of_cache(bool is_enabled, bool is_known, bool writes_through, bool writes_back,
                                         bool ignores_flushes) {
  if (!is_known) return std::nullopt;
  if (!is_enabled) return "none";
  if (writes_through) return "write through";
  if (!writes_back) return std::nullopt;
  return ignores_flushes ? "write back, and Windows passes no flushes on to it" : "write back";
}

std::optional<double> temperature_in(std::span<const std::byte> answer) {
  // STORAGE_TEMPERATURE_DATA_DESCRIPTOR and STORAGE_TEMPERATURE_INFO, which older headers lack.
  constexpr std::size_t at_count = 12, at_sensors = 24, sensor_bytes = 16, at_temperature = 2;
  constexpr std::int16_t not_reported = -32768;
  std::uint16_t count = 0;
  if (answer.size() < at_sensors) return std::nullopt;
  std::memcpy(&count, answer.data() + at_count, sizeof count);
  std::optional<double> highest;
  for (std::size_t each = 0; each < count && at_sensors + (each + 1) * sensor_bytes <= answer.size(); ++each) {
    std::int16_t degrees = 0;
    std::memcpy(&degrees, answer.data() + at_sensors + each * sensor_bytes + at_temperature, sizeof degrees);
    if (degrees != not_reported && (!highest || *highest < degrees)) highest = degrees;
  }
  return highest;
}

std::optional<device_counters> counters_of(const std::string& name, const performance_counts& counts) {
  if ((counts.reads | counts.writes | counts.read_bytes | counts.write_bytes) == 0) return std::nullopt;
  device_counters counted;
  counted.name = name;
  counted.reads = counts.reads;
  counted.writes = counts.writes;
  counted.read_bytes = counts.read_bytes;
  counted.write_bytes = counts.write_bytes;
  counted.in_flight = counts.in_flight;
  return counted;
}

std::optional<device_counters> count_operations(const std::string& name) {
  const device opened(device_path(name));
  const auto found = device::as<DISK_PERFORMANCE>(opened.ask(IOCTL_DISK_PERFORMANCE));
  if (!found) return std::nullopt;
  return counters_of(name, {found->ReadCount, found->WriteCount, static_cast<std::uint64_t>(found->BytesRead.QuadPart),
                            static_cast<std::uint64_t>(found->BytesWritten.QuadPart), found->QueueDepth});
}

}  // namespace qd1::windows_system
