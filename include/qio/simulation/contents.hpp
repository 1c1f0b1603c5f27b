// SPDX-License-Identifier: BSL-1.0
// One file of a simulated disk: what programs see, what is durable, and what is written but not yet durable.
#pragma once

#include <qio/configuration.hpp>
#include <qio/simulation/chance.hpp>
#include <qio/simulation/sparse_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Programs see what is written immediately; it is durable after a sync. If the power fails in between, each sector
/// written since the sync may be on the disk or not, in any order. Changes of the size are kept in their order, up to
/// any one of them, as by a file system with a journal.
class simulated_contents {
 public:
  explicit simulated_contents(std::uint32_t sector) noexcept : sector_(sector) {}

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t pages() const noexcept { return seen_.pages(); }

  /// How many bytes of a range, from its beginning, lie before the end and before a bad sector.
  std::size_t readable(std::uint64_t offset, std::size_t bytes) const {
    if (offset >= size_) return 0;
    const std::uint64_t end = offset + (std::min<std::uint64_t>)(bytes, size_ - offset);
    const auto bad = bad_.lower_bound(offset / sector_);
    if (bad == bad_.end() || *bad * sector_ >= end) return static_cast<std::size_t>(end - offset);
    return *bad * sector_ <= offset ? 0 : static_cast<std::size_t>(*bad * sector_ - offset);
  }
  bool is_bad(std::uint64_t offset) const { return bad_.contains(offset / sector_); }
  void go_bad(std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t each = offset / sector_; each * sector_ < offset + bytes; ++each) bad_.insert(each);
  }

  void read(std::uint64_t offset, std::span<std::byte> to) const { seen_.read(offset, to); }

  /// The number of pages that a write would add.
  std::uint64_t new_pages(std::uint64_t offset, std::size_t bytes) const {
    std::uint64_t found = 0;
    const std::uint64_t last = (offset + bytes - 1) / sparse_bytes::page_bytes;
    for (std::uint64_t each = offset / sparse_bytes::page_bytes; each <= last; ++each) found += !seen_.has_page(each);
    return found;
  }

  /// Writing a bad sector repairs it, as a disk does by remapping it. If the power fails, an untorn write is on the
  /// disk whole or not at all.
  void write(std::uint64_t offset, std::span<const std::byte> from, bool untorn = false) {
    seen_.write(offset, from);
    bad_.erase(bad_.lower_bound(offset / sector_), bad_.upper_bound((offset + from.size() - 1) / sector_));
    unwritten_.push_back({.offset = offset, .data = {from.begin(), from.end()}, .untorn = untorn});
    if (offset + from.size() > size_) change_size(offset + from.size());
  }

  void resize(std::uint64_t bytes) {
    if (bytes < size_) {
      was_cut_ = true;
      seen_.cut(bytes);
      bad_.erase(bad_.lower_bound((bytes + sector_ - 1) / sector_), bad_.end());
    }
    change_size(bytes);
  }

  /// Makes everything durable.
  void sync() {
    for (const change& each : unwritten_) apply(each);
    unwritten_.clear();
    was_cut_ = false;
  }

  /// Makes a range durable, with every write to the same bytes, whole, and the size.
  void sync(std::uint64_t offset, std::size_t bytes) {
    // What was written before the file was truncated must not be applied after that.
    if (was_cut_) return sync();
    // Nor what was written before one of those writes, to the same bytes as that: so from the newest to the oldest.
    struct range {
      std::uint64_t begin, end;
    };
    std::vector<range> durable{{offset, offset + bytes}};
    std::vector<change> part;
    for (std::size_t i = unwritten_.size(); i-- != 0;) {
      change& each = unwritten_[i];
      const range of_each{each.offset, each.offset + each.data.size()};
      const auto overlaps = [&](const range& other) { return of_each.begin < other.end && other.begin < of_each.end; };
      if (!each.is_size && std::ranges::none_of(durable, overlaps)) continue;
      if (!each.is_size) durable.push_back(of_each);
      part.push_back(std::move(each));
      unwritten_.erase(unwritten_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (auto each = part.rbegin(); each != part.rend(); ++each) apply(*each);
  }

  /// Makes a random part durable, and forgets that the rest is not: the rest becomes durable only if it is written
  /// again.
  void fail_to_sync(chance& chance) {
    for (const change& each : unwritten_)
      if (each.is_size || chance.comes_true(0.5)) apply(each);
    unwritten_.clear();
    was_cut_ = false;
  }

  /// From now on, programs see what is durable and what may still become durable.
  void show_what_is_kept() {
    seen_ = durable_;
    size_ = durable_size_;
    seen_.cut(size_);
    for (const change& each : unwritten_) {
      if (!each.is_size) {
        seen_.write(each.offset, each.data);
      } else {
        if (each.offset < size_) seen_.cut(each.offset);
        size_ = each.offset;
      }
    }
  }

  /// Keeps what is durable, and a random part of the rest.
  void lose_power(chance& chance) {
    std::uint64_t sizes_kept =
        chance.between(0, static_cast<std::uint64_t>(std::ranges::count_if(unwritten_, &change::is_size)));
    for (const change& each : unwritten_) {
      if (!each.is_size)
        apply_in_part(each, chance);
      else if (sizes_kept != 0) {
        --sizes_kept;
        apply(each);
      }
    }
    durable_.cut(durable_size_);
    unwritten_.clear();
    was_cut_ = false;
    seen_ = durable_;
    size_ = durable_size_;
  }

 private:
  struct change {
    std::uint64_t offset;         // or the size
    std::vector<std::byte> data;  // empty: the size changes
    bool is_size = data.empty();
    bool untorn = false;
  };

  void change_size(std::uint64_t bytes) {
    unwritten_.push_back({.offset = bytes, .data = {}});
    size_ = bytes;
  }

  void apply(const change& what) {
    if (!what.is_size) return durable_.write(what.offset, what.data);
    if (what.offset < durable_size_) durable_.cut(what.offset);
    durable_size_ = what.offset;
  }

  // Each sector is written whole or not at all; so is an untorn write.
  void apply_in_part(const change& what, chance& chance) {
    if (what.untorn) {
      if (chance.comes_true(0.5)) apply(what);
      return;
    }
    const std::uint64_t end = what.offset + what.data.size();
    for (std::uint64_t at = what.offset; at < end;) {
      const std::uint64_t next = (std::min)((at / sector_ + 1) * sector_, end);
      if (chance.comes_true(0.5))
        durable_.write(at, std::span(what.data).subspan(static_cast<std::size_t>(at - what.offset),
                                                        static_cast<std::size_t>(next - at)));
      at = next;
    }
  }

  std::uint64_t sector_;
  sparse_bytes seen_;
  sparse_bytes durable_;
  std::uint64_t size_ = 0;
  std::uint64_t durable_size_ = 0;
  std::vector<change> unwritten_;  // in the order of the writes
  bool was_cut_ = false;           // by one of these changes
  std::set<std::uint64_t> bad_;    // numbers of bad sectors
};

}  // namespace detail
QIO_END_NAMESPACE
