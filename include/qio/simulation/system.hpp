// SPDX-License-Identifier: BSL-1.0
// What a file calls instead of the operating system: the twin of system/operating_system.hpp.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/file_status.hpp>
#include <qio/if_exists.hpp>
#include <qio/mode.hpp>
#include <qio/name_options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/simulation/disk.hpp>
#include <qio/simulation/listing.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
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

  /// Whether both are the same disk.
  friend bool operator==(const simulated_system&, const simulated_system&) = default;

  /// Like platform::opening: begin() destroys nothing, and a file that it creates does not exist without commit(). With
  /// creation::always_new, it has a temporary name until then, which a crash may leave behind.
  class opening {
   public:
    opening(opening&& other) noexcept
        : disk_(other.disk_),
          path_(std::move(other.path_)),
          how_(other.how_),
          created_(std::exchange(other.created_, nullptr)),
          temporary_(std::exchange(other.temporary_, {})),
          number_(std::exchange(other.number_, 0)) {}
    opening& operator=(opening&&) = delete;
    ~opening() {
      if (!temporary_.empty()) static_cast<void>(disk_->remove(temporary_));
      if (number_ != 0) static_cast<void>(disk_->close(number_));
    }

    platform::native_handle handle() const noexcept { return platform::handle_of(number_); }
    static constexpr bool needs_flushes(bool) noexcept { return false; }

    result<platform::native_handle> commit() {
      if (detail::empties(how_))
        if (auto emptied = disk_->resize(number_, 0); !emptied) return emptied.error();
      if (!temporary_.empty()) {
        disk_->pass_time();
        if (auto renamed = disk_->rename(temporary_, path_); !renamed) return renamed.error();
        temporary_.clear();
      } else if (created_ != nullptr && !path_.empty()) {
        disk_->change_names({{}, path_, created_});
      }
      return platform::handle_of(std::exchange(number_, 0));
    }
    result<platform::native_handle> commit_durably() {
      auto committed = commit();
      if (!committed) return committed;
      disk_->pass_time();
      const auto synced = disk_->sync_directory(simulated_disk::directory_of(path_));
      if (synced) return committed;
      static_cast<void>(disk_->close(platform::number_of(committed.value())));
      return synced.error();
    }

   private:
    friend class simulated_system;

    opening(simulated_disk& disk, std::string path, creation how) noexcept
        : disk_(&disk), path_(std::move(path)), how_(how) {}

    simulated_disk* disk_;
    std::string path_;  // empty if it gets no name
    creation how_;
    contents created_;       // has no name yet, or
    std::string temporary_;  // for creation::always_new
    std::uint64_t number_ = 0;
  };

  result<opening> begin(path_view path, platform::native_handle beneath, access wanted, creation how, std::uint32_t,
                        detail::handle_kind kind) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);  // it opens no directories
    if ((detail::empties(how) || kind.is_unnamed) && wanted == access::read)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(wanted),
                   static_cast<std::uint64_t>(access::read_write));
    disk_->pass_time();
    if (!disk_->take_call()) return simulated_disk::failure(std::errc::io_error);
    opening self(*disk_, kind.is_unnamed ? std::string() : path.c_str(), how);
    if (!kind.is_unnamed && disk_->is_directory(self.path_)) return simulated_disk::failure(std::errc::is_a_directory);
    contents found = how == creation::always_new || kind.is_unnamed ? nullptr : disk_->find_name(self.path_);
    if (found != nullptr && how == creation::only_if_missing) return simulated_disk::failure(std::errc::file_exists);
    if (found == nullptr && (how == creation::open_existing || how == creation::truncate_existing))
      return simulated_disk::failure(std::errc::no_such_file_or_directory);
    if (found == nullptr) self.created_ = found = disk_->new_contents();
    if (how == creation::always_new) {
      self.temporary_ = disk_->temporary_name(self.path_);
      disk_->change_names({{}, self.temporary_, found});
    }
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

  // --- space ---

  result<void> allocate(platform::native_handle handle, std::uint64_t offset, std::uint64_t bytes,
                        allocation how) const {
    disk_->pass_time();
    return disk_->allocate(platform::number_of(handle), offset, bytes, how);
  }
  result<void> discard(platform::native_handle handle, std::uint64_t offset, std::uint64_t bytes) const {
    disk_->pass_time();
    return disk_->make_zeros(platform::number_of(handle), offset, bytes, false);
  }
  result<void> zero(platform::native_handle handle, std::uint64_t offset, std::uint64_t bytes) const {
    disk_->pass_time();
    return disk_->make_zeros(platform::number_of(handle), offset, bytes, true);
  }
  result<std::optional<extent>> next_data(platform::native_handle handle, std::uint64_t from) const {
    return disk_->next_data(platform::number_of(handle), from);
  }
  bool is_same_file(platform::native_handle one, platform::native_handle other) const {
    const auto* const first = disk_->find(platform::number_of(one));
    const auto* const second = disk_->find(platform::number_of(other));
    return first != nullptr && second != nullptr && first->of == second->of;
  }
  result<void> clone(platform::native_handle from, const extent& what, platform::native_handle to,
                     std::uint64_t to_offset) const {
    disk_->pass_time();
    return disk_->clone(platform::number_of(from), what, platform::number_of(to), to_offset);
  }
  static std::uint64_t clone_unit(platform::native_handle) noexcept { return simulated_disk::page; }
  /// The disk has no such call: what it cannot clone, copy_from() reads and writes.
  static detail::raw_result copy(platform::native_handle, const extent&, platform::native_handle,
                                 std::uint64_t) noexcept {
    return simulated_disk::answer(std::errc::operation_not_supported);
  }

  // --- the page cache ---

  // The disk reads nothing ahead, so advice has no effect, and it does not report what it has not written yet.
  static result<void> advise(platform::native_handle, access_pattern) noexcept { return success(); }
  static result<void> prefetch(platform::native_handle, const extent&) noexcept { return success(); }
  /// Drops the pages of the whole file: after a write that failed, programs see what the disk has.
  result<void> forget(platform::native_handle handle, const extent&) const {
    drop_pages(handle);
    return success();
  }
  static result<residency> resident(platform::native_handle, const extent&) noexcept {
    return error(errc::residency_not_supported);
  }

  result<bool> try_lock(platform::native_handle handle, lock_kind kind, const extent& range) const {
    return disk_->try_lock(platform::number_of(handle), kind, range);
  }
  result<void> unlock(platform::native_handle handle, const extent& range) const {
    return disk_->unlock(platform::number_of(handle), range);
  }
  result<bool> is_locked(platform::native_handle handle, lock_kind kind, const extent& range) const {
    return disk_->is_locked(platform::number_of(handle), kind, range);
  }
  result<file_status> status(platform::native_handle handle) const {
    return disk_->status(platform::number_of(handle));
  }
  /// The disk has no symbolic links.
  result<file_status> status_of_path(path_view path, platform::native_handle beneath, bool) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    return disk_->status(path.c_str());
  }
  // Its files have no attributes that programs could change.
  static result<void> set_permissions(platform::native_handle, std::uint32_t) noexcept { return no_attributes(); }
  static result<void> set_owner(platform::native_handle, std::optional<std::uint32_t>,
                                std::optional<std::uint32_t>) noexcept {
    return no_attributes();
  }
  static result<void> set_times(platform::native_handle, const file_times&) noexcept { return no_attributes(); }
  result<platform::native_handle> duplicate(platform::native_handle handle) const {
    const auto* const file = disk_->find(platform::number_of(handle));
    if (file == nullptr) return simulated_disk::failure(std::errc::bad_file_descriptor);
    return platform::handle_of(disk_->open(file->of, file->granted, file->writes_durably));
  }
  static error set_lifetime(platform::native_handle, data_lifetime) noexcept {
    return simulated_disk::failure(std::errc::operation_not_supported);
  }
  result<void> give_name(platform::native_handle handle, path_view path, if_exists how,
                         platform::native_handle beneath) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    return disk_->give_name(platform::number_of(handle), path.c_str(), how);
  }
  result<void> close(platform::native_handle handle) const { return disk_->close(platform::number_of(handle)); }

  // --- names ---

  result<void> rename(platform::native_handle beneath, path_view from, path_view to, if_exists how,
                      bool durable) const {
    const auto change = [&]() -> result<bool> {
      if (auto renamed = disk_->rename(from.c_str(), to.c_str(), how); !renamed) return renamed.error();
      return true;
    };
    return without_value(change_names(beneath, {to.c_str(), from.c_str()}, durable, change));
  }
  result<void> link(platform::native_handle beneath, path_view existing, path_view name, bool durable) const {
    const auto change = [&]() -> result<bool> {
      if (auto linked = disk_->link(existing.c_str(), name.c_str()); !linked) return linked.error();
      return true;
    };
    if (is_no_name(existing.c_str())) return error(errc::no_name_in_path);
    return without_value(change_names(beneath, {name.c_str()}, durable, change));
  }
  result<void> symlink(platform::native_handle, path_view, path_view, bool) const {
    return simulated_disk::failure(std::errc::operation_not_supported);
  }
  result<std::string> read_link(platform::native_handle beneath, path_view path) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    if (!disk_->exists(path.c_str())) return simulated_disk::failure(std::errc::no_such_file_or_directory);
    return error(errc::not_a_link);
  }
  result<bool> remove(platform::native_handle beneath, path_view path, bool durable) const {
    const auto change = [&]() -> result<bool> {
      auto removed = disk_->remove(path.c_str());
      if (removed) return true;
      if (removed.error() == std::errc::no_such_file_or_directory) return false;
      return removed.error();
    };
    return change_names(beneath, {path.c_str()}, durable, change);
  }
  result<bool> create_directory(platform::native_handle beneath, path_view path,
                                const directory_options& options) const {
    const std::string name = without_slash(path.c_str());
    if (options.parents)
      for (std::size_t end = name.find('/', 1); end != name.npos; end = name.find('/', end + 1)) {
        const std::string above = name.substr(0, end);
        if (is_no_name(above)) continue;
        if (const auto parent = create_one_directory(beneath, above, options.durable); !parent) return parent;
      }
    return create_one_directory(beneath, name, options.durable);
  }
  result<bool> remove_directory(platform::native_handle beneath, path_view path, bool durable) const {
    const std::string name = without_slash(path.c_str());
    return change_names(beneath, {name}, durable, [&] { return disk_->remove_directory(name); });
  }
  // --- temporary files and directories ---

  /// Like platform::temporary_place.
  class temporary_place {
   public:
    temporary_place() noexcept = default;

    void take_file(platform::native_handle handle) noexcept {
      kind_ = kind::file;
      file_ = disk_->find(platform::number_of(handle))->of->number();
    }
    error create_directory() {
      const auto created = disk_->create_directory(path_);
      if (!created) return created.error();
      if (!created.value()) return simulated_disk::failure(std::errc::file_exists);
      kind_ = kind::directory;
      return {};
    }
    void remove() {
      if (kind_ == kind::none || restarts_ != disk_->restarts_) return;  // a crashed program removes nothing
      // Others may have given the name to another file.
      const contents there = kind_ == kind::file ? disk_->find_name(path_) : nullptr;
      if (there != nullptr && there->number() == file_) static_cast<void>(disk_->remove(path_));
      if (kind_ == kind::directory) disk_->remove_tree(path_);
    }

   private:
    friend class simulated_system;
    enum class kind : std::uint8_t { none, file, directory };

    simulated_disk* disk_ = nullptr;
    std::string path_;
    kind kind_ = kind::none;
    std::uint64_t file_ = 0;
    std::uint64_t restarts_ = 0;  // of the disk, before the place was found
  };

  static result<std::string> temporary_directory() { return std::string("."); }
  std::string temporary_name() const { return disk_->temporary_name({}); }
  result<temporary_place> find_place(platform::native_handle beneath, path_view path) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    temporary_place found;
    found.disk_ = disk_;
    found.path_ = path.c_str();
    found.restarts_ = disk_->restarts_;
    return found;
  }

  // --- directories ---

  using listing = detail::simulated_listing;

  result<listing> open_listing(path_view path, platform::native_handle beneath) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    disk_->pass_time();
    return listing::open(*disk_, path);
  }

  // Simulated files have no permissions.
  result<std::uint32_t> permissions_of(platform::native_handle beneath, path_view path) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    if (!disk_->exists(path.c_str())) return simulated_disk::failure(std::errc::no_such_file_or_directory);
    return 0666u;
  }
  static result<void> keep_permissions(platform::native_handle, std::uint32_t) noexcept { return success(); }
  result<void> sync_directory(platform::native_handle beneath, path_view directory) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    disk_->pass_time();
    return disk_->sync_directory(directory.c_str());
  }

 private:
  // Checks the names, makes the change, and syncs the directories of the names in this order. Each is a system call.
  template <class Change>
  result<bool> change_names(platform::native_handle beneath, std::initializer_list<std::string_view> names,
                            bool durable, Change&& change) const {
    if (beneath != platform::anywhere) return error(errc::beneath_not_supported);
    for (const std::string_view each : names)
      if (is_no_name(each)) return error(errc::no_name_in_path);
    disk_->pass_time();
    result<bool> changed = change();
    if (!changed || !durable) return changed;
    std::string_view synced;
    for (const std::string_view each : names) {
      const std::string_view directory = simulated_disk::directory_of(each);
      if (directory == synced) continue;
      synced = directory;
      disk_->pass_time();
      if (const auto done = disk_->sync_directory(directory); !done) return done.error();
    }
    return changed;
  }
  result<bool> create_one_directory(platform::native_handle beneath, const std::string& name, bool durable) const {
    return change_names(beneath, {name}, durable, [&] { return disk_->create_directory(name); });
  }

  static result<void> without_value(const result<bool>& done) {
    return done ? result<void>(success()) : result<void>(done.error());
  }
  static bool is_no_name(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.empty() || name == "." || name == "..";
  }
  static std::string without_slash(std::string_view path) {
    return std::string(path.substr(0, path.find_last_not_of('/') + 1));
  }
  static error no_attributes() noexcept { return std::make_error_code(std::errc::operation_not_supported); }

  simulated_disk* disk_;
};

QIO_END_NAMESPACE
