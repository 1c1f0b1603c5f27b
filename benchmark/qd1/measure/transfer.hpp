// SPDX-License-Identifier: BSL-1.0
// What transfers of a series need before they begin.
#pragma once

#include "report.hpp"
#include <qio/qio.hpp>

#include <string>

namespace qd1 {

/// A buffer of one block, aligned as the file needs it, with contents that do not compress. Throws usage_error.
qio::aligned_buffer buffer_for(const work& work, const qio::alignment& needed);

/// The options with which qio opens the file.
qio::open_options how_to_open(const work& work);

/// Why what is at this path cannot be read and written through the page cache, if the mode does that; empty: it can.
std::string why_not_cached(const work& work, const std::string& path);

/// Why the mode cannot write that way; empty: it can.
std::string why_not_written_through(const work& work);

}  // namespace qd1
