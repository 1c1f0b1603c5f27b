// SPDX-License-Identifier: BSL-1.0
// The contents of a file in memory; pages that were never written take no memory.
#pragma once

#include <qio/configuration.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

QIO_BEGIN_NAMESPACE
namespace detail {

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

  void write(std::uint64_t offset, std::span<const std::byte> from) {
    for_each_page(offset, from.size(),
                  [&](std::uint64_t number, std::size_t within, std::size_t done, std::size_t bytes) {
                    std::copy_n(from.data() + done, bytes, pages_[number].data() + within);
                  });
  }

  /// Makes everything from `end` on zeros.
  void cut(std::uint64_t end) {
    const std::uint64_t last = end / page_bytes;
    if (end % page_bytes != 0) {
      if (const auto found = pages_.find(last); found != pages_.end())
        std::fill(found->second.begin() + static_cast<std::ptrdiff_t>(end % page_bytes), found->second.end(),
                  std::byte{0});
    }
    pages_.erase(pages_.lower_bound(end % page_bytes == 0 ? last : last + 1), pages_.end());
  }

  std::uint64_t pages() const noexcept { return pages_.size(); }
  bool has_page(std::uint64_t number) const { return pages_.contains(number); }

 private:
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

  std::map<std::uint64_t, std::array<std::byte, page_bytes>> pages_;
};

}  // namespace detail
QIO_END_NAMESPACE
