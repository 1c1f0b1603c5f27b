// SPDX-License-Identifier: BSL-1.0
// The facts and counters as JSON: one key per member, absent where the fact is unknown. A test finds members that are
// missing here.
#pragma once

#include <qd1/fields/fields.hpp>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/counters.hpp>
#include <qd1/machine/facts.hpp>

#include <tuple>

namespace qd1 {

template <>
struct fields<idle_state> {
  using self = idle_state;
  static constexpr auto name = "idle_state";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list =
      std::tuple{member{"name", &self::name}, member{"exit_latency_us", &self::exit_latency_us},
                 member{"disabled", &self::disabled}};
};
template <>
struct fields<cpu_facts> {
  using self = cpu_facts;
  static constexpr auto name = "cpu_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"model", &self::model},
                                          member{"architecture", &self::architecture},
                                          member{"packages", &self::packages},
                                          member{"cores", &self::cores},
                                          member{"threads", &self::threads},
                                          member{"numa_nodes", &self::numa_nodes},
                                          member{"threads_allowed", &self::threads_allowed},
                                          member{"core_kinds", &self::core_kinds},
                                          member{"core_kinds_allowed", &self::core_kinds_allowed},
                                          member{"simultaneous_threads", &self::simultaneous_threads},
                                          member{"isolated", &self::isolated},
                                          member{"current", &self::current},
                                          member{"frequency_mhz", &self::frequency_mhz},
                                          member{"lowest_mhz", &self::lowest_mhz},
                                          member{"highest_mhz", &self::highest_mhz},
                                          member{"frequency_driver", &self::frequency_driver},
                                          member{"governor", &self::governor},
                                          member{"energy_preference", &self::energy_preference},
                                          member{"power_plan", &self::power_plan},
                                          member{"boost", &self::boost},
                                          member{"idle_driver", &self::idle_driver},
                                          member{"idle_governor", &self::idle_governor},
                                          member{"idle_states", &self::idle_states},
                                          member{"vulnerabilities", &self::vulnerabilities},
                                          member{"load_average", &self::load_average},
                                          member{"on_battery", &self::on_battery}};
};
template <>
struct fields<clock_facts> {
  using self = clock_facts;
  static constexpr auto name = "clock_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"source", &self::source}, member{"available", &self::available},
                                          member{"invariant_tsc", &self::invariant_tsc}};
};
template <>
struct fields<virtual_facts> {
  using self = virtual_facts;
  static constexpr auto name = "virtual_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"emulator", &self::emulator},
                                          member{"hypervisor", &self::hypervisor},
                                          member{"hypervisor_name", &self::hypervisor_name},
                                          member{"root_partition", &self::root_partition},
                                          member{"memory_integrity", &self::memory_integrity},
                                          member{"product", &self::product},
                                          member{"container", &self::container},
                                          member{"steal_percent", &self::steal_percent}};
};
template <>
struct fields<memory_facts> {
  using self = memory_facts;
  static constexpr auto name = "memory_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"total_bytes", &self::total_bytes},
                                          member{"available_bytes", &self::available_bytes},
                                          member{"dirty_bytes", &self::dirty_bytes},
                                          member{"writeback_bytes", &self::writeback_bytes},
                                          member{"swap_total_bytes", &self::swap_total_bytes},
                                          member{"swap_free_bytes", &self::swap_free_bytes},
                                          member{"dirty_limit_bytes", &self::dirty_limit_bytes},
                                          member{"dirty_background_limit_bytes", &self::dirty_background_limit_bytes},
                                          member{"dirty_setting", &self::dirty_setting},
                                          member{"dirty_background_setting", &self::dirty_background_setting},
                                          member{"huge_pages", &self::huge_pages}};
};
template <>
struct fields<limit_facts> {
  using self = limit_facts;
  static constexpr auto name = "limit_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"memory_bytes", &self::memory_bytes},
                                          member{"memory_used_bytes", &self::memory_used_bytes},
                                          member{"cpus", &self::cpus},
                                          member{"io", &self::io},
                                          member{"locked_memory_bytes", &self::locked_memory_bytes},
                                          member{"io_uring", &self::io_uring},
                                          member{"scheduling", &self::scheduling},
                                          member{"io_priority", &self::io_priority}};
};
template <>
struct fields<host_facts> {
  using self = host_facts;
  static constexpr auto name = "host_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"system", &self::system},
                                          member{"kernel", &self::kernel},
                                          member{"cpu", &self::cpu},
                                          member{"clock", &self::clock},
                                          member{"virtualization", &self::virtualization},
                                          member{"memory", &self::memory},
                                          member{"limits", &self::limits},
                                          member{"virus_scanner", &self::virus_scanner}};
};
template <>
struct fields<direct_facts> {
  using self = direct_facts;
  static constexpr auto name = "direct_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list =
      std::tuple{member{"possible", &self::possible}, member{"memory_alignment", &self::memory_alignment},
                 member{"read_alignment", &self::read_alignment}, member{"write_alignment", &self::write_alignment},
                 member{"reason", &self::reason}};
};
template <>
struct fields<filesystem_facts> {
  using self = filesystem_facts;
  static constexpr auto name = "filesystem_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"type", &self::type},
                                          member{"mount_point", &self::mount_point},
                                          member{"source", &self::source},
                                          member{"options", &self::options},
                                          member{"block_bytes", &self::block_bytes},
                                          member{"size_bytes", &self::size_bytes},
                                          member{"free_bytes", &self::free_bytes},
                                          member{"copy_on_write", &self::copy_on_write},
                                          member{"compression", &self::compression},
                                          member{"encrypted", &self::encrypted},
                                          member{"upper", &self::upper},
                                          member{"log_in_memory", &self::log_in_memory},
                                          member{"direct", &self::direct}};
};
template <>
struct fields<pcie_facts> {
  using self = pcie_facts;
  static constexpr auto name = "pcie_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"address", &self::address},
                                          member{"upstream", &self::upstream},
                                          member{"root_complex", &self::root_complex},
                                          member{"speed_gts", &self::speed_gts},
                                          member{"highest_speed_gts", &self::highest_speed_gts},
                                          member{"lanes", &self::lanes},
                                          member{"highest_lanes", &self::highest_lanes},
                                          member{"numa_node", &self::numa_node},
                                          member{"local_cpus", &self::local_cpus}};
};
template <>
struct fields<device_facts> {
  using self = device_facts;
  static constexpr auto name = "device_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"name", &self::name},
                                          member{"kind", &self::kind},
                                          member{"over", &self::over},
                                          member{"transport", &self::transport},
                                          member{"vendor", &self::vendor},
                                          member{"model", &self::model},
                                          member{"firmware", &self::firmware},
                                          member{"driver", &self::driver},
                                          member{"encryption", &self::encryption},
                                          member{"size_bytes", &self::size_bytes},
                                          member{"start_bytes", &self::start_bytes},
                                          member{"rotational", &self::rotational},
                                          member{"scheduler", &self::scheduler},
                                          member{"schedulers", &self::schedulers},
                                          member{"read_ahead_kib", &self::read_ahead_kib},
                                          member{"requests", &self::requests},
                                          member{"largest_transfer_kib", &self::largest_transfer_kib},
                                          member{"largest_hardware_transfer_kib", &self::largest_hardware_transfer_kib},
                                          member{"logical_block_bytes", &self::logical_block_bytes},
                                          member{"physical_block_bytes", &self::physical_block_bytes},
                                          member{"atomic_write_bytes", &self::atomic_write_bytes},
                                          member{"write_cache", &self::write_cache},
                                          member{"force_unit_access", &self::force_unit_access},
                                          member{"merge_limit", &self::merge_limit},
                                          member{"counts_operations", &self::counts_operations},
                                          member{"polling", &self::polling},
                                          member{"poll_queues", &self::poll_queues},
                                          member{"queues", &self::queues},
                                          member{"write_throttle_us", &self::write_throttle_us},
                                          member{"discard", &self::discard},
                                          member{"zones", &self::zones},
                                          member{"wake_up_limit", &self::wake_up_limit},
                                          member{"temperature_c", &self::temperature_c},
                                          member{"loop_direct", &self::loop_direct},
                                          member{"backing", &self::backing},
                                          member{"raid_activity", &self::raid_activity},
                                          member{"pcie", &self::pcie}};
};
template <>
struct fields<machine_facts> {
  using self = machine_facts;
  static constexpr auto name = "machine_facts";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"host", &self::host}, member{"filesystem", &self::filesystem},
                                          member{"devices", &self::devices}};
};
template <>
struct fields<device_counters> {
  using self = device_counters;
  static constexpr auto name = "device_counters";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"name", &self::name},
                                          member{"reads", &self::reads},
                                          member{"writes", &self::writes},
                                          member{"discards", &self::discards},
                                          member{"flushes", &self::flushes},
                                          member{"read_merges", &self::read_merges},
                                          member{"write_merges", &self::write_merges},
                                          member{"read_bytes", &self::read_bytes},
                                          member{"write_bytes", &self::write_bytes},
                                          member{"in_flight", &self::in_flight}};
};
template <>
struct fields<processor_time> {
  using self = processor_time;
  static constexpr auto name = "processor_time";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list =
      std::tuple{member{"total", &self::total}, member{"steal", &self::steal}, member{"idle", &self::idle}};
};
template <>
struct fields<machine_counters> {
  using self = machine_counters;
  static constexpr auto name = "machine_counters";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list =
      std::tuple{member{"processors", &self::processors}, member{"waited_ns", &self::waited_ns},
                 member{"throttled", &self::throttled}, member{"frequency_mhz", &self::frequency_mhz},
                 member{"devices", &self::devices}};
};
template <>
struct fields<recommendation> {
  using self = recommendation;
  static constexpr auto name = "recommendation";
  static constexpr auto shape = layout::sparse;
  static constexpr auto list = std::tuple{member{"severity", &self::severity}, member{"finding", &self::finding},
                                          member{"why", &self::why}, member{"command", &self::command}};
};

}  // namespace qd1
