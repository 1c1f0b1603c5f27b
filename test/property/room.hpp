// The memory of one transfer: one buffer or several, with guards around them.
#pragma once

#include "model.hpp"
#include "random.hpp"
#include <qio/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace property {

class room {
 public:
  /// `pieces` buffers whose sizes are multiples of `unit`; the first buffer is the last in memory. With a unit of 1 the
  /// addresses are odd.
  room(std::size_t bytes, std::size_t pieces, std::size_t unit, random_numbers& random)
      : memory_(qio::aligned_buffer::allocate(bytes + 3 * guard).value()),
        bytes_(memory_.view(guard + (unit == 1 ? random.below(64) : 0), bytes)) {
    std::memset(memory_.data(), untouched, memory_.size());
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i < pieces; ++i) ends.push_back(random.below(bytes / unit + 1) * unit);
    std::sort(ends.begin(), ends.end());
    ends.push_back(bytes);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      pieces_.push_back(bytes_.subspan(bytes - end, end - begin));
      begin = end;
    }
    into_.assign(pieces_.begin(), pieces_.end());
    from_.assign(pieces_.begin(), pieces_.end());
  }

  const std::vector<std::span<std::byte>>& pieces() const { return pieces_; }  ///< in file order
  std::span<std::byte> single() const { return bytes_; }
  const std::vector<qio::mutable_buffer>& into() const { return into_; }
  const std::vector<qio::const_buffer>& from() const { return from_; }

  void put(std::span<const std::byte> data) {
    for (const std::span<std::byte> piece : pieces_) {
      std::copy_n(data.begin(), piece.size(), piece.begin());
      data = data.subspan(piece.size());
    }
  }
  /// The first bytes, in file order.
  std::vector<std::byte> get(std::size_t bytes) const {
    std::vector<std::byte> data;
    data.reserve(bytes);
    for (const std::span<std::byte> piece : pieces_) {
      const std::size_t part = std::min(piece.size(), bytes - data.size());
      data.insert(data.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(part));
    }
    return data;
  }

  /// From now on, a change is an error.
  void abandon() { std::memset(bytes_.data(), untouched, bytes_.size()); }
  bool is_untouched() const { return holds_guard(bytes_); }
  bool guards_hold() const {
    const std::byte* const begin = memory_.data();
    const auto before = static_cast<std::size_t>(bytes_.data() - begin);
    return holds_guard({begin, before}) &&
           holds_guard({begin + before + bytes_.size(), memory_.size() - before - bytes_.size()});
  }

 private:
  static constexpr std::size_t guard = 4096;
  static constexpr int untouched = 0xee;

  static bool holds_guard(std::span<const std::byte> bytes) {
    return bytes.empty() || (bytes.front() == std::byte{untouched} && are_equal(bytes.subspan(1), bytes));
  }

  qio::aligned_buffer memory_;
  std::span<std::byte> bytes_;
  std::vector<std::span<std::byte>> pieces_;
  std::vector<qio::mutable_buffer> into_;
  std::vector<qio::const_buffer> from_;
};

}  // namespace property
