// SPDX-License-Identifier: BSL-1.0
#pragma once

#define QIO_VERSION_MAJOR 0
#define QIO_VERSION_MINOR 1
#define QIO_VERSION_PATCH 0
