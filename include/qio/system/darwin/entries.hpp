// SPDX-License-Identifier: BSL-1.0
// Reading directories by getattrlistbulk(2).
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/entries.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/attr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Reads the entries of a directory in batches, into memory that it allocates once.
class entry_list {
 public:
  /// How many bytes of entries the kernel returns at most per call, and how many entries these can be: each has its
  /// length, what it has, and where its name is.
  static constexpr std::size_t kernel_bytes = 32768,
                               smallest = sizeof(std::uint32_t) + sizeof(attribute_set_t) + sizeof(attrreference_t),
                               most = kernel_bytes / smallest;

  entry_list() : memory_(new std::byte[kernel_bytes + most * sizeof(qio::directory_entry)]) {}

  /// The next entries, without "." and ".."; none at the end. Valid until the next call.
  result<std::span<const qio::directory_entry>> next(native_handle directory) noexcept {
    struct attrlist wanted {};
    wanted.bitmapcount = ATTR_BIT_MAP_COUNT;
    wanted.commonattr = ATTR_CMN_RETURNED_ATTRS | ATTR_CMN_NAME | ATTR_CMN_ERROR | ATTR_CMN_OBJTYPE | ATTR_CMN_FILEID;
    int count;
    do count = ::getattrlistbulk(directory, &wanted, memory_.get(), kernel_bytes, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno != ENOENT) return last_error();
    if (count <= 0) return std::span<const qio::directory_entry>();  // ENOENT: the directory has been removed
    if (!take(static_cast<std::size_t>(count))) return system_error(EIO);
    return std::span<const qio::directory_entry>(first(), static_cast<std::size_t>(count));
  }

  /// The next batch is the first again, of the directory as it is by then.
  static result<void> rewind(native_handle directory) noexcept {
    if (::lseek(directory, 0, SEEK_SET) < 0) return last_error();
    return success();
  }

 private:
  /// The attributes of one entry, in the order in which the kernel stores those that it has (getattrlist(2)).
  class stored {
   public:
    stored(const std::byte* begin, std::size_t bytes) noexcept : at_(begin), end_(begin + bytes) {}

    /// Zero if there is none left.
    template <class Value>
    Value take() noexcept {
      Value value{};
      if (static_cast<std::size_t>(end_ - at_) < sizeof value) return value;
      std::memcpy(&value, at_, sizeof value);
      at_ += sizeof value;
      return value;
    }
    /// The text that the reference which comes next leads to, with a null character behind; empty if that is elsewhere.
    std::string_view take_text() noexcept {
      const std::byte* const from = at_;
      const auto where = take<attrreference_t>();
      const auto offset = static_cast<std::size_t>(where.attr_dataoffset);
      const auto left = static_cast<std::size_t>(end_ - from);
      if (where.attr_dataoffset < 0 || where.attr_length == 0 || offset > left || where.attr_length > left - offset)
        return {};
      const char* const text = reinterpret_cast<const char*>(from) + offset;
      return {text, ::strnlen(text, where.attr_length - 1)};
    }

   private:
    const std::byte* at_;
    const std::byte* end_;
  };

  qio::directory_entry* first() noexcept {
    return reinterpret_cast<qio::directory_entry*>(memory_.get() + kernel_bytes);
  }

  static file_type type_of(fsobj_type_t type) noexcept {
    switch (type) {  // enum vtype of sys/vnode.h, which headers for cross-compiling lack
      case 1: return file_type::regular;
      case 2: return file_type::directory;
      case 3: return file_type::block_device;
      case 4: return file_type::character_device;
      case 5: return file_type::symbolic_link;
      case 6: return file_type::socket;
      case 7: return file_type::pipe;
      default: return file_type::unknown;
    }
  }

  // False if a name is none.
  bool take(std::size_t count) noexcept {
    static_assert(kernel_bytes % alignof(qio::directory_entry) == 0);
    const std::byte* at = memory_.get();
    for (std::size_t i = 0; i < count; ++i) {
      const auto left = static_cast<std::size_t>(memory_.get() + kernel_bytes - at);
      const auto bytes = left < smallest ? std::uint32_t(0) : stored(at, left).template take<std::uint32_t>();
      if (i == most || bytes < smallest || bytes > left) return false;
      stored entry(at, bytes);
      at += bytes;
      entry.template take<std::uint32_t>();
      const auto has = entry.template take<attribute_set_t>();
      if ((has.commonattr & ATTR_CMN_ERROR) != 0) entry.template take<std::uint32_t>();
      const std::string_view name = (has.commonattr & ATTR_CMN_NAME) != 0 ? entry.take_text() : std::string_view();
      if (name.empty() || name.find('/') != std::string_view::npos) return false;
      const auto type = (has.commonattr & ATTR_CMN_OBJTYPE) != 0 ? entry.template take<fsobj_type_t>() : fsobj_type_t{};
      const auto id = (has.commonattr & ATTR_CMN_FILEID) != 0 ? entry.template take<std::uint64_t>() : 0u;
      new (first() + i) qio::directory_entry{name, type_of(type), id};
    }
    return true;
  }

  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace platform
QIO_END_NAMESPACE
