// The records that a log must have, and those that it may have.
#pragma once

#include "model.hpp"
#include "random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace property {

/// Records are in the log in the order of their appends. Each begins with its identity, its place in that order.
class log_model {
 public:
  /// A new record, which is appended next.
  std::vector<std::byte> next(std::size_t length) {
    const std::uint64_t id = records_.size();
    std::vector<std::byte> made(length);
    random_numbers(id, length).fill(made);
    std::memcpy(made.data(), &id, sizeof id);
    records_.push_back({made});
    return made;
  }

  /// The append of this record has succeeded.
  void acknowledge(std::span<const std::byte> bytes, std::uint64_t number) {
    const std::uint64_t id = id_of(bytes);
    record& one = records_[id];
    require(one.fate == fate::unknown, text(id) + " was completed twice");
    require(number > last_acknowledged_,
            text(id) + " got number " + std::to_string(number) + " after " + std::to_string(last_acknowledged_));
    last_acknowledged_ = one.number = number;
    one.fate = fate::acknowledged;
    ++acknowledged_;
  }

  /// Some of the records may be dropped: `eighths` of those that are durable. Returns the first one that must stay.
  std::uint64_t trim(std::uint64_t eighths) {
    kept_ += (last_acknowledged_ + 1 - kept_) * eighths / 8;
    return kept_;
  }
  /// A trim has succeeded: the log begins with this record.
  void drop(std::uint64_t first) { dropped_ = std::max(dropped_, first); }

  /// The log was read, and had this record next. `is_durable`: no later reading may find something else.
  void find(std::uint64_t number, std::span<const std::byte> bytes, bool is_durable) {
    const bool is_first = found_ == 0;
    if (is_first && number <= kept_) found_ = number - 1;
    ++found_;
    require(number == found_, "record " + std::to_string(number) + " was found as number " + std::to_string(found_));
    require(number >= dropped_, "record " + std::to_string(number) + " was dropped, and is there again");
    require(bytes.size() >= sizeof number, "a record of " + std::to_string(bytes.size()) + " bytes was never appended");
    const std::uint64_t id = id_of(bytes);
    require(id < records_.size(), "a record was found that was never appended");
    record& one = records_[id];
    require(bytes.size() == one.bytes.size() && are_equal(bytes, one.bytes), text(id) + " is not whole");
    require(id >= next_id_, text(id) + " is behind one that was appended later");
    // What is in front of the first may have been dropped by a trim that has failed, and come back.
    for (; next_id_ != id; ++next_id_) miss(next_id_, is_durable && !(is_first && number != 1));
    ++next_id_;
    require(one.fate != fate::absent, text(id) + " was not in the log before, and is now");
    require(one.fate != fate::acknowledged || one.number == number,
            text(id) + ", which has number " + std::to_string(one.number) + ", was found as " + std::to_string(number));
    if (!is_durable) return;
    if (one.fate == fate::unknown) ++found_unacknowledged_;
    one.number = number;
    one.fate = fate::acknowledged;
  }

  /// The log was read to its end.
  void end(bool is_durable) {
    for (; next_id_ != records_.size(); ++next_id_) miss(next_id_, is_durable && (found_ != 0 || kept_ == 1));
    if (is_durable) last_acknowledged_ = std::max(found_, kept_ - 1);
    found_ = next_id_ = 0;
  }

  /// Reading has failed; what was found so far is there.
  void give_up() { found_ = next_id_ = 0; }

  std::uint64_t appended() const { return records_.size(); }
  std::uint64_t acknowledged() const { return acknowledged_; }
  /// Records that were found although their append had failed or was destroyed.
  std::uint64_t found_unacknowledged() const { return found_unacknowledged_; }

 private:
  enum class fate : std::uint8_t { unknown, acknowledged, absent };
  struct record {
    std::vector<std::byte> bytes;
    std::uint64_t number = 0;
    log_model::fate fate = fate::unknown;
  };

  static std::uint64_t id_of(std::span<const std::byte> bytes) {
    std::uint64_t id = 0;
    std::memcpy(&id, bytes.data(), sizeof id);
    return id;
  }
  static std::string text(std::uint64_t id) {
    return "the record that was appended as number " + std::to_string(id + 1);
  }

  void miss(std::uint64_t id, bool is_durable) {
    record& one = records_[id];
    const bool is_kept = one.fate == fate::acknowledged && one.number >= kept_;
    require(!is_kept, text(id) + " and acknowledged as record " + std::to_string(one.number) +
                          " is not in the log where it belongs");
    if (is_durable) one.fate = fate::absent;
  }

  std::vector<record> records_;
  std::uint64_t kept_ = 1;     // records in front of this one may have been dropped
  std::uint64_t dropped_ = 1;  // ... and those in front of this one have been
  std::uint64_t last_acknowledged_ = 0, found_ = 0, next_id_ = 0;
  std::uint64_t acknowledged_ = 0, found_unacknowledged_ = 0;
};

}  // namespace property
