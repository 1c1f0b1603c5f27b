// Whether a power cut may leave a certain state of a simulated disk. The disk itself answers: it is restarted again and
// again, with other parts of the changes lost each time.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/simulated.hpp>
#include <qio/simulation/chance.hpp>
#include <qio/simulation/disk.hpp>
#include <qio/simulation/sparse_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

/// The states that a power cut may leave of a disk as it is now.
///
/// A state is the names, and the contents of each file. Sectors are lost independently of each other, so it is enough
/// to know the contents that each sector may have for each size of the file. To find them, the disk is restarted with
/// one part of the changes of each sector kept at a time, and with all of its parts up to one.
class crash_states {
 public:
  using files = std::map<std::string, std::vector<std::byte>>;

  explicit crash_states(const simulated_disk& crashed) : crashed_(crashed.options_), sector_(crashed.options_.sector) {
    crashed_.copy_state(crashed);
    std::uint64_t most = 0;
    for (std::uint64_t kept = 0; kept <= most; ++kept) {
      aimed choices(sector_, kept, 0, nothing, false);
      simulated_disk disk(crashed_.options_);
      restart(disk, choices);
      most = choices.most_names();
      names_.push_back(numbers_in(disk));
    }
  }

  /// A disk that the program has used up to the moment at which the power failed: a write that was in flight then has
  /// reached it, and any sector of it may still be lost.
  template <class Program>
  static std::unique_ptr<crash_states> after(simulated_disk& disk, std::uint64_t calls, Program&& program) {
    aimed choices(disk.options_.sector, 0, 0, nothing, false);
    disk.chance_.supply(&choices);
    disk.cut_power_after(calls);
    program();
    disk.chance_.supply(nullptr);
    return std::make_unique<crash_states>(disk);
  }

  /// How the state that is the most similar differs from what was found; nothing if they are the same. Temporary names
  /// (.qio-...) are ignored.
  std::string difference(const files& found) {
    std::string best = "no such names: " + text_of(found) + "; allowed are:";
    std::size_t fewest = ~std::size_t(0);
    std::set<std::string> alternatives;
    for (std::size_t kept = 0; kept != names_.size(); ++kept) {
      if (!has_names(names_[kept], found)) {
        if (fewest == ~std::size_t(0) && alternatives.insert(text_of(names_[kept])).second)
          best += ' ' + text_of(names_[kept]);
        continue;
      }
      std::size_t differences = 0;
      std::string text;
      std::map<std::uint64_t, const std::vector<std::byte>*> contents;
      for (const auto& [name, number] : names_[kept]) {
        if (is_temporary(name)) continue;
        const auto& bytes = found.at(name);
        std::string of_file = difference(number, kept, bytes);
        if (of_file.empty() && *contents.emplace(number, &bytes).first->second != bytes)
          of_file = "not the contents of another name of this file";
        if (of_file.empty()) continue;
        ++differences;
        text += (text.empty() ? "" : "; ") + name + ": " + of_file;
      }
      if (differences == 0) return {};
      if (differences < fewest) {
        fewest = differences;
        best = text;
      }
    }
    return best;
  }

  /// Whether the state is allowed if changes of the names of each file are kept in their order, but not those of
  /// different files: as by a file system that makes the names of a file durable when it is synced, and no others.
  bool allows_with_names_in_any_order(const files& found) {
    std::set<std::string> lasting;
    for (const auto& [name, bytes] : found)
      if (!is_temporary(name)) lasting.insert(name);
    return has_names_of_each_file(found, std::move(lasting));
  }

  /// Whether the state is allowed but for the contents of files.
  bool allows_with_other_contents(const files& found) {
    are_contents_compared_ = false;
    const bool allows = difference(found).empty();
    are_contents_compared_ = true;
    return allows;
  }

 private:
  using numbers = std::map<std::string, std::uint64_t>;
  using fingerprints = std::set<fingerprint>;
  static constexpr std::uint64_t nothing = ~std::uint64_t(0);

