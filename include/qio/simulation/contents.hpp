// SPDX-License-Identifier: BSL-1.0
// One file of a simulated disk: what programs see, what is durable, and what is written but not yet durable.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/simulation/chance.hpp>
#include <qio/simulation/sparse_bytes.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Programs see what is written immediately; it is durable after a sync. If the power fails in between, each sector
/// written since the sync may be on the disk or not, as any of the writes has left it; so may each page that was made
/// zeros or cloned, whole. Changes of the size and of what is reserved are kept in their order, up to any one of them,
/// as by a file system with a journal. A write changes the size page by page, unless it is untorn.
class simulated_contents {
 public:
  /// No other file of the disk has the same number.
  explicit simulated_contents(std::uint32_t sector, std::uint64_t number = 0) noexcept
      : sector_(sector), number_(number) {}

  std::uint64_t number() const noexcept { return number_; }
  /// The time of the last write, or of a change of the size: of the disk's clock. (Without regard to power failures.)
  std::chrono::nanoseconds modified() const noexcept { return modified_; }
  /// A system call is about to change the file.
  void note_call(std::uint64_t call, std::chrono::nanoseconds now) noexcept {
    call_ = call;
    modified_ = now;
  }

  std::uint64_t size() const noexcept { return size_; }
  /// That take space.
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

  /// How many bytes of a range, from its beginning, can be written: a bad sector only whole, because the rest of it
  /// cannot be read.
  std::size_t writable(std::uint64_t offset, std::size_t bytes) const {
    const std::uint64_t end = offset + bytes;
    const auto is_in_the_way = [&](std::uint64_t begin) {
      return is_bad(begin) && (begin < offset || (end < begin + sector_ && end < size_));
    };
    if (is_in_the_way(offset / sector_ * sector_)) return 0;
    const std::uint64_t last = (end - 1) / sector_ * sector_;
    return is_in_the_way(last) ? static_cast<std::size_t>(last - offset) : bytes;
  }

  void read(std::uint64_t offset, std::span<std::byte> to) const { seen_.read(offset, to); }

  /// The number of pages that a write or a reservation would add.
  std::uint64_t new_pages(std::uint64_t offset, std::uint64_t bytes) const { return seen_.free_pages(offset, bytes); }
  /// The same of a clone of a range of `source`, which takes the space of a copy.
  std::uint64_t new_pages(const simulated_contents& source, const extent& what, std::uint64_t to) const {
    std::uint64_t found = 0;
    for (const extent& each : source.data_in(what)) found += new_pages(to + each.offset - what.offset, each.bytes);
    return found;
  }

  /// Writing a bad sector repairs it, as a disk does by remapping it. If the power fails, an untorn write is on the
  /// disk whole or not at all.
  void write(std::uint64_t offset, std::span<const std::byte> from, bool untorn = false) {
    seen_.write(offset, from);
    bad_.erase(bad_.lower_bound(offset / sector_), bad_.upper_bound((offset + from.size() - 1) / sector_));
    // A disk gets whole sectors, with what was written to them before.
    const std::uint64_t begin = offset / sector_ * sector_, end = end_of_sector(offset + from.size());
    std::vector<std::byte> sectors(static_cast<std::size_t>(end - begin));
    seen_.read(begin, sectors);
    // As on ext4: a page that is written out by itself brings the size with it, up to its end. These changes precede
    // the data, because a smaller size that follows it cuts it off.
    const std::uint64_t behind = offset + from.size();
    for (std::uint64_t size = ((std::max)(size_, offset) / page + 1) * page; size < behind && !untorn; size += page)
      change_size(size);
    if (behind > size_) change_size(behind);
    unwritten_.push_back({.what = change::data,
                          .call = call_,
                          .offset = begin,
                          .bytes = end - begin,
                          .unit = untorn ? change::whole : sector_,
                          .contents = std::move(sectors)});
  }

  /// The range takes space from now on. What it contains stays.
  void reserve(std::uint64_t offset, std::uint64_t bytes) {
    seen_.reserve(offset, bytes);
    unwritten_.push_back({.what = change::reservation, .call = call_, .offset = offset, .bytes = bytes});
  }

