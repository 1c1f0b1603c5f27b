// SPDX-License-Identifier: BSL-1.0
// Work that one thread hands to the loop of another.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Posted by any thread, and run by the loop's thread. It lives in the object that posts it, so posting allocates
/// nothing; that object withdraws it if it is destroyed first.
struct posted {
  posted() noexcept = default;
  posted(const posted&) = delete;
  posted& operator=(const posted&) = delete;
  ~posted() { QIO_CHECK(!is_posted, "bug in qio: posted work was destroyed before it ran"); }

  posted* next;
  posted* previous;
  void (*run)(posted&) noexcept;
  bool is_posted = false;  ///< from post() until it runs or is withdrawn
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