  // Whether each file has the names that it has had at some time, and allowed contents, and `left` are no others.
  bool has_names_of_each_file(const files& found, std::set<std::string> left, std::uint64_t from = 0) {
    std::map<std::set<std::string>, std::size_t> alternatives;  // the names of the next file, and with how many changes
    std::uint64_t next = nothing;
    for (const numbers& each : names_)
      for (const auto& [name, number] : each)
        if (number >= from && !is_temporary(name)) next = (std::min)(next, number);
    if (next == nothing) return left.empty();
    for (std::size_t kept = 0; kept != names_.size(); ++kept) {
      std::set<std::string> names;
      for (const auto& [name, number] : names_[kept])
        if (number == next && !is_temporary(name)) names.insert(name);
      alternatives.emplace(std::move(names), kept);
    }
    return std::ranges::any_of(alternatives, [&](const auto& each) {
      const auto& [names, kept] = each;
      std::set<std::string> rest = left;
      for (const std::string& name : names)
        if (rest.erase(name) == 0 || !difference(next, kept, found.at(name)).empty()) return false;
      return has_names_of_each_file(found, std::move(rest), next + 1);
    });
  }

  /// What a file may be with one of its sizes.
  struct version {
    std::uint64_t size = 0;
    std::vector<fingerprints> sectors = {};
  };

  /// Keeps the first `names` changes of names, and the first `ordered` of the ordered changes of each file. The other
  /// changes are numbered within their sector: one of them is kept, or all up to it.
  class aimed final : public crash_choices {
   public:
    aimed(std::uint32_t sector, std::uint64_t names, std::uint64_t ordered, std::uint64_t place, bool with_earlier)
        : sector_(sector), names_(names), ordered_(ordered), place_(place), with_earlier_(with_earlier) {}

    std::uint64_t choose(const crash_choice& about, std::uint64_t most) override {
      switch (about.what) {
        case crash_choice::names: most_names_ = most; return (std::min)(names_, most);
        case crash_choice::order:
          most_ordered_ = (std::max)(most_ordered_, most);
          parts_.clear();
          return (std::min)(ordered_, most);
        case crash_choice::part: {
          if (about.bytes > sector_) throw std::logic_error("crash_states: only sectors may be lost by themselves");
          const std::uint64_t place = parts_[about.offset / sector_]++;
          most_parts_ = (std::max)(most_parts_, place + 1);
          return place == place_ || (with_earlier_ && place < place_) ? 1 : 0;
        }
        case crash_choice::in_flight: break;
      }
      return most;
    }
    bool sync_fails() override { return false; }

    std::uint64_t most_names() const noexcept { return most_names_; }
    std::uint64_t most_ordered() const noexcept { return most_ordered_; }
    std::uint64_t most_parts() const noexcept { return most_parts_; }

   private:
    std::uint32_t sector_;
    std::uint64_t names_, ordered_, place_;
    bool with_earlier_;
    std::uint64_t most_names_ = 0, most_ordered_ = 0, most_parts_ = 0;
    std::map<std::uint64_t, std::uint64_t> parts_;  // of each sector of the present file, so far
  };

  void restart(simulated_disk& disk, aimed& choices) const {
    disk.copy_state(crashed_);
    disk.chance_.supply(&choices);
    disk.restart();
    disk.chance_.supply(nullptr);
  }

  static numbers numbers_in(const simulated_disk& disk) {
    numbers all;
    for (const auto& [name, file] : disk.names_)
      if (file != nullptr) all.emplace(name, file->number());
    return all;
  }

  std::string difference(std::uint64_t number, std::size_t kept, std::span<const std::byte> found) {
    if (!versions_.contains(number)) find_versions(kept);
    std::set<std::uint64_t> sizes;
    std::string best;
    for (const version& each : versions_.at(number)) {
      sizes.insert(each.size);
      if (each.size != found.size()) continue;
      const std::uint64_t differs = are_contents_compared_ ? differing_sector(each, found) : nothing;
      if (differs == nothing) return {};
      best = "sector " + std::to_string(differs) + ", which begins with " +
             first_bytes_of(found.subspan(static_cast<std::size_t>(differs * sector_)));
    }
    if (!best.empty()) return best;
    best = "a size of " + std::to_string(found.size()) + " bytes; allowed are";
    for (const std::uint64_t each : sizes) best += ' ' + std::to_string(each);
    return best;
  }