  /// The range becomes zeros. Pages that it covers become holes or, if `reserves`, take space, as all others of the
  /// range do then. This repairs bad sectors.
  void make_zeros(std::uint64_t offset, std::uint64_t bytes, bool reserves) {
    if (bytes == 0) return;
    const std::uint64_t end = offset + bytes;
    const std::uint64_t first = sparse_bytes::page_behind(offset) * page, last = end / page * page;
    if (first > last) {
      write_zeros(offset, end);
    } else {
      write_zeros(offset, first);
      zero_pages(first, last, reserves);
      write_zeros(last, end);
    }
    if (reserves) return reserve(offset, bytes);
    seen_.release(offset, bytes);
    unwritten_.push_back({.what = change::release, .call = call_, .offset = offset, .bytes = bytes});
  }

  /// The range has the contents of a range of `source`, which may be the same file, but must not overlap. Both begin
  /// with a page. Holes stay holes.
  void clone(const simulated_contents& source, const extent& what, std::uint64_t to) {
    const std::uint64_t end = to + what.bytes, behind = sparse_bytes::page_behind(end) * page;
    const auto begin_of = [&](const extent& data) { return to + data.offset - what.offset; };
    std::set<std::uint64_t> bad;
    for (const std::uint64_t each : source.bad_)
      if (each * sector_ >= what.offset && each * sector_ < what.offset + what.bytes)
        bad.insert(each + to / sector_ - what.offset / sector_);
    std::uint64_t hole = to;
    for (const extent& each : source.data_in(what)) {
      make_zeros(hole, begin_of(each) - hole, false);
      std::vector<std::byte> pages(static_cast<std::size_t>(each.bytes));
      source.seen_.read(each.offset, pages);
      seen_.write(begin_of(each), pages);
      hole = begin_of(each) + each.bytes;
      unwritten_.push_back({.what = change::data,
                            .call = call_,
                            .offset = begin_of(each),
                            .bytes = each.bytes,
                            .unit = page,
                            .contents = std::move(pages)});
    }
    make_zeros(hole, behind - hole, false);
    bad_.erase(bad_.lower_bound(to / sector_), bad_.lower_bound(behind / sector_));
    bad_.merge(bad);
    if (end > size_) change_size(end);
  }

  /// The first range of data, from an offset on.
  std::optional<extent> next_data(std::uint64_t from) const {
    const std::uint64_t first = seen_.data_from(from / page);
    if (from >= size_ || first == sparse_bytes::no_page || first * page >= size_) return std::nullopt;
    std::uint64_t behind = first + 1;
    while (seen_.has_data(behind)) ++behind;
    const std::uint64_t begin = (std::max)(from, first * page);
    return extent{begin, (std::min)(size_, behind * page) - begin};
  }

  void resize(std::uint64_t bytes) {
    if (bytes < size_) {
      zero_rest_of_page(bytes);
      seen_.cut(bytes);
      bad_.erase(bad_.lower_bound((bytes + sector_ - 1) / sector_), bad_.end());
    }
    change_size(bytes);
  }

  /// What programs see.
  void add_to(fingerprint& state) const {
    state.add(size_);
    seen_.add_to(state);
    for (const std::uint64_t each : bad_) state.add(each);
  }

  /// Makes durable what system calls up to this number have changed; everything by default.
  void sync(std::uint64_t last_call = ~std::uint64_t(0)) {
    auto each = unwritten_.begin();
    for (; each != unwritten_.end() && each->call <= last_call; ++each) apply(*each);
    unwritten_.erase(unwritten_.begin(), each);
  }

