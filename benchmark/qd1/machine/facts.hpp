// SPDX-License-Identifier: BSL-1.0
// What is known about the machine that measures: plain data, the same on every system.
//
// What the system does not report is absent; nothing is guessed. Nothing here names a person or one piece of hardware:
// no host name, serial number, UUID, network address or path of a user's, since reports are published.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// A sleep state of an idle processor: after a wait for the device, the processor has to wake up from it.
struct idle_state {
  std::string name;
  std::optional<std::uint64_t> exit_latency_us;
  std::optional<bool> disabled;
};

struct cpu_facts {
  std::optional<std::string> model;
  std::optional<std::string> architecture;
  std::optional<std::uint64_t> packages, cores, threads, numa_nodes;  ///< online
  std::optional<std::uint64_t> threads_allowed;                       ///< to this process
  /// Where cores are of several kinds: lists of threads ("0-15"), those of the fastest kind first. Else empty.
  std::vector<std::string> core_kinds;
  std::optional<std::uint64_t> core_kinds_allowed;  ///< the number of those on which this process may run
  std::optional<bool> simultaneous_threads;         ///< two threads share a core
  std::optional<std::string> isolated;              ///< list of threads kept free of other work
  std::optional<std::uint64_t> current;             ///< the thread on which these facts were read
  std::optional<std::uint64_t> frequency_mhz;       ///< of `current`, at that moment
  std::optional<std::uint64_t> lowest_mhz, highest_mhz;
  std::optional<std::string> frequency_driver, governor, energy_preference;
  std::optional<std::string> power_plan;  ///< of Windows: "balanced", "high performance", "power saver"
  std::optional<bool> boost;
  std::optional<std::string> idle_driver, idle_governor;
  std::vector<idle_state> idle_states;
  std::vector<std::string> vulnerabilities;  ///< of those that affect this CPU: "meltdown: Mitigation: PTI"
  std::optional<double> load_average;        ///< threads running or waiting, over the last minute
  std::optional<bool> on_battery;
};

struct clock_facts {
  std::optional<std::string> source;
  std::vector<std::string> available;
  std::optional<bool> invariant_tsc;  ///< the CPU's counter runs at one rate, whatever the frequency
};

struct virtual_facts {
  std::optional<std::string> emulator;  ///< "Wine 8.0 on Linux": what answers in the name of the system
  std::optional<bool> hypervisor;
  std::optional<std::string> hypervisor_name;
  /// Of Hyper-V: this system started it and owns the devices, as Windows with virtualization-based security does.
  std::optional<bool> root_partition;
  std::optional<bool> memory_integrity;  ///< of Windows: the hypervisor checks the code of drivers
  std::optional<std::string> product;    ///< the machine's name according to the firmware
  std::optional<std::string> container;  ///< what kind, where there are signs of one
  std::optional<double> steal_percent;   ///< of all processor time since the start: runnable, but another guest ran
};

struct memory_facts {
  std::optional<std::uint64_t> total_bytes, available_bytes, dirty_bytes, writeback_bytes;
  std::optional<std::uint64_t> swap_total_bytes, swap_free_bytes;
  /// Above this much dirty memory, writers are made to wait; above the background limit, the kernel starts to write
  /// back.
  std::optional<std::uint64_t> dirty_limit_bytes, dirty_background_limit_bytes;
  std::optional<std::string> dirty_setting, dirty_background_setting;  ///< where the limits come from: "20%"
  std::optional<std::string> huge_pages;                               ///< transparent ones: always, madvise, never
};

/// What this process may use. A limit that is absent is either none or unknown.
struct limit_facts {
  std::optional<std::uint64_t> memory_bytes, memory_used_bytes;  ///< of its group, page cache included
  std::optional<double> cpus;                                    ///< processor time per time
  std::vector<std::string> io;                                   ///< per device, in the system's words
  std::optional<std::uint64_t> locked_memory_bytes;
  std::optional<std::string> io_uring;  ///< allowed, restricted, forbidden
  /// How its threads get CPUs and the device, where that is not as usual: "idle", "batch", "real time", "nice 10".
  std::optional<std::string> scheduling, io_priority;
};

