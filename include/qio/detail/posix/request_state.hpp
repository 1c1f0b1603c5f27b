// SPDX-License-Identifier: BSL-1.0
// What the system and its engine keep in a request, and in what the requests of a file have in common: nothing here.
#pragma once

namespace qio::platform {

struct request_state {};
struct activity_state {};

}  // namespace qio::platform
