// SPDX-License-Identifier: BSL-1.0
// All of qio but the formatters (qio/format.hpp, which needs fmt, and qio/std_format.hpp), conversions to std::expected
// (qio/expected.hpp), reading over bad sectors (qio/salvage.hpp), files of any mode (qio/any_file.hpp), files that one
// thread closes for all (qio/shared_file.hpp), transfers through a pool (qio/bounced.hpp), waiting for the first of
// several tasks (qio/when_any.hpp), logs (qio/log_writer.hpp), latencies (qio/latencies.hpp), classes of
// operations (qio/io_scheduler.hpp), simulated disks (qio/engine/simulated.hpp) and the exploration of crashes
// (qio/explore_crashes.hpp).
#pragma once

#include <qio/batch.hpp>
#include <qio/buffer.hpp>
#include <qio/context.hpp>
#include <qio/directory.hpp>
#include <qio/engine/default.hpp>
#include <qio/engine/engine.hpp>
#include <qio/explanation.hpp>
#include <qio/file.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/path.hpp>
#include <qio/posted_call.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>
#include <qio/task.hpp>
#include <qio/task_scope.hpp>
#include <qio/version.hpp>