  /// Makes the sectors of a range durable, the untorn writes that reach into it, and as many of the changes of the size
  /// as the range needs; nothing else.
  void sync(std::uint64_t offset, std::size_t bytes) {
    std::uint64_t begin = offset / sector_ * sector_;
    std::uint64_t end = end_of_sector(offset + bytes);
    const auto reaches_out = [&](const change& each) {
      const bool untorn = each.what == change::data && each.unit == change::whole;
      return untorn && each.offset < end && begin < each.end() && (each.offset < begin || end < each.end());
    };
    std::uint64_t end_of_bytes = offset + bytes;
    for (auto each = unwritten_.begin(); (each = std::ranges::find_if(unwritten_, reaches_out)) != unwritten_.end();) {
      begin = (std::min)(begin, each->offset);
      end = (std::max)(end, each->end());
      end_of_bytes = (std::max)(end_of_bytes, each->end());
    }
    const std::size_t needed = changes_needed_for(end_of_bytes);
    // What is behind the size that becomes durable stays with the change that gives the file a larger one.
    std::uint64_t size = durable_size_;
    for (std::size_t each = 0; each != needed; ++each)
      if (unwritten_[each].what == change::resized) size = unwritten_[each].offset;
    end = (std::min)(end, size);
    // For each change, where those in front of it that stay will cut the file.
    std::vector<std::uint64_t> cut(unwritten_.size() + 1, ~std::uint64_t(0));
    for (std::size_t each = 0; each != unwritten_.size(); ++each) {
      const bool cuts = each >= needed && unwritten_[each].what == change::resized;
      cut[each + 1] = cuts ? (std::min)(cut[each], unwritten_[each].offset) : cut[each];
    }
    std::vector<change> rest;           // from the newest to the oldest
    std::vector<const change*> spaces;  // likewise: what is reserved and released
    std::uint64_t limit = ~std::uint64_t(0);
    for (auto each = unwritten_.rbegin(); each != unwritten_.rend(); ++each) {
      if (each->is_ordered() && static_cast<std::size_t>(unwritten_.rend() - each) > needed) {
        rest.push_back(*each);
        continue;
      }
      if (each->what == change::resized) limit = (std::min)(limit, each->offset);
      if (each->what == change::reservation || each->what == change::release) spaces.push_back(&*each);
      if (each->is_ordered()) continue;
      const auto keep = [&](change part) {
        if (part.what != change::hole || spaces.empty()) return rest.push_back(std::move(part));
        // The space of a hole may have been reserved since, and is from now on.
        for (std::uint64_t first = part.offset; first < part.end();) {
          const std::uint64_t behind = (std::min)(part.end(), first / page * page + page);
          part.with_part(first, behind, [&](change piece) {
            if (is_reserved_by(spaces, piece)) piece.what = change::zeros;
            rest.push_back(std::move(piece));
          });
          first = behind;
        }
      };
      // What was written behind the end of a file that was truncated later must not be applied after that.
      each->with_part(end, limit, keep);
      // Again, after such a cut.
      const std::uint64_t cut_at = cut[static_cast<std::size_t>(unwritten_.rend() - each) - 1];
      each->with_part((std::max)(begin, cut_at), (std::min)(end, limit), keep);
      each->with_part(0, (std::min)(begin, limit), keep);
    }
    for (std::size_t each = 0; each != unwritten_.size(); ++each) {
      if (!unwritten_[each].is_ordered())
        unwritten_[each].with_part(begin, end, [&](const change& part) { apply(part); });
      else if (each < needed)
        apply(unwritten_[each]);
    }
    unwritten_.assign(std::make_move_iterator(rest.rbegin()), std::make_move_iterator(rest.rend()));
  }

  /// Makes a random part durable, and forgets that the rest is not: the rest becomes durable only if it is written
  /// again.
  void fail_to_sync(chance& chance) {
    apply_any(chance, change::whole, change::whole);
    unwritten_.clear();
  }

  /// From now on, programs see what is durable and what may still become durable.
  void show_what_is_kept() {
    seen_ = durable_;
    size_ = durable_size_;
    for (const change& each : unwritten_) each.apply_to(seen_, size_);
  }

  /// Keeps what is durable, and a random part of the rest.
  void lose_power(chance& chance) {
    std::vector<std::uint64_t> ordered;  // the calls that made them
    for (const change& each : unwritten_)
      if (each.is_ordered()) ordered.push_back(each.call);
    const std::uint64_t kept = chance.surviving({.what = crash_choice::order, .calls = ordered}, ordered.size());
    const std::uint64_t end = size_after(kept);
    apply_any(chance, kept, end);
    QIO_CHECK(durable_size_ == end, "bug in qio: a crash of a simulated disk kept other changes than it chose");
    unwritten_.clear();
    seen_ = durable_;
    size_ = durable_size_;
  }