struct host_facts {
  std::optional<std::string> system;  ///< "Debian GNU/Linux 12 (bookworm)"
  std::optional<std::string> kernel;  ///< "Linux 6.1.0-18-amd64"
  cpu_facts cpu;
  clock_facts clock;
  virtual_facts virtualization;
  memory_facts memory;
  limit_facts limits;
  std::optional<std::string> virus_scanner;  ///< of Windows: one that scans files when they are opened
};

/// Whether a file there can be read and written without the page cache.
struct direct_facts {
  std::optional<bool> possible;
  std::optional<std::uint64_t> memory_alignment, read_alignment, write_alignment;
  std::optional<std::string> reason;  ///< how that is known, or why it is not possible
};

struct filesystem_facts {
  std::optional<std::string> type, mount_point, source;
  std::vector<std::string> options;
  std::optional<std::uint64_t> block_bytes, size_bytes, free_bytes;
  std::optional<bool> copy_on_write;
  std::optional<std::string> compression;  ///< "zstd:1"; "none" where it is known that there is none
  std::optional<bool> encrypted;           ///< by the file system
  std::optional<std::string> upper;        ///< overlay: type of the file system that has the file, or takes the writes
  std::optional<bool> log_in_memory;       ///< whether an external log, or journal, lies in memory; none: no such log
  direct_facts direct;
};

/// Where a device is plugged in.
struct pcie_facts {
  std::string address;                                 ///< "0000:01:00.0"
  std::vector<std::string> upstream;                   ///< ports between it and the root complex, nearest first
  std::string root_complex;                            ///< "pci0000:00"; those of one root complex share its bandwidth
  std::optional<double> speed_gts, highest_speed_gts;  ///< gigatransfers a second, each lane
  std::optional<std::uint64_t> lanes, highest_lanes;
  std::optional<std::uint64_t> numa_node;
  std::optional<std::string> local_cpus;  ///< "0-7": those next to it
};

struct device_facts {
  std::string name;                      ///< "nvme0n1p2"
  std::string kind;                      ///< disk, partition, loop, memory, network, lvm, crypt, raid1 …
  std::vector<std::string> over;         ///< names of the devices that it is made of; each is listed as well
  std::optional<std::string> transport;  ///< nvme, sata, sas, usb, virtio …
  std::optional<std::string> vendor, model, firmware;
  std::optional<std::string> driver;      ///< of Windows: of the controller ("stornvme", "iaStorVD")
  std::optional<std::string> encryption;  ///< of Windows: of the volume, "BitLocker", "BitLocker, suspended" or "none"
  std::optional<std::uint64_t> size_bytes;
  std::optional<std::uint64_t> start_bytes;  ///< of a partition, on its disk
  std::optional<bool> rotational;
  std::optional<std::string> scheduler;
  std::vector<std::string> schedulers;  ///< available
  std::optional<std::uint64_t> read_ahead_kib, requests, largest_transfer_kib, largest_hardware_transfer_kib;
  std::optional<std::uint64_t> logical_block_bytes, physical_block_bytes, atomic_write_bytes;
  std::optional<std::string> write_cache;    ///< "write back": a durable write needs a flush
  std::optional<bool> force_unit_access;     ///< a single write can be made durable without a flush
  std::optional<std::uint64_t> merge_limit;  ///< 0 requests are merged, 1 simple merges only, 2 none
  std::optional<bool> counts_operations;     ///< the statistics are on
  std::optional<bool> polling;
  std::optional<std::uint64_t> poll_queues, queues;
  std::optional<std::uint64_t> write_throttle_us;  ///< reads may take that long before writes are slowed; 0 off
  std::optional<bool> discard;
  std::optional<std::string> zones;  ///< "none", or the model
  /// What an NVMe drive may take to wake up when it saves power while idle: "100000" (µs), "0" (it stays awake), "any".
  std::optional<std::string> wake_up_limit;
  std::optional<double> temperature_c;
  std::optional<bool> loop_direct;           ///< a loop device that does not cache a second time
  std::optional<std::string> backing;        ///< a loop device: type of the file system that its file lies on
  std::optional<std::string> raid_activity;  ///< "idle", "resync" …
  std::optional<pcie_facts> pcie;
};

/// The write cache of a device that was set to "write through" by hand.
constexpr const char* overridden_cache = "write through, although the device has a volatile cache";

struct machine_facts {
  host_facts host;
  filesystem_facts filesystem;        ///< empty for a block device
  std::vector<device_facts> devices;  ///< under the file system, from the top down
};

}  // namespace qd1
