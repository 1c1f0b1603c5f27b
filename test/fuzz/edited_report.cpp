// A report of each kind with replaced, removed, repeated and exchanged values: always JSON, and usually a report.
#include "fuzz.hpp"
#include "output/report_text.hpp"
#include "reading.hpp"
#include "sample.hpp"
#include "samples.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;

struct original {
  json own;               // the member "qio", with its checksum
  json without_checksum;  // the same of an earlier version, which had none: faster to read
  qd1::report read;
};

original original_of(const std::string& text) {
  original found{qd1::parse_report(text).at("qio"), {}, qd1::read_json(text, "a sample")};
  found.without_checksum = found.own;
  for (const char* each : {"checksum", "kind", "runs"}) found.without_checksum.erase(each);
  return found;
}

// Short ones, nearly always, and whole ones that were measured, which take as long as many short ones.
original& sample(std::size_t chosen, bool is_measured) {
  static std::vector<original> all = [] {
    std::vector<original> found;
    for (const qd1::report& each : fuzz::sample_reports()) found.push_back(original_of(qd1::json(each)));
    for (const char* each : {QIO_FUZZ_REPORT, QIO_FUZZ_REPORTS "/linux.json", QIO_FUZZ_REPORTS "/wine.json"})
      found.push_back(original_of(fuzz::sample_report(each)));
    return found;
  }();
  constexpr std::size_t measured = 3;
  return all[is_measured ? all.size() - 1 - chosen % measured : chosen % (all.size() - measured)];
}

// Where types, sums and loops end.
json boundary(fuzz::input& from) {
  constexpr std::uint64_t one = 1;
  constexpr std::array<std::uint64_t, 10> whole = {
      0, 1, one << 31, one << 32, one << 50, (one << 50) + 1, one << 53, one << 63, (one << 63) - 1, ~std::uint64_t(0)};
  constexpr std::array<double, 8> broken = {-0.0, 5e-324, 0.5, 9e15, 9.3e18, 1e300, -1e300, -1};
  const std::size_t chosen = from.below(whole.size() + broken.size());
  return chosen < whole.size() ? json(whole[chosen]) : json(broken[chosen - whole.size()]);
}

// Text that would command a terminal, a page or a shell.
json command(fuzz::input& from) {
  constexpr std::array<std::string_view, 6> all = {"\x1b]52;c;YQ==\x07",
                                                   "\xc2\x9b"
                                                   "2J",
                                                   "\xe2\x80\xae",
                                                   "</script><script>",
                                                   "$(reboot)",
                                                   "\nVERIFIED"};
  return std::string(all[from.below(all.size())]);
}

void collect(json& value, std::vector<json*>& all) {
  all.push_back(&value);
  for (json& each : value)
    if (each.is_structured()) {
      collect(each, all);
    } else {
      all.push_back(&each);
    }
}

json other_value(fuzz::input& from) {
  switch (from.below(8)) {
    case 0: return nullptr;
    case 1: return from.below(2) == 1;
    case 2: return from.bits();
    case 3: return static_cast<std::int64_t>(from.bits());
    case 4: {
      const auto number = std::bit_cast<double>(from.bits());
      return std::isfinite(number) ? json(number) : json(1e308);
    }
    case 5: return from.below(10);
    case 6: return json::array();
    default: return std::string(from.some(from.below(40)));
  }
}

json number_like(const json& old, fuzz::input& from) {
  constexpr std::array<double, 8> factors = {0, 0.5, 0.99, 1.01, 2, 10, 1e6, 1e-6};
  const double factor = factors[from.below(factors.size())];
  if (old.is_number_unsigned() && old.get<double>() * factor < 1e18)
    return static_cast<std::uint64_t>(old.get<double>() * factor);
  return old.get<double>() * factor;
}

// Multiplies all times of a series, so that they still agree.
void scale(json& of, double factor, bool is_time) {
  if (is_time && of.is_number()) of = of.get<double>() * factor;
  if (of.is_array() && of.size() == 2 && of[1].is_number_unsigned()) {
    scale(of[0], factor, is_time);  // a bin, whose count stays
  } else if (of.is_array()) {
    for (json& each : of) scale(each, factor, is_time);
  } else if (of.is_object()) {
    constexpr std::array<std::string_view, 9> times = {"min_ns",  "max_ns", "mean_ns", "value", "interval",
                                                       "bins_ns", "ns",     "p50_ns",  "p99_ns"};
    for (auto& [key, each] : of.items()) {
      const bool is_named = std::ranges::find(times, key) != times.end();
      scale(each, factor, is_named);
    }
  }
}

// Edits a report in place and puts back what was there: a copy would take as long as reading it.
class editor {
 public:
  explicit editor(json& own) : own_(own) {}
  editor(const editor&) = delete;
  editor& operator=(const editor&) = delete;
  ~editor() {
    for (; !replaced_.empty(); replaced_.pop_back()) *replaced_.back().where = std::move(replaced_.back().before);
  }

