// SPDX-License-Identifier: BSL-1.0
// The module qio: what `import qio;` makes visible. It is all of the library but the adapters to other libraries
// (qio/asio.hpp, qio/boost_asio.hpp, qio/execution.hpp, qio/format.hpp). Names of qio::detail are not visible.
//
// Macros cannot be exported. Those that programs use are in two headers that declare nothing: qio/version.hpp
// (QIO_VERSION_MAJOR and so on) and qio/configuration.hpp (QIO_HAS_URING and so on). The module has the configuration
// that it was compiled with. test/import/check.py compares this list with the headers.
module;

#include <qio/any_file.hpp>
#include <qio/batch.hpp>
#include <qio/bounce_pool.hpp>
#include <qio/bounced.hpp>
#include <qio/buffer.hpp>
#include <qio/buffer_pool.hpp>
#include <qio/call.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/copy.hpp>
#include <qio/copy_options.hpp>
#include <qio/directory.hpp>
#include <qio/directory_reader.hpp>
#include <qio/engine/simulated.hpp>
#include <qio/expected.hpp>
#include <qio/explanation.hpp>
#include <qio/explore_crashes.hpp>
#include <qio/extent.hpp>
#include <qio/file.hpp>
#include <qio/file_status.hpp>
#include <qio/if_exists.hpp>
#include <qio/io_class.hpp>
#include <qio/io_scheduler.hpp>
#include <qio/latencies.hpp>
#include <qio/log_writer.hpp>
#include <qio/mode.hpp>
#include <qio/name_options.hpp>
#include <qio/names.hpp>
#include <qio/observer.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/posted_call.hpp>
#include <qio/qio.hpp>
#include <qio/reader.hpp>
#include <qio/recorded_order.hpp>
#include <qio/result.hpp>
#include <qio/salvage.hpp>
#include <qio/shared_file.hpp>
#include <qio/shared_log.hpp>
#include <qio/statistics.hpp>
#include <qio/status.hpp>
#include <qio/std_format.hpp>
#include <qio/task.hpp>
#include <qio/task_scope.hpp>
#include <qio/trace_recorder.hpp>
#include <qio/traced_operation.hpp>
#include <qio/tree.hpp>
#include <qio/version.hpp>
#include <qio/when_any.hpp>
#include <qio/write_and_sync.hpp>
#include <qio/writer.hpp>

export module qio;

