// SPDX-License-Identifier: BSL-1.0
// What serves the asynchronous operations of a context.
#pragma once

#include "report.hpp"
#include <qio/explanation.hpp>

namespace qd1 {

/// The engine, and why it is not one that the context prefers, by what the context explains.
service service_by(const qio::explanation& facts);

}  // namespace qd1
