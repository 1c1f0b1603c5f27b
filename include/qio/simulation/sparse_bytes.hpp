// SPDX-License-Identifier: BSL-1.0
// The contents of a file in memory, in pages. One that was never written takes no memory, but may be reserved.
#pragma once

#include <qio/configuration.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Two states with the same fingerprint are the same, but for a chance of one in 2^120 or so. (Nobody attacks it.)
class fingerprint {
 public:
  void add(std::uint64_t word) noexcept {
    first_ = (first_ ^ word) * 0x9E3779B97F4A7C15u;
    first_ ^= first_ >> 29;
    second_ = (second_ + word) * 0xD1B54A32D192ED03u;
    second_ ^= second_ >> 32;
  }
  void add(std::span<const std::byte> bytes) noexcept {
    add(bytes.size());
    for (std::size_t done = 0; done < bytes.size();) {
      std::uint64_t word = 0;
      const std::size_t part = (std::min)(bytes.size() - done, sizeof word);
      std::memcpy(&word, bytes.data() + done, part);
      add(word);
      done += part;
    }
  }

  friend auto operator<=>(const fingerprint&, const fingerprint&) = default;

 private:
  std::uint64_t first_ = 1;
  std::uint64_t second_ = 2;
};

/// A set of pages, as ranges of their numbers.
class page_set {
 public:
  std::uint64_t size() const noexcept { return size_; }

  void add_to(fingerprint& state) const {
    state.add(ranges_.size());
    for (const auto& [first, last] : ranges_) {
      state.add(first);
      state.add(last);
    }
  }

  /// [begin, end).
  void insert(std::uint64_t begin, std::uint64_t end) {
    erase(begin, end);
    add(begin, end);
  }
  void erase(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto each = ranges_.upper_bound(begin);
    if (each != ranges_.begin()) --each;
    while (each != ranges_.end() && each->first < end) {
      const auto [first, last] = *each;
      if (last <= begin) {
        ++each;
        continue;
      }
      each = ranges_.erase(each);
      size_ -= last - first;
      add(first, begin);
      add(end, last);
    }
  }

  /// How many pages of [begin, end) are in the set.
  std::uint64_t count(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t found = 0;
    for (const auto& [first, last] : ranges_)
      if (first < end && begin < last) found += (std::min)(last, end) - (std::max)(first, begin);
    return found;
  }

 private:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    ranges_.emplace(begin, end);
    size_ += end - begin;
  }

  std::map<std::uint64_t, std::uint64_t> ranges_;  // from the first page to the one behind the last; none overlap
  std::uint64_t size_ = 0;
};

/// A page has data, is reserved, or is a hole. What has no data reads as zeros.
class sparse_bytes {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  void read(std::uint64_t offset, std::span<std::byte> to) const {
    for_each_page(offset, to.size(),
                  [&](std::uint64_t number, std::size_t within, std::size_t done, std::size_t bytes) {
                    const auto found = pages_.find(number);
                    if (found == pages_.end())
                      std::fill_n(to.data() + done, bytes, std::byte{0});
                    else
                      std::copy_n(found->second.data() + within, bytes, to.data() + done);
                  });
  }

  /// Whether this is the data of a range. (Zeros that are not data are another thing.)
  bool contains(std::uint64_t offset, std::span<const std::byte> data) const {
    bool is_same = true;
    for_each_page(offset, data.size(),
                  [&](std::uint64_t number, std::size_t within, std::size_t done, std::size_t bytes) {
                    const auto found = pages_.find(number);
                    is_same = is_same && found != pages_.end() &&
                              std::memcmp(found->second.data() + within, data.data() + done, bytes) == 0;
                  });
    return is_same;
  }

  void write(std::uint64_t offset, std::span<const std::byte> from) {
    if (from.empty()) return;
    for_each_page(offset, from.size(),
                  [&](std::uint64_t number, std::size_t within, std::size_t done, std::size_t bytes) {
                    std::copy_n(from.data() + done, bytes, pages_[number].data() + within);
                  });
    reserved_.erase(offset / page_bytes, page_behind(offset + from.size()));
  }