  bool has_new_text() const { return has_new_text_; }

  void edit(fuzz::input& from, bool to_limits) {
    std::vector<json*> all;
    collect(own_, all);
    json& chosen = *all[from.below(all.size())];
    const std::size_t how = from.below(8);
    const json& other = *all[from.below(all.size())];
    if (how == 0 && chosen.is_array() && !chosen.empty()) {
      json longer = chosen;
      longer.push_back(chosen[from.below(chosen.size())]);
      replace(chosen, std::move(longer));
    } else if (how == 1 && chosen.is_array() && !chosen.empty()) {
      json shorter = chosen;
      shorter.erase(from.below(chosen.size()));
      replace(chosen, std::move(shorter));
    } else if (how == 2 && chosen.is_object() && !chosen.empty()) {
      json shorter = chosen;
      shorter.erase(std::next(shorter.begin(), static_cast<std::ptrdiff_t>(from.below(chosen.size()))));
      replace(chosen, std::move(shorter));
    } else if (how == 3 && !other.is_structured()) {
      replace(chosen, json(other));
    } else if (how == 4 && own_.is_object()) {
      scale_series(from);
    } else if (how == 5 && chosen.is_number()) {
      replace(chosen, number_like(chosen, from));
    } else {
      replace(chosen, !to_limits ? other_value(from) : from.below(3) != 0 ? boundary(from) : command(from));
    }
  }

 private:
  struct replacement {
    json* where;
    json before;  // moved, so that what earlier edits point to in it stays where it is
  };

  void replace(json& where, json by) {
    has_new_text_ = has_new_text_ || by.is_string();
    replaced_.push_back({&where, std::exchange(where, std::move(by))});
  }

  void scale_series(fuzz::input& from) {
    constexpr std::array<double, 10> factors = {0, 5e-324, 1e-310, 1e-160, 1e-9, 0.9, 1.1, 1e3, 1e6, 1e9};
    const double factor = factors[from.below(factors.size())];
    const auto all = own_.find("series");
    if (all == own_.end() || !all->is_array() || all->empty()) return;
    json& chosen = (*all)[from.below(all->size())];
    json scaled = chosen;
    scale(scaled, factor, false);
    replace(chosen, std::move(scaled));
  }

  json& own_;
  std::vector<replacement> replaced_;
  bool has_new_text_ = false;
};

enum class way { by_text, with_checksum, short_one };

// What takes long is rare, and chosen by all of the input: libFuzzer prefers what reaches most, but the next mutation
// of such an input is mostly a fast one again.
struct choice {
  explicit choice(std::string_view input) {
    for (const char each : input) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;  // FNV-1a
    hash ^= hash >> 32;
    is_measured = below(512) == 0;
    const std::size_t chosen = below(64);
    by = chosen == 0 ? way::by_text : chosen == 1 ? way::with_checksum : way::short_one;
    const bool is_short = below(32) != 0;
    use = is_short ? fuzz::short_uses[below(fuzz::short_uses.size())] : fuzz::uses[below(fuzz::uses.size())];
  }

  bool is_measured;
  way by;
  void (*use)(const qd1::report&, const qd1::report&);

 private:
  std::size_t below(std::size_t end) {
    const std::uint64_t before = std::exchange(hash, hash / end);
    return before % end;
  }

  std::uint64_t hash = 0xcbf29ce484222325;
};

std::string text_of(const json& own) { return json{{"qio", own}}.dump(-1, ' ', false, json::error_handler_t::replace); }

qd1::report read_text(json own) {
  if (own.is_object() && own.contains("checksum")) {
    json parsed = qd1::parse_report(text_of(own)).at("qio");
    own["checksum"] = qd1::checksum_of(std::move(parsed));
  }
  return qd1::read_json(text_of(own), "edited.json");
}

qd1::report read_texts_again(json own) {
  own = qd1::printable_texts(std::move(own));
  if (own.is_object() && own.contains("checksum")) own["checksum"] = qd1::checksum_of(own);
  return qd1::report_of(own);
}

// Mostly the short one, which takes a fifth of the time of the others.
qd1::report read(const json& own, way by, bool has_new_text) {
  try {
    if (by == way::by_text) return read_text(own);
    if (by == way::with_checksum || has_new_text) return read_texts_again(own);
    return qd1::report_of(own);
  } catch (const json::exception& failure) {
    throw qd1::usage_error(failure.what());
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from(data, size);
  const choice chosen({reinterpret_cast<const char*>(data), size});
  original& first = sample(from.below(256), chosen.is_measured);
  const std::size_t manner = from.below(256);
  json& own = chosen.by == way::short_one ? first.without_checksum : first.own;
  editor to(own);
  for (std::size_t edits = manner % 4 + 1; edits > 0 && !from.empty(); --edits) to.edit(from, (manner & 8) != 0);
  try {
    chosen.use(read(own, chosen.by, to.has_new_text()), first.read);
  } catch (const qd1::usage_error&) {
    // It is no report.
  }
  return 0;
}
