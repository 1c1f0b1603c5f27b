// SPDX-License-Identifier: BSL-1.0
#include "measure/data_file.hpp"

#include "failure.hpp"
#include "measure/interruption.hpp"
#include "measure/offsets.hpp"
#include "measure/progress.hpp"
#include "platform/process.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

namespace qd1 {
namespace {

constexpr std::uint64_t default_bytes = std::uint64_t(1) << 30;
constexpr std::size_t chunk_bytes = std::size_t(1) << 20;

template <class T>
T checked(const std::string& path, qio::result<T>&& answer) {
  if (!answer) throw usage_error(fmt::format("{}: {}", path, answer.error().message()));
  return std::move(answer).value();
}

void require(const std::string& path, qio::result<void>&& answer) {
  if (!answer) throw usage_error(fmt::format("{}: {}", path, answer.error().message()));
}

void fill_with_random(std::span<std::byte> memory, splitmix64& random) {
  for (std::size_t at = 0; at < memory.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t number = random();
    std::memcpy(memory.data() + at, &number, sizeof number);
  }
}

void require_whole_blocks(std::uint64_t bytes, std::uint64_t block) {
  if (bytes >= block && bytes % block == 0) return;
  throw usage_error(fmt::format("--file-size: {} is not a multiple of the block, {}; the next one is {}", bytes, block,
                                (bytes / block + 1) * block));
}

void require_space(const std::string& directory, std::uint64_t bytes) {
  const std::uint64_t left = platform::free_bytes(directory);
  if (left >= bytes) return;
  throw usage_error(fmt::format("{}: {} bytes are needed for the file, {} are free; choose a smaller --file-size",
                                directory, grouped(bytes), grouped(left)));
}

}  // namespace

data_file::data_file(const data_file_request& request) : name_(request.path) {
  if (request.bytes) require_whole_blocks(*request.bytes, request.block);
  const std::string place = name_.empty() ? "." : name_;
  if (platform::kind_of(place) == platform::file_kind::missing) {
    use_new(request);
    return;
  }
  hold(place);
  switch (platform::kind_of(path_)) {
    case platform::file_kind::directory: use_temporary(place, request); break;
    case platform::file_kind::regular: use_regular(request); break;
    case platform::file_kind::block_device: use_device(request); break;
    case platform::file_kind::missing:
    case platform::file_kind::other: throw usage_error(name_ + ": neither a file nor a directory nor a block device");
  }
}

data_file::~data_file() {
  if (origin_ != origin::own || is_temporary()) return;
  try {
    platform::mark_as_made_by_qd1(path_);
  } catch (const usage_error&) {
    // Without the mark the file is used again only with --overwrite.
  }
}

void data_file::hold(const std::string& path) {
  held_ = std::make_unique<platform::held_file>(path);
  path_ = held_->path();
}

void data_file::use_temporary(const std::string& directory, const data_file_request& request) {
  bytes_ = request.bytes.value_or(default_bytes);
  require_space(directory, bytes_);
  temporary_ = std::make_unique<platform::temporary_file>(directory);
  path_ = temporary_->path();
  fill(request);
}

void data_file::use_new(const data_file_request& request) {
  bytes_ = request.bytes.value_or(default_bytes);
  const std::string directory = std::filesystem::path(name_).parent_path().string();
  require_space(directory.empty() ? "." : directory, bytes_);
  {
    const qio::cached_file made = platform::create_file(name_);
    // The name may be another file's by now.
    hold(name_);
    if (!platform::is_same_file(made.native_handle(), path_))
      throw usage_error(name_ + ": somebody has put another file there meanwhile");
  }
  origin_ = origin::own;
  fill(request);
}

void data_file::use_regular(const data_file_request& request) {
  const std::uint64_t size = std::filesystem::file_size(path_);
  const bool unfinished = platform::is_unfinished(path_);
  if (unfinished && !request.overwrite)
    throw usage_error(name_ +
                      ": qd1 was killed while it filled this file; remove it, or add --overwrite to have it filled");
  if (unfinished)
    origin_ = origin::unfinished;
  else if (platform::is_made_by_qd1(path_))
    origin_ = origin::own;
  if (origin_ == origin::foreign && !request.overwrite) {
    why_read_only_ = name_ + " exists and was not made by qd1; writing to it needs --overwrite";
    return use_what_is_there(request, size);
  }
  platform::require_no_link_of_others(name_, *held_);
  if (const std::string device = platform::device_over(path_); !device.empty())
    throw usage_error(
        fmt::format("{}: not overwritten: it is the file behind {}; detach that (losetup --detach)", name_, device));
  const bool own = origin_ == origin::own;
  if (const std::string why = own ? "" : platform::why_in_use(path_); !why.empty())
    throw usage_error(fmt::format("{}: not overwritten: {}", name_, why));
  bytes_ = request.bytes.value_or(own ? size : std::max(size / request.block * request.block, request.block));
  if (unfinished) bytes_ = request.bytes.value_or(default_bytes);
  if (!own || size != bytes_) fill(request);
}

void data_file::use_device(const data_file_request& request) {
  if (request.overwrite) {
    platform::require_no_link_of_others(name_, *held_);
    claim_ = std::make_unique<platform::device_claim>(*held_, name_);
  }
  const std::uint64_t size = checked(name_, checked(name_, qio::cached_file::open(path_)).size());
  if (!request.overwrite) why_read_only_ = name_ + " is a device; writing to it needs --overwrite";
  use_what_is_there(request, size);
  if (request.overwrite) fill(request);
}

void data_file::use_what_is_there(const data_file_request& request, std::uint64_t size) {
  const std::uint64_t most = size / request.block * request.block;
  bytes_ =
      request.bytes.value_or(std::min(most, std::max(default_bytes / request.block, std::uint64_t(1)) * request.block));
  if (most == 0 || bytes_ > most)
    throw usage_error(fmt::format("{}: has {} bytes; {} are needed; name a larger file or device", name_, size,
                                  std::max(bytes_, request.block)));
}

// What was made, and is complete, is marked at once: the next run uses it again even if this one is killed. A part of a
// file is no file to measure on, so it is removed, also if qd1 had made the file earlier: nobody has changed it since.
// An unfinished file from an earlier run is known by its mark only, so it stays.
void data_file::fill(const data_file_request& request) {
  if (origin_ == origin::foreign) return write_data(request);
  platform::mark_as_unfinished(path_, bytes_);
  try {
    write_data(request);
  } catch (...) {
    if (origin_ == origin::own && !is_temporary()) platform::remove_file(name_, std::move(held_));
    throw;
  }
  platform::mark_as_made_by_qd1(path_);
  origin_ = origin::own;
}

// Real data in written extents: neither holes, which are read without the device, nor what compresses.
void data_file::write_data(const data_file_request& request) {
  auto file = checked(name_, qio::cached_file::open(path_, qio::access::read_write));
  auto chunk = checked(name_, qio::aligned_buffer::allocate(chunk_bytes));
  splitmix64 random(request.seed);
  const std::uint64_t began = platform::monotonic_ns();
  if (origin_ != origin::foreign) require(name_, file.resize(0));  // a longer one of an earlier run
  for (std::uint64_t at = 0; at < bytes_; at += chunk_bytes) {
    if (interrupted())
      throw interruption(fmt::format("{}: interrupted when {} of {} were filled{}", name_.empty() ? "." : name_,
                                     size_text(at), size_text(bytes_),
                                     origin_ == origin::own ? "; the file was removed" : ""));
    progress::show(progress::part_text(fmt::format("writing {} of data", size_text(bytes_)), at, bytes_,
                                       static_cast<double>(platform::monotonic_ns() - began) * 1e-9));
    const auto part = chunk.view(0, static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, bytes_ - at)));
    fill_with_random(chunk.view(0, chunk_bytes), random);
    checked(name_, file.write_at(at, part));
  }
  require(name_, file.sync());
  platform::drop_cached_pages(path_);
}

}  // namespace qd1
