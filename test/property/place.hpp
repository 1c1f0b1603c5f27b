// The location of the file: a directory on this machine, or a simulated disk.
#pragma once

#include "directory.hpp"
#include "engines.hpp"
#include "plan.hpp"
#include "random.hpp"
#include <qio/qio.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace property {

template <class Engine>
std::string_view engine_name() {
  if constexpr (std::is_same_v<Engine, qio::no_engine>) return "blocking";
  if constexpr (std::is_same_v<Engine, qio::simulated>) return "simulated";
  return qio_test::current.name;
}

template <class Engine>
class place {
 public:
  static constexpr bool can_map = true;
  static constexpr bool repeats = false;  ///< the same seed gives the same history, to the last result

  explicit place(std::uint64_t) {}

  std::string text() const { return {}; }
  std::string path() const { return directory_ / "data"; }
  qio::context_options context_options() const { return {}; }
  qio::deadline deadline_in(std::chrono::microseconds patience) const { return patience; }
  /// Whether a correct request may fail like this.
  bool may_fail(const transfer&, const qio::error&) const { return false; }
  bool may_fail_to_replace(const qio::error&) const { return false; }

  // Names beside the file.
  std::string path_of(const char* name) const { return directory_ / name; }
  std::size_t entries() const { return directory_.entries(); }
  std::optional<std::vector<std::byte>> contents_of(const char* name) const {
    if (!std::filesystem::exists(path_of(name))) return std::nullopt;
    return read(path_of(name));
  }

  /// The contents, read without the library.
  std::vector<std::byte> contents() const { return read(path()); }
  /// Changes a byte of the file behind the library's back.
  void damage(std::uint64_t offset) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int before = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(~before));
  }

 private:
  static std::vector<std::byte> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto found = std::as_bytes(std::span(text));
    return {found.begin(), found.end()};
  }

  qio_test::directory directory_;
};

/// A new disk for each sequence. Some disks have no faults. Some transfer short, are interrupted and slow, which no
/// program may notice. On the others, writes and syncs fail as well, and the disk may be full. (Reads do not fail,
/// because then the contents of the file could not be compared.)
template <>
class place<qio::simulated> {
 public:
  static constexpr bool can_map = false;
  static constexpr bool repeats = true;

  explicit place(std::uint64_t seed) : options_(options_of(seed)), disk_(options_) {}

  std::string text() const {
    return "a disk with short transfers " + std::to_string(options_.short_transfers) + ", interruptions " +
           std::to_string(options_.interruptions) + ", write errors " + std::to_string(options_.write_errors) +
           ", sync errors " + std::to_string(options_.sync_errors) + ", capacity " + std::to_string(options_.capacity) +
           " bytes";
  }
  std::string path() const { return "data"; }
  qio::context_options context_options() { return {.disk = &disk_}; }
  qio::deadline deadline_in(std::chrono::microseconds patience) const { return disk_.now() + patience; }
  /// A sync may fail because a durable write has failed, for whatever reason.
  bool may_fail(const transfer& plan, const qio::error& failure) const {
    const bool writes = plan.what == action::write || (is_of_space(plan.what) && plan.what != action::next_data);
    const bool syncs = plan.what == action::sync;
    if (failure == std::errc::no_space_on_device)
      return (writes || syncs) && plan.what != action::discard && options_.capacity != unlimited;
    if (failure != std::errc::io_error) return false;
    return (writes && options_.write_errors > 0) || (syncs && options_.write_errors + options_.sync_errors > 0) ||
           (plan.durable && options_.sync_errors > 0);
  }

  bool may_fail_to_replace(const qio::error& failure) const {
    if (failure == std::errc::no_space_on_device) return options_.capacity != unlimited;
    return failure == std::errc::io_error && options_.write_errors + options_.sync_errors > 0;
  }
  bool may_fail_to_sync() const { return options_.sync_errors > 0; }

  /// Makes the name of the file durable.
  void keep_names() { disk_.sync_directory(".").value(); }
  void crash() { disk_.restart(); }

  std::string path_of(const char* name) const { return name; }
  std::size_t entries() const { return disk_.names().size(); }
  std::optional<std::vector<std::byte>> contents_of(const char* name) {
    if (!disk_.exists(name)) return std::nullopt;
    return read(name);
  }
  /// What a crash has left of an unfinished replace_file().
  void remove_temporaries() {
    for (const std::string& each : disk_.names())
      if (each.starts_with(".qio-")) disk_.remove(each).value();
    keep_names();
  }

  std::vector<std::byte> contents() { return read(path()); }

  void damage(std::uint64_t offset) {
    auto context = new_context();
    auto file = qio::cached_file::open(context, path(), qio::access::read_write).value();
    std::vector<std::byte> one(1);
    static_cast<void>(file.read_at(offset, one));
    one[0] = ~one[0];
    file.write_at(offset, one).value();
  }

 private:
  std::vector<std::byte> read(const std::string& path) {
    auto context = new_context();
    auto file = qio::cached_file::open(context, path).value();
    std::vector<std::byte> found(static_cast<std::size_t>(file.size().value()));
    found.resize(file.read_at(0, found).value());
    return found;
  }

  static constexpr std::uint64_t unlimited = qio::simulation_options().capacity;

  static qio::simulation_options options_of(std::uint64_t seed) {
    random_numbers random(~seed, 0);
    qio::simulation_options made;
    made.seed = seed;
    made.largest_untorn = 4 * 4096;
    made.longest = random.one_of({made.shortest, made.longest, 10 * made.longest});
    const std::uint64_t kind = random.below(3);
    if (kind == 0) return made;
    made.short_transfers = random.one_of({0.0, 0.1, 0.6});
    made.interruptions = random.one_of({0.0, 0.1, 0.6});
    if (kind == 1) return made;
    made.write_errors = random.one_of({0.0, 0.05, 0.3});
    made.sync_errors = random.one_of({0.0, 0.3});
    made.capacity = random.one_of<std::uint64_t>({unlimited, 10 * 4096, 50 * 4096});
    return made;
  }

  qio::basic_context<qio::simulated> new_context() {
    return qio::basic_context<qio::simulated>::create(context_options()).value();
  }

  qio::simulation_options options_;
  qio::simulated_disk disk_;
};

}  // namespace property
