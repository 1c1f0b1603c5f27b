// SPDX-License-Identifier: BSL-1.0
// What a file calls instead of the operating system: the twin of system/operating_system.hpp.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/simulation/disk.hpp>
#include <qio/system/platform.hpp>

#include <cstdint>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE

/// For basic_file. Each call advances the disk's clock.
class simulated_system {
  using contents = simulated_disk::contents;

 public:
  static constexpr bool has_mappings = false;
  static constexpr bool has_page_cache = false;
  static constexpr bool has_writeback = true;

  explicit simulated_system(simulated_disk& disk) noexcept : disk_(&disk) {}

  /// Like platform::opening: begin() destroys nothing, and a file that it creates does not exist without commit().
  class opening {
   public:
    opening(opening&& other) noexcept
        : disk_(other.disk_),
          path_(std::move(other.path_)),
          how_(other.how_),
          created_(std::exchange(other.created_, nullptr)),
          number_(std::exchange(other.number_, 0)) {}
    opening& operator=(opening&&) = delete;
    ~opening() {
      if (number_ != 0) static_cast<void>(disk_->close(number_));
    }

    platform::native_handle handle() const noexcept { return platform::handle_of(number_); }
    static constexpr bool needs_flushes(bool) noexcept { return false; }

    result<platform::native_handle> commit() {
      if (how_ == creation::truncate_existing)
        if (auto emptied = disk_->resize(number_, 0); !emptied) return emptied.error();
      if (created_ != nullptr) disk_->change_names({{}, path_, created_});
      return platform::handle_of(std::exchange(number_, 0));
    }

   private:
    friend class simulated_system;

    opening(simulated_disk& disk, std::string path, creation how) noexcept
        : disk_(&disk), path_(std::move(path)), how_(how) {}

    simulated_disk* disk_;
    std::string path_;
    creation how_;
    contents created_;  // has no name yet
    std::uint64_t number_ = 0;
  };

  result<opening> begin(path_view path, platform::native_handle beneath, access wanted, creation how, std::uint32_t,
                        detail::handle_kind kind) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);  // it has names, but no directories
    if (how == creation::truncate_existing && wanted == access::read)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(wanted),
                   static_cast<std::uint64_t>(access::read_write));
    disk_->pass_time();
    if (!disk_->take_call()) return simulated_disk::failure(std::errc::io_error);
    opening self(*disk_, path.c_str(), how);
    contents found = how == creation::always_new ? nullptr : disk_->find_name(self.path_);
    if (found != nullptr && how == creation::only_if_missing) return simulated_disk::failure(std::errc::file_exists);
    if (found == nullptr && (how == creation::open_existing || how == creation::truncate_existing))
      return simulated_disk::failure(std::errc::no_such_file_or_directory);
    if (found == nullptr) self.created_ = found = disk_->new_contents();
    self.number_ = disk_->open(std::move(found), wanted, kind.writes_durably);
    return self;
  }

  static result<detail::adopted_handle<opening>> adopt(platform::native_handle, detail::handle_kind) noexcept {
    return error(errc::adopt_not_supported);
  }

  platform::direct_support make_direct(const opening&) const {
    const std::uint32_t sector = disk_->options_.sector;
    const std::uint32_t largest = disk_->options_.largest_untorn;
    return {error(), {1, sector, sector}, "the simulated disk's sector", {largest == 0 ? 0 : sector, largest, largest}};
  }
  bool takes_flags(platform::native_handle, platform::transfer_flags) const noexcept { return true; }

  detail::raw_result read(platform::native_handle handle, const detail::piece& what, platform::transfer_flags) const {
    disk_->pass_time();
    return disk_->read(platform::number_of(handle), what);
  }
  detail::raw_result write(platform::native_handle handle, const detail::piece& what,
                           platform::transfer_flags flags) const {
    disk_->pass_time();
    return disk_->write(platform::number_of(handle), what, flags);
  }
  result<void> sync(platform::native_handle handle, sync_kind) const {
    disk_->pass_time();
    return disk_->sync(platform::number_of(handle));
  }
  void drop_pages(platform::native_handle handle) const { disk_->drop_pages(platform::number_of(handle)); }
  detail::raw_result start_writeback(platform::native_handle handle, std::uint64_t, std::size_t) const {
    disk_->pass_time();
    return disk_->start_writeback(platform::number_of(handle));
  }
  result<std::uint64_t> size(platform::native_handle handle) const { return disk_->size(platform::number_of(handle)); }
  result<void> resize(platform::native_handle handle, std::uint64_t bytes) const {
    if (bytes > detail::max_offset) return error(errc::offset_too_large, bytes, detail::max_offset);
    return disk_->resize(platform::number_of(handle), bytes);
  }
  result<bool> lock_exclusively(platform::native_handle handle) const {
    return disk_->lock_exclusively(platform::number_of(handle));
  }
  void unlock(platform::native_handle) const noexcept {}  // closing does that at once
  result<void> close(platform::native_handle handle) const { return disk_->close(platform::number_of(handle)); }

 private:
  simulated_disk* disk_;
};

QIO_END_NAMESPACE
