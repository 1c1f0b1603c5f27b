// SPDX-License-Identifier: BSL-1.0
// All modes. To add one, write a header next to these and include it here.
#pragma once

#include <qio/file/cached.hpp>
#include <qio/file/direct.hpp>
#include <qio/file/mapped.hpp>
#include <qio/file/uncached.hpp>