 private:
  static constexpr std::uint64_t page = sparse_bytes::page_bytes;

  struct change {
    enum kind : std::uint8_t { data, zeros, hole, reservation, release, resized };
    static constexpr std::uint64_t whole = ~std::uint64_t(0);

    kind what;
    std::uint64_t call;                    // the number of the system call that made it
    std::uint64_t offset;                  // or the size
    std::uint64_t bytes = 0;               // of the range
    std::uint64_t unit = whole;            // aligned parts of this size are kept whole or not at all
    std::vector<std::byte> contents = {};  // whole sectors

    std::uint64_t end() const noexcept { return offset + bytes; }
    /// Kept in order with the others of that kind. The rest are kept in any order, and in part.
    bool is_ordered() const noexcept { return what >= reservation; }

    /// Calls `use(part)` with what it changes between two offsets, if that is anything.
    template <class Use>
    void with_part(std::uint64_t from, std::uint64_t to, Use&& use) const {
      from = (std::max)(from, offset);
      to = (std::min)(to, end());
      if (from >= to) return;
      change part{.what = what, .call = call, .offset = from, .bytes = to - from, .unit = unit};
      if (what == data) {
        const auto first = contents.begin() + static_cast<std::ptrdiff_t>(from - offset);
        part.contents.assign(first, first + static_cast<std::ptrdiff_t>(to - from));
      }
      use(std::move(part));
    }

    void apply_to(sparse_bytes& bytes_of_file, std::uint64_t& size_of_file) const {
      switch (what) {
        case data: return bytes_of_file.write(offset, contents);
        case zeros: return bytes_of_file.zero(offset, bytes);
        case hole: return bytes_of_file.discard(offset, bytes);
        case reservation: return bytes_of_file.reserve(offset, bytes);
        case release: return bytes_of_file.release(offset, bytes);
        case resized:
          if (offset < size_of_file) bytes_of_file.cut(offset);
          size_of_file = offset;
      }
    }
  };

  // Whether the newest of `spaces` that has to do with a part of a page reserves it.
  static bool is_reserved_by(const std::vector<const change*>& spaces, const change& part) {
    const auto newest = std::ranges::find_if(spaces, [&](const change* each) {
      // A page is released only as a whole.
      const std::uint64_t begin = part.offset / page * page, end = begin + page;
      return each->what == change::release ? each->offset <= begin && end <= each->end()
                                           : each->offset < end && begin < each->end();
    });
    return newest != spaces.end() && (*newest)->what == change::reservation;
  }

  std::uint64_t end_of_sector(std::uint64_t offset) const noexcept {
    return (offset + sector_ - 1) / sector_ * sector_;
  }

  void change_size(std::uint64_t bytes) {
    unwritten_.push_back({.what = change::resized, .call = call_, .offset = bytes});
    size_ = bytes;
  }

  void apply(const change& what) { what.apply_to(durable_, durable_size_); }

  // After that many changes, the file has `bytes` bytes, however many of the later ones are kept.
  std::size_t changes_needed_for(std::uint64_t bytes) const {
    std::size_t needed = 0;
    bool is_shorter = durable_size_ < bytes;
    for (std::size_t each = 0; each != unwritten_.size(); ++each) {
      if (unwritten_[each].what != change::resized) continue;
      if (is_shorter) needed = each + 1;
      is_shorter = unwritten_[each].offset < bytes;
    }
    return needed;
  }

  // The size after some of the ordered changes.
  std::uint64_t size_after(std::uint64_t changes) const {
    std::uint64_t size = durable_size_;
    for (auto each = unwritten_.begin(); changes != 0; ++each) {
      if (each->is_ordered()) --changes;
      if (each->what == change::resized) size = each->offset;
    }
    return size;
  }

  // A part of one page, up to the end. A hole stays one.
  void write_zeros(std::uint64_t begin, std::uint64_t end) {
    end = (std::min)(end, size_);
    if (begin >= end || !may_have_data(begin / page)) return;
    const std::array<std::byte, page> zeros{};
    write(begin, std::span(zeros).first(static_cast<std::size_t>(end - begin)));
  }

