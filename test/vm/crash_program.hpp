// Random small programs that change files and names, and make some of that durable. A seed determines a program, which
// is the same on a real file system and on a simulated disk.
#pragma once

#include "../property/random.hpp"
#include <qio/log_writer.hpp>
#include <qio/names.hpp>
#include <qio/qio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace crash_program {

/// One operation. It is in flight from its beginning to its end; the program does nothing else meanwhile.
struct operation {
  enum kind : std::uint8_t {
    create,
    write,
    direct_write,
    sync,
    start_writeback,
    resize,
    rename,
    exchange,
    link,
    remove,
    replace,
    sync_directory,
    append_to_log,
    sync_elsewhere,  // of a file that is not the program's: the kernel may write anything at any time
  };
  kind what;
  std::string name, other = {};
  std::uint64_t offset = 0, bytes = 0;  // `bytes` is also the new size
  bool durable = false;                 // of a write, or of a change of names
  qio::sync_kind covers = qio::sync_kind::everything;
};

/// For people.
inline std::string text_of(const operation& what) {
  static constexpr const char* kinds[] = {
      "create",   "write", "direct write", "sync",    "start writeback of", "resize",        "rename",
      "exchange", "link",  "remove",       "replace", "sync directory",     "append to log", "sync elsewhere"};
  std::string text = std::string(kinds[what.what]) + ' ' + what.name;
  if (!what.other.empty()) text += " and " + what.other;
  if (what.bytes != 0) text += ", " + std::to_string(what.bytes) + " bytes at " + std::to_string(what.offset);
  return text + (what.durable ? ", durably" : "");
}

/// Every 8 bytes show that a program has written them, which operation of which program, and at which offset.
constexpr std::uint64_t mark_of_data = 0xda7a;
inline void fill(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t number, std::uint64_t offset) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::uint64_t place = offset + at;
    const std::uint64_t word =
        mark_of_data << 48 | (seed & 0xffff) << 32 | (number & 0xff) << 24 | (place / 8 & 0xffffff);
    bytes[at] = std::byte(word >> (8 * (place % 8)));
  }
}

class generator {
 public:
  static constexpr std::uint64_t block = 4096, largest = 12 * block;

  explicit generator(std::uint64_t seed) : random_(seed, 29) {}

  std::vector<operation> make() {
    const std::uint64_t count = 16 + random_.below(16);
    while (made_.size() < count) add();
    return std::move(made_);
  }

 private:
  using all_sizes = std::map<std::string, std::uint64_t>;  // of the files, by their names

  void add() {
    if (sizes_.size() < 2) return add_creation();
    const std::uint64_t drawn = random_.below(100);
    if (drawn < 7) return add_creation();
    if (drawn < 45) return add_write();
    if (drawn < 58)
      return add({operation::sync,
                  any(),
                  {},
                  0,
                  0,
                  false,
                  random_.one_of({qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything})});
    if (drawn < 65)
      return add({operation::start_writeback, any(), {}, random_.below(4) * block, (1 + random_.below(4)) * block});
    if (drawn < 72) {
      const std::string name = any();
      sizes_[name] = random_.below(largest);
      if (random_.one_in(4)) sizes_[name] = random_.below(3) * block;
      return add({operation::resize, name, {}, 0, sizes_[name]});
    }
    if (drawn < 82) return add_change_of_names();
    if (drawn < 86) return add_replacement();
    if (drawn < 92) return add({operation::sync_directory, random_.one_in(3) ? "sub" : "."});
    if (drawn < 96) return add({operation::sync_elsewhere, {}});
    return add({operation::append_to_log, "log", {}, 0, 1 + random_.below(3000)});
  }
  void add(operation each) { made_.push_back(std::move(each)); }

  void add_creation() {
    const std::string name = any_new();
    if (sizes_.size() >= 6 || sizes_.contains(name)) return;
    sizes_[name] = 0;
    add({operation::create, name});
  }

  void add_write() {
    const std::string name = any();
    operation each{operation::write, name};
    std::uint64_t& size = sizes_[name];
    each.offset = random_.one_in(3) ? size : random_.below(size + 1);
    each.bytes = 1 + random_.below(random_.one_of({std::uint64_t(700), 3 * block, 3 * block, 10 * block}));
    if (random_.one_in(4)) {
      each.what = operation::direct_write;
      each.offset = each.offset / block * block;
      each.bytes = (each.bytes + block - 1) / block * block;
    } else if (random_.one_in(3)) {
      each.offset = each.offset / 512 * 512;
      each.bytes = (each.bytes + 511) / 512 * 512;
    }
    each.offset = (std::min)(each.offset, largest);
    each.durable = random_.one_in(5);
    size = (std::max)(size, each.offset + each.bytes);
    add(each);
  }

  void add_change_of_names() {
    const std::string name = any(), other = any_new();
    const bool exists = sizes_.contains(other);
    operation each{operation::remove, name, {}, 0, 0, random_.one_in(4)};
    const std::uint64_t drawn = random_.below(8);
    if (drawn == 0 && exists && name != other) {
      each.what = operation::exchange;
      each.other = other;
      std::swap(sizes_[name], sizes_[other]);
    } else if (drawn < 5 && name != other) {
      each.what = operation::rename;
      each.other = other;
      sizes_[other] = sizes_[name];
      sizes_.erase(name);
    } else if (drawn == 5 && !exists && sizes_.size() < 6) {
      each.what = operation::link;
      each.other = other;
      sizes_[other] = sizes_[name];
    } else {
      sizes_.erase(name);
    }
    add(each);
  }

