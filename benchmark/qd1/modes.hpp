// SPDX-License-Identifier: BSL-1.0
// The modes, and what distinguishes them. A further one is an entry here, its type in measure/with_mode.hpp, and a
// color in html/style.css.
#pragma once

#include "enumerators.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace qd1 {

enum class mode : std::uint8_t { direct, cached, mapped, uncached };
template <>
struct enumerators<mode> {
  static constexpr std::string_view names[] = {"direct", "cached", "mapped", "uncached"};
};

struct mode_traits {
  bool keeps_pages;  ///< its transfers leave pages in memory, so its reads are warm or cold
  bool is_direct;    ///< each transfer has to reach the device, which is verified
  bool maps;         ///< reads and writes are copies from and to a mapping
};

constexpr mode_traits traits(mode of) {
  constexpr mode_traits all[] = {
      {false, true, false}, {true, false, false}, {true, false, true}, {false, false, false}};
  return all[static_cast<std::size_t>(of)];
}

}  // namespace qd1