  // With one number of changed names, for all files that have a name then.
  void find_versions(std::size_t kept) {
    std::map<std::uint64_t, std::vector<version>> all;
    std::uint64_t most_ordered = 0;
    for (std::uint64_t ordered = 0; ordered <= most_ordered; ++ordered) {
      std::map<std::uint64_t, version> with_size;
      std::uint64_t most_parts = 0;
      const auto add = [&](std::uint64_t place, bool with_earlier) {
        aimed choices(sector_, kept, ordered, place, with_earlier);
        simulated_disk disk(crashed_.options_);
        restart(disk, choices);
        most_ordered = (std::max)(most_ordered, choices.most_ordered());
        most_parts = (std::max)(most_parts, choices.most_parts());
        disk.for_each_file([&](const simulated_contents& file) { add_to(with_size[file.number()], file); });
      };
      add(nothing, false);
      for (std::uint64_t place = 0; place < most_parts; ++place) add(place, false);
      for (std::uint64_t place = 1; place < most_parts; ++place) add(place, true);
      for (auto& [number, each] : with_size) all[number].push_back(std::move(each));
    }
    versions_.merge(all);
  }

  void add_to(version& to, const simulated_contents& file) const {
    to.size = file.size();
    std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
    file.read(0, bytes);
    to.sectors.resize((bytes.size() + sector_ - 1) / sector_);
    for (std::size_t each = 0; each != to.sectors.size(); ++each)
      to.sectors[each].insert(fingerprint_of(part_of(bytes, each)));
  }

  std::uint64_t differing_sector(const version& allowed, std::span<const std::byte> found) const {
    for (std::size_t each = 0; each != allowed.sectors.size(); ++each)
      if (!allowed.sectors[each].contains(fingerprint_of(part_of(found, each)))) return each;
    return nothing;
  }

  std::span<const std::byte> part_of(std::span<const std::byte> bytes, std::size_t sector) const {
    const std::size_t at = sector * sector_;
    return bytes.subspan(at, (std::min<std::size_t>)(sector_, bytes.size() - at));
  }
  static fingerprint fingerprint_of(std::span<const std::byte> bytes) noexcept {
    fingerprint made;
    made.add(bytes);
    return made;
  }

  static bool is_temporary(std::string_view name) { return name.substr(name.rfind('/') + 1).starts_with(".qio-"); }
  template <class Value>
  static bool has_names(const numbers& allowed, const std::map<std::string, Value>& found) {
    const auto is_lasting = [](const auto& each) { return !is_temporary(each.first); };
    return std::ranges::count_if(allowed, is_lasting) == std::ranges::count_if(found, is_lasting) &&
           std::ranges::all_of(
               allowed, [&](const auto& each) { return is_temporary(each.first) || found.contains(each.first); });
  }
  template <class Value>
  static std::string text_of(const std::map<std::string, Value>& names) {
    std::string all;
    for (const auto& [name, value] : names) all += (all.empty() ? "" : ",") + name;
    return '{' + all + '}';
  }
  static std::string first_bytes_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte each : bytes.first((std::min<std::size_t>)(bytes.size(), 8))) {
      static constexpr char digits[] = "0123456789abcdef";
      text += digits[std::to_integer<unsigned>(each) >> 4];
      text += digits[std::to_integer<unsigned>(each) & 15];
    }
    return text;
  }

  simulated_disk crashed_;
  std::uint32_t sector_;
  bool are_contents_compared_ = true;
  std::vector<numbers> names_;  // after 0, 1, ... of the changes that are not durable
  std::map<std::uint64_t, std::vector<version>> versions_;
};

}  // namespace detail
QIO_END_NAMESPACE
