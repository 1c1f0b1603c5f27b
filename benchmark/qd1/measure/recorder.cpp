// SPDX-License-Identifier: BSL-1.0
#include "measure/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

constexpr double slice_seconds = 0.1;

}  // namespace

recorder::recorder(const clock& clock, const work& work, limits most, pace* schedule)
    : clock_(clock),
      work_(work),
      most_samples_(most.samples),
      first_(clock.after()),
      last_(first_),
      deadline_(first_ + clock.ticks(most.seconds)),
      overtime_(deadline_ + clock.ticks(most.overtime)),
      own_(clock, work, 1),
      schedule_(schedule != nullptr ? *schedule : own_),
      slice_begin_(first_),
      slice_ticks_(clock.ticks(slice_seconds)),
      slice_end_(first_ + slice_ticks_) {
  schedule_.resume(first_);
  slices_.reserve(static_cast<std::size_t>(most.seconds / slice_seconds) + 1);
}

slice recorder::closed(const open_slice& open, std::uint64_t end) const {
  const auto operations = static_cast<double>(open.operations);
  return {clock_.seconds(slice_begin_ - first_), clock_.seconds(end - slice_begin_), open.operations,
          open.operations == 0 ? 0 : static_cast<double>(open.sum) / 1000 / operations,
          static_cast<double>(open.maximum) / 1000};
}

// A transfer that took longer than a slice leaves empty ones behind.
void recorder::close_slice() {
  while (last_ >= slice_end_) {
    slices_.push_back(closed(slice_, slice_end_));
    slice_ = {};
    slice_begin_ = slice_end_;
    slice_end_ += slice_ticks_;
  }
}

void recorder::fail(std::uint64_t offset, const qio::result<std::size_t>& answer) {
  std::string what;
  if (!answer)
    what = answer.error().message();
  else if (answer.value() != work_.block)
    what = fmt::format("{} of {} bytes were transferred", answer.value(), work_.block);
  else
    what = fmt::format("the offset is not a multiple of the block, {}", work_.block);
  failure_ = fmt::format("transfer {} (at offset {}) failed: {}", histogram_.samples() + 1, offset, what);
}

// What is left at the end belongs to the slice before it, if it is short: of the little that is in it, one pause would
// be the mean.
std::vector<slice> recorder::slices() const {
  std::vector<slice> all = slices_;
  if (slice_.operations == 0) return all;
  const slice rest = closed(slice_, last_);
  if (all.empty() || rest.seconds >= slice_seconds / 2) {
    all.push_back(rest);
    return all;
  }
  slice& into = all.back();
  const auto before = static_cast<double>(into.operations);
  const auto added = static_cast<double>(rest.operations);
  into.mean = (into.mean * before + rest.mean * added) / (before + added);
  into.max = std::max(into.max, rest.max);
  into.operations += rest.operations;
  into.seconds += rest.seconds;
  return all;
}

}  // namespace qd1