export namespace qio {

using qio::access;
using qio::access_pattern;
using qio::aligned_buffer;
using qio::alignment;
using qio::allocation;
using qio::any_file;
using qio::any_mode;
using qio::async_any_file;
using qio::async_cached_file;
using qio::async_call;
using qio::async_copy;
using qio::async_copy_file;
using qio::async_create_directory;
using qio::async_direct_file;
using qio::async_file;
using qio::async_link;
using qio::async_mapped_file;
using qio::async_read_link;
using qio::async_remove;
using qio::async_remove_directory;
using qio::async_remove_tree;
using qio::async_rename;
using qio::async_replace_file;
using qio::async_status;
using qio::async_symlink;
using qio::async_sync_directory;
using qio::async_uncached_file;
using qio::async_walk;
using qio::atomic_write_limits;
using qio::basic_context;
using qio::basic_directory_reader;
using qio::basic_file;
using qio::batch_operation;
using qio::blocking_write_options;
using qio::bounce_options;
using qio::bounce_pool;
using qio::bounce_pool_options;
using qio::bounce_statistics;
using qio::bounced;
using qio::bounced_file;
using qio::buffer_pool;
using qio::buffer_pool_options;
using qio::cached;
using qio::cached_file;
using qio::const_buffer;
using qio::context;
using qio::context_options;
using qio::copied;
using qio::copy;
using qio::copy_file;
using qio::copy_file_options;
using qio::copy_way;
using qio::crash_exploration;
using qio::crash_failure;
using qio::create_directory;
using qio::creation;
using qio::data_lifetime;
using qio::deadline;
using qio::default_buffer_alignment;
using qio::default_engine;
using qio::direct;
using qio::direct_file;
using qio::directory;
using qio::directory_entry;
using qio::directory_options;
using qio::directory_reader;
using qio::ended_operation;
using qio::engine;
using qio::engine_kind;
using qio::errc;
using qio::error;
using qio::explanation;
using qio::explore_crashes;
using qio::explore_crashes_options;
using qio::extent;
using qio::fact;
using qio::failure;
using qio::file_attributes;
using qio::file_cache;
using qio::file_id;
using qio::file_locks;
using qio::file_mode;
using qio::file_space;
using qio::file_statistics;
using qio::file_status;
using qio::file_time;
using qio::file_times;
using qio::file_type;
using qio::file_views;
using qio::finish_options;
using qio::first_finished;
using qio::huge_pages;
using qio::if_exists;
using qio::if_unavailable;
using qio::inline_transfers;
using qio::inline_work;
using qio::io_class;
using qio::io_class_options;
using qio::io_class_statistics;
using qio::io_scheduler;
using qio::io_scheduler_options;
using qio::io_scheduler_statistics;
using qio::latency_histogram;
using qio::latency_recorder;
using qio::latency_recorder_options;
using qio::latency_statistics;
using qio::link;
using qio::listing_options;
using qio::lock_kind;
using qio::log_append;
using qio::log_contents;
using qio::log_end;
using qio::log_operation;
using qio::log_options;
using qio::log_record;
using qio::log_trim;
using qio::log_writer;
using qio::make_error_code;
using qio::mapped;
using qio::mapped_file;
using qio::mutable_buffer;
using qio::name_of;
using qio::name_options;
using qio::no_engine;
using qio::open_log;
using qio::open_options;
using qio::operation;
using qio::operation_kind;
using qio::operation_kinds;
using qio::operation_observer;
using qio::operation_options;
using qio::operation_path;
using qio::operation_paths;
using qio::operation_slot;
using qio::operator==;
using qio::owned_path;
using qio::path_view;
using qio::polling;
using qio::pooled_buffer;
using qio::pooled_buffer_awaiter;
using qio::posted_call;
using qio::private_view;
using qio::qio_category;
using qio::read_link;
using qio::read_log;
using qio::read_request;
using qio::reader;
using qio::reader_options;
using qio::recorded_order;
using qio::remove;
using qio::remove_directory;
using qio::remove_options;
using qio::remove_tree;
using qio::rename;
using qio::replace_file;
using qio::replace_options;
using qio::residency;
using qio::result;
using qio::salvage;
using qio::salvaged;
using qio::shared_file;
using qio::shared_log;
using qio::shared_log_options;
using qio::simulated;
using qio::simulated_disk;
using qio::simulation_options;
using qio::slow_operation;
using qio::stall_cause;
using qio::stall_statistics;
using qio::status;
using qio::status_options;
using qio::stop_reference;
using qio::success;
using qio::symlink;
using qio::sync_directory;
using qio::sync_kind;
using qio::synced_write;
using qio::task;
using qio::task_scope;
using qio::temporary_directory;
using qio::temporary_file;
using qio::temporary_options;
using qio::time_change;
using qio::trace_recorder;
using qio::traced_operation;
using qio::uncached;
using qio::uncached_file;
using qio::unit;
using qio::unreadable;
using qio::wait_policy;
using qio::wait_statistics;
using qio::walk;
using qio::walk_entry;
using qio::walk_next;
using qio::walk_options;
using qio::when_all;
using qio::when_any;
using qio::whole_file;
using qio::write_and_sync;
using qio::write_options;
using qio::write_request;
using qio::writer;
using qio::writer_options;

#if QIO_HAS_URING
using qio::linux_engine;
#elif QIO_HAS_IOCP
using qio::iocp;
#else
using qio::pool;
#endif

#if defined(__cpp_exceptions)
using qio::outcome_throw_as_system_error_with_payload;
#endif

#if defined(__cpp_lib_expected)
using qio::to_expected;
using qio::to_result;
#endif

}  // namespace qio

export namespace qio::platform {

using qio::platform::invalid_handle;
using qio::platform::native_handle;
using qio::platform::system_category;

}  // namespace qio::platform

// Completes what declares basic_file or temporary_file as a friend. If the unit that imports the module completes these
// classes, Clang 19 crashes on its templates that name basic_file<Mode> or temporary_file<Mode>: test/import/modes.cpp.
#if defined(__clang__)
namespace qio {

template <class Mode, class... Engine>
inline constexpr bool has_files =
    ((sizeof(basic_file<Mode, Engine>) + sizeof(temporary_file<Mode, Engine>) != 0) && ...);
static_assert(sizeof(context) + sizeof(basic_context<simulated>) != 0);
static_assert(has_files<cached, no_engine, default_engine, simulated>);
static_assert(has_files<uncached, no_engine, default_engine, simulated>);
static_assert(has_files<direct, no_engine, default_engine, simulated>);
static_assert(has_files<mapped, no_engine, default_engine>);

}  // namespace qio
#endif