  /// Reserves the pages of a range that have no data.
  void reserve(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t begin = offset / page_bytes, end = page_behind(offset + bytes);
    reserved_.insert(begin, end);
    for (auto each = pages_.lower_bound(begin); each != pages_.end() && each->first < end; ++each)
      reserved_.erase(each->first, each->first + 1);
  }
  /// Pages that a range covers are no longer reserved.
  void release(std::uint64_t offset, std::uint64_t bytes) {
    reserved_.erase(page_behind(offset), (offset + bytes) / page_bytes);
  }
  /// Makes a range zeros. Pages that it covers become holes.
  void discard(std::uint64_t offset, std::uint64_t bytes) {
    erase_data(offset, bytes);
    release(offset, bytes);
  }
  /// Makes a range zeros. Pages that it covers are reserved, and so are those that had no data.
  void zero(std::uint64_t offset, std::uint64_t bytes) {
    erase_data(offset, bytes);
    reserve(offset, bytes);
  }

  /// Makes everything from `end` on zeros, and whole pages holes.
  void cut(std::uint64_t end) {
    const std::uint64_t last = page_behind(end);
    erase_data(end, last * page_bytes - end);
    pages_.erase(pages_.lower_bound(last), pages_.end());
    reserved_.erase(last, no_page);
  }

  /// Those that take space: they have data, or are reserved.
  std::uint64_t pages() const noexcept { return pages_.size() + reserved_.size(); }
  /// How many pages of a range take no space.
  std::uint64_t free_pages(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t begin = offset / page_bytes, end = page_behind(offset + bytes);
    std::uint64_t found = end - begin - reserved_.count(begin, end);
    for (auto each = pages_.lower_bound(begin); each != pages_.end() && each->first < end; ++each) --found;
    return found;
  }

  void add_to(fingerprint& state) const {
    state.add(pages_.size());
    for (const auto& [number, contents] : pages_) {
      state.add(number);
      state.add(contents);
    }
    reserved_.add_to(state);
  }

  bool has_data(std::uint64_t page) const { return pages_.contains(page); }
  /// The number of the first page with data, from a number on; no_page if there is none.
  std::uint64_t data_from(std::uint64_t page) const {
    const auto found = pages_.lower_bound(page);
    return found == pages_.end() ? no_page : found->first;
  }
  static constexpr std::uint64_t no_page = ~std::uint64_t(0);

  /// The first page that begins at or after an offset.
  static constexpr std::uint64_t page_behind(std::uint64_t offset) noexcept {
    return offset / page_bytes + (offset % page_bytes != 0 ? 1 : 0);
  }

 private:
  void erase_data(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t end = offset + bytes;
    for (auto each = pages_.lower_bound(offset / page_bytes); each != pages_.end();) {
      const std::uint64_t begin_of_page = each->first * page_bytes;
      if (begin_of_page >= end) break;
      const std::uint64_t from = (std::max)(offset, begin_of_page), to = (std::min)(end, begin_of_page + page_bytes);
      if (to - from == page_bytes) {
        each = pages_.erase(each);
        continue;
      }
      std::fill(each->second.begin() + static_cast<std::ptrdiff_t>(from - begin_of_page),
                each->second.begin() + static_cast<std::ptrdiff_t>(to - begin_of_page), std::byte{0});
      ++each;
    }
  }

  // Calls `visit(number of the page, offset within it, bytes before it, bytes in it)` for each page of the range.
  template <class Visit>
  static void for_each_page(std::uint64_t offset, std::size_t bytes, Visit&& visit) {
    for (std::size_t done = 0; done < bytes;) {
      const std::uint64_t at = offset + done;
      const auto within = static_cast<std::size_t>(at % page_bytes);
      const std::size_t part = (std::min)(bytes - done, static_cast<std::size_t>(page_bytes) - within);
      visit(at / page_bytes, within, done, part);
      done += part;
    }
  }

  std::map<std::uint64_t, std::array<std::byte, page_bytes>> pages_;  // those with data
  page_set reserved_;                                                 // none with data
};

}  // namespace detail
QIO_END_NAMESPACE