  void add_replacement() {
    const std::string name = random_.one_in(2) ? any() : any_new();
    sizes_[name] = 1 + random_.below(2 * block);
    add({operation::replace, name, {}, 0, sizes_[name], random_.below(4) != 0});
  }

  std::string any() {
    auto found = sizes_.begin();
    std::advance(found, static_cast<std::ptrdiff_t>(random_.below(sizes_.size())));
    return found->first;
  }
  std::string any_new() {
    return (random_.one_in(4) ? "sub/" : "") + std::string(1, static_cast<char>('a' + random_.below(6)));
  }

  property::random_numbers random_;
  all_sizes sizes_;
  std::vector<operation> made_;
};

inline std::vector<operation> program_of(std::uint64_t seed) { return generator(seed).make(); }

/// Runs operations in the present directory, or on the disk of the context.
template <class Engine>
class player {
 public:
  player(qio::basic_context<Engine>& context, std::uint64_t seed) : context_(context), seed_(seed) {}

  /// `number` is the place of the operation in the program.
  qio::result<void> run(const operation& each, std::uint64_t number) {
    const auto how = qio::name_options{.beneath = nullptr, .durable = each.durable};
    switch (each.what) {
      case operation::create: return without_value(open<qio::cached>(each.name, qio::creation::only_if_missing));
      case operation::write: return write<qio::cached>(each, number);
      case operation::direct_write: return write<qio::direct>(each, number);
      case operation::sync: return with_file(each, [&](auto& file) { return file.sync(each.covers); });
      case operation::start_writeback:
        return with_file(each, [&](auto& file) { return file.start_writeback(each.offset, each.bytes); });
      case operation::resize: return with_file(each, [&](auto& file) { return file.resize(each.bytes); });
      case operation::rename:
        return context_.run(qio::async_rename(context_, each.name, each.other, qio::if_exists::replace, how));
      case operation::exchange:
        return context_.run(qio::async_rename(context_, each.name, each.other, qio::if_exists::exchange, how));
      case operation::link: return context_.run(qio::async_link(context_, each.name, each.other, how));
      case operation::remove: return without_value(context_.run(qio::async_remove(context_, each.name, how)));
      case operation::replace: {
        const auto memory = memory_of(each, number);
        const auto contents = written(memory, each);
        return context_.run(qio::async_replace_file(context_, each.name, contents, {.durable = each.durable}));
      }
      case operation::sync_directory: return context_.run(qio::async_sync_directory(context_, each.name));
      case operation::append_to_log: return context_.run(append(each, number));
      case operation::sync_elsewhere: break;
    }
    return qio::success();
  }

 private:
  template <class Value>
  static qio::result<void> without_value(const qio::result<Value>& of) {
    return of ? qio::result<void>(qio::success()) : qio::result<void>(of.error());
  }

  template <class Mode>
  auto open(const std::string& name, qio::creation how = qio::creation::open_existing) {
    return qio::basic_file<Mode>::open(context_, name, qio::access::read_write, how);
  }
  template <class Action>
  qio::result<void> with_file(const operation& each, Action&& action) {
    auto file = open<qio::cached>(each.name);
    if (!file) return file.error();
    return action(file.value());
  }

  // At least as much as the operation writes.
  qio::aligned_buffer memory_of(const operation& each, std::uint64_t number) const {
    auto memory = qio::aligned_buffer::allocate(static_cast<std::size_t>(each.bytes)).value();
    fill(memory, seed_, number, each.offset);
    return memory;
  }
  static std::span<const std::byte> written(const qio::aligned_buffer& memory, const operation& each) {
    return std::span<const std::byte>(memory).first(static_cast<std::size_t>(each.bytes));
  }

  template <class Mode>
  qio::result<void> write(const operation& each, std::uint64_t number) {
    const auto memory = memory_of(each, number);
    auto file = open<Mode>(each.name);
    if constexpr (std::is_same_v<Mode, qio::direct>)
      if (!file && file.error() == qio::errc::direct_not_supported) return write<qio::cached>(each, number);
    if (!file) return file.error();
    return without_value(file.value().write_at(each.offset, written(memory, each), {.durable = each.durable}));
  }

  qio::task<qio::result<void>> append(const operation& each, std::uint64_t number) {
    const auto memory = memory_of(each, number);
    auto file = open<qio::cached>(each.name, qio::creation::if_needed);
    if (!file) co_return file.error();
    auto log = co_await qio::open_log(std::move(file).value(), [](const qio::log_record&) { return true; },
                                      {.extent = 131072, .largest_batch = 8192, .id = seed_ + 1});
    if (!log) co_return log.error();
    const auto appended = co_await log.value().append(written(memory, each));
    if (!appended) co_return appended.error();
    co_return qio::success();
  }

  qio::basic_context<Engine>& context_;
  std::uint64_t seed_;
};

}  // namespace crash_program