  // As on ext4 and XFS, which write the zeros behind a new end before the size: they may survive although the old size
  // does, too.
  void zero_rest_of_page(std::uint64_t from) {
    if (from % page == 0 || !seen_.has_data(from / page)) return;
    const std::uint64_t begin = from / sector_ * sector_;
    const std::uint64_t end = end_of_sector((std::min)(size_, (from / page + 1) * page));
    std::vector<std::byte> sectors(static_cast<std::size_t>(end - begin));
    seen_.read(begin, std::span(sectors).first(static_cast<std::size_t>(from - begin)));
    unwritten_.push_back({.what = change::data,
                          .call = call_,
                          .offset = begin,
                          .bytes = end - begin,
                          .unit = sector_,
                          .contents = std::move(sectors)});
  }

  // Those that have data, or may have after a crash.
  void zero_pages(std::uint64_t begin, std::uint64_t end, bool reserves) {
    const auto next = [&](std::uint64_t from) { return (std::min)(seen_.data_from(from), durable_.data_from(from)); };
    for (std::uint64_t first = next(begin / page); first < end / page;) {
      std::uint64_t behind = first + 1;
      while (behind < end / page && may_have_data(behind)) ++behind;
      unwritten_.push_back({.what = reserves ? change::zeros : change::hole,
                            .call = call_,
                            .offset = first * page,
                            .bytes = (behind - first) * page,
                            .unit = page});
      unwritten_.back().apply_to(seen_, size_);
      first = next(behind);
    }
    if (begin < end) bad_.erase(bad_.lower_bound(end_of_sector(begin) / sector_), bad_.lower_bound(end / sector_));
  }
  bool may_have_data(std::uint64_t page_number) const {
    return seen_.has_data(page_number) || durable_.has_data(page_number);
  }

  // The pages of a range that have data, as ranges.
  std::vector<extent> data_in(const extent& what) const {
    const std::uint64_t end = sparse_bytes::page_behind(what.offset + what.bytes);
    std::vector<extent> found;
    for (std::uint64_t first = seen_.data_from(what.offset / page); first < end;) {
      std::uint64_t behind = first + 1;
      while (behind < end && seen_.has_data(behind)) ++behind;
      found.push_back({first * page, (behind - first) * page});
      first = seen_.data_from(behind);
    }
    return found;
  }

  // Makes changes durable, in their order: the first ones of those that are ordered, and of the others any of their
  // units before the end. A page that was reserved there stays reserved, also if it was written. What a unit would not
  // change is no choice.
  void apply_any(chance& chance, std::uint64_t ordered, std::uint64_t end_of_file) {
    const std::uint64_t end_of_pages =
        end_of_file == change::whole ? change::whole : sparse_bytes::page_behind(end_of_file) * page;
    for (const change& each : unwritten_) {
      if (each.is_ordered()) {
        if (ordered != 0) apply(each), --ordered;
        continue;
      }
      const std::uint64_t end = (std::min)(each.end(), each.what == change::data ? end_of_file : end_of_pages);
      for (std::uint64_t at = each.offset; at < end;) {
        const std::uint64_t next =
            (std::min)(end, each.unit == change::whole ? each.end() : (at / each.unit + 1) * each.unit);
        each.with_part(at, next, [&](const change& unit) {
          const crash_choice choice{crash_choice::part, std::span(&each.call, 1), at, next - at};
          if (unit.what == change::data && durable_.contains(at, unit.contents)) return;
          if (chance.survives(choice)) apply(unit);
        });
        at = next;
      }
    }
  }

  std::uint64_t sector_;
  std::uint64_t number_;
  std::uint64_t call_ = 0;  // the present one
  std::chrono::nanoseconds modified_{};
  sparse_bytes seen_;
  sparse_bytes durable_;
  std::uint64_t size_ = 0;
  std::uint64_t durable_size_ = 0;
  std::vector<change> unwritten_;  // in the order of the changes
  std::set<std::uint64_t> bad_;    // numbers of bad sectors
};

}  // namespace detail
QIO_END_NAMESPACE
