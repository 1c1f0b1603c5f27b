// SPDX-License-Identifier: BSL-1.0
// The locks of one open file of a simulated disk.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Ranges that do not overlap, each with the kind of its lock: as fcntl(2) keeps them for an open file description.
class simulated_locks {
 public:
  /// Whether these keep out the lock of another open file.
  bool keep_out(lock_kind kind, const extent& range) const noexcept {
    return std::any_of(held_.begin(), held_.end(), [&, wanted = locked_part(kind, range)](const locked_part& each) {
      return each.first <= wanted.last && wanted.first <= each.last &&
             (kind == lock_kind::exclusive || each.kind == lock_kind::exclusive);
    });
  }

  /// Locks the range, and converts what is locked of it.
  void lock(lock_kind kind, const extent& range) {
    unlock(range);
    held_.emplace_back(kind, range);
  }

  /// What is locked on either side of the range stays locked.
  void unlock(const extent& range) {
    const locked_part freed(lock_kind::shared, range);
    std::vector<locked_part> left;
    for (const locked_part& each : held_) {
      if (each.last < freed.first || each.first > freed.last) {
        left.push_back(each);
        continue;
      }
      if (each.first < freed.first) left.emplace_back(each.kind, each.first, freed.first - 1);
      if (each.last > freed.last) left.emplace_back(each.kind, freed.last + 1, each.last);
    }
    held_ = std::move(left);
  }

 private:
  struct locked_part {
    locked_part(lock_kind of_kind, const extent& range) noexcept
        : locked_part(of_kind, range.offset, range.bytes == 0 ? max_offset : range.offset + range.bytes - 1) {}
    locked_part(lock_kind of_kind, std::uint64_t begin, std::uint64_t end) noexcept
        : kind(of_kind), first(begin), last(end) {}

    lock_kind kind;
    std::uint64_t first, last;  // bytes
  };

  std::vector<locked_part> held_;
};

}  // namespace detail
QIO_END_NAMESPACE
