// SPDX-License-Identifier: BSL-1.0
// Listing a directory of a simulated disk: what directory_reader reads there.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/simulation/disk.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

/// The entries of a directory as it was when the first of them were read, in batches of a few.
class simulated_listing {
 public:
  static constexpr std::size_t batch = 16;  ///< few: between two of them, the power may be cut

  static result<simulated_listing> open(simulated_disk& disk, path_view path) {
    simulated_listing self(disk, path.c_str());
    if (auto found = disk.find_directory(self.path_); !found) return found.error();
    return self;
  }

  simulated_listing(simulated_listing&& other) noexcept
      : disk_(std::exchange(other.disk_, nullptr)),
        path_(std::move(other.path_)),
        entries_(std::move(other.entries_)),
        shown_(std::move(other.shown_)),
        at_(other.at_),
        is_read_(other.is_read_) {}
  simulated_listing& operator=(simulated_listing&& other) noexcept {
    disk_ = std::exchange(other.disk_, nullptr);
    path_ = std::move(other.path_);
    entries_ = std::move(other.entries_);
    shown_ = std::move(other.shown_);
    at_ = other.at_;
    is_read_ = other.is_read_;
    return *this;
  }

  bool is_open() const noexcept { return disk_ != nullptr; }

  result<std::span<const directory_entry>> next() {
    disk_->pass_time();
    if (!is_read_) {
      auto found = disk_->entries_of(path_);
      if (!found) return found.error();
      entries_ = std::move(found).value();
      is_read_ = true;
    } else if (auto called = disk_->check_power(); !called) {
      return called.error();
    }
    shown_.clear();
    for (; at_ < entries_.size() && shown_.size() < batch; ++at_)
      shown_.push_back({entries_[at_].name, entries_[at_].type, entries_[at_].id});
    return std::span<const directory_entry>(shown_);
  }

  result<void> rewind() noexcept {
    at_ = 0;
    is_read_ = false;
    return success();
  }

  result<file_status> status(const directory_entry& of) const {
    disk_->pass_time();
    return disk_->status_of_entry(path_, of.name);
  }

 private:
  simulated_listing(simulated_disk& disk, const char* path) : disk_(&disk), path_(path) {}

  simulated_disk* disk_;
  std::string path_;
  std::vector<simulated_disk::entry> entries_;
  std::vector<directory_entry> shown_;
  std::size_t at_ = 0;
  bool is_read_ = false;
};

}  // namespace detail
QIO_END_NAMESPACE
