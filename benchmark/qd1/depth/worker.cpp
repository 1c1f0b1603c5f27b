// SPDX-License-Identifier: BSL-1.0
#include "depth/worker.hpp"

#include "depth/in_flight.hpp"
#include "machine/find.hpp"
#include "measure/offset_order.hpp"
#include "measure/service.hpp"
#include "measure/stalls.hpp"
#include "measure/with_mode.hpp"
#include "platform/names.hpp"
#include "platform/process.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

offset_source offsets_of(const duty& duty) {
  const work& work = duty.work;
  if (duty.once && work.load.order == order::random)
    return shuffled_offsets(duty.share.draws, work.working_set, work.block);
  return qd1::offsets_of(work, duty.share);
}

// A block for each transfer in flight.
std::size_t block_bytes(const work& work) { return static_cast<std::size_t>(work.block * work.load.depth); }

qio::aligned_buffer blocks_for(const work& work, const qio::alignment& needed) {
  auto blocks = qio::aligned_buffer::allocate(block_bytes(work),
                                              std::max<std::size_t>(needed.memory, qio::default_buffer_alignment));
  if (!blocks) throw std::runtime_error(blocks.error().message());
  return std::move(blocks).value();
}

// With contents that do not compress.
void fill(std::span<std::byte> blocks, std::uint64_t seed) {
  splitmix64 random(seed);
  for (std::byte& each : blocks) each = static_cast<std::byte>(random());
}

qio::context_options options_for(const engine_choice& engine, const work& work) {
  qio::context_options options;
  if (const platform::engine* const wanted = platform::engine_named(engine.name)) options.engine = wanted->kind;
  options.queue_depth = static_cast<unsigned>(work.load.depth);
  if (engine.registered) options.registered_bytes = block_bytes(work);
  if (engine.waiting == "spin") options.waiting = qio::wait_policy::spin;
  if (engine.polled) options.polling = qio::polling::busy;
  return options;
}

}  // namespace

worker::worker(duty duty, const clock& clock, window& window)
    : duty_(std::move(duty)), clock_(clock), window_(window), ledger_(clock, window, duty_.timed, duty_.work.block) {}

void worker::run() noexcept {
  try {
    work();
  } catch (const std::exception& thrown) {
    failure_ = thrown.what();
  }
  if (!failure_.empty() || !not_available_.empty()) window_.close();
  if (!has_arrived_) window_.arrive();
}

void worker::work() {
  if (duty_.processor) platform::go_to_processor(*duty_.processor);
  std::optional<platform::pinned_to_this_processor> pinned;
  if (duty_.processor) pinned.emplace();
  if (duty_.work.form == form::blocking) {
    service_.engine = traits(duty_.work.mode).maps ? "memory copies" : "system calls";
    return work_by_mode();
  }
  work_in_context();
}

void worker::work_in_context() {
  auto created = qio::context::create(options_for(duty_.engine, duty_.work));
  if (!created) {
    not_available_ = created.error().message();
    if (const platform::engine* const wanted = platform::engine_named(duty_.engine.name)) {
      service_.reason = not_available_;
      not_available_ = fmt::format("{}: {}", wanted->name, service_.reason);
    }
    return;
  }
  auto& context = created.value();
  service_ = service_by(context.explain());
  work_by_mode(context);
}

template <class... Context>
void worker::work_by_mode(Context&... context) {
  with_mode(duty_.work.mode, [&]<class Mode> { work_on<Mode>(context...); });
}

void worker::note_feature(const std::string& name, bool had, const std::string& why_not) {
  if (had)
    service_.features.push_back(name);
  else
    service_.lacking.push_back(name + ": " + why_not);
}

template <class Context>
void worker::note_features(const Context& context) {
  const qio::explanation facts = context.explain();
  if (duty_.engine.waiting != "sleep")
    note_feature(duty_.engine.waiting, facts.find("waiting") != nullptr, "only a context over io_uring can spin");
  if (duty_.engine.registered) {
    const qio::fact& told = *facts.find("registered memory");
    note_feature("in registered memory", told.value != "off", told.reason);
  }
}

// Called after its transfers are complete: only the device knows which of them it polls.
template <class File>
void worker::note_polling(const File& file) {
  const qio::explanation facts = file.explain();
  const qio::fact* const told = facts.find("polling");
  const std::string why_not = told == nullptr        ? "only transfers of direct files can be"
                              : told->value == "off" ? told->reason
                                                     : "here only " + told->value + " of up to 64 KiB can be";
  note_feature("polled", file.statistics().polled != 0, why_not);
}

void worker::note_wait(std::optional<std::uint64_t> waited_before, std::uint64_t begin) {
  const auto waited = waited_for_cpu_ns();
  const double seconds = clock_.seconds(clock_.after() - begin);
  if (waited && waited_before && seconds > 0)
    waited_ = std::min(static_cast<double>(*waited - *waited_before) * 1e-9 / seconds, 1.);
}

// Without a context: blocking calls.
template <class Mode, class... Context>
void worker::work_on(Context&... context) {
  const bool only_reads = duty_.reads >= 1;
  qio::open_options options;
  options.durable_writes = !only_reads && duty_.work.durability == durability::written_through;
  auto opened =
      qio::basic_file<Mode>::open(context..., duty_.path, only_reads ? qio::access::read : qio::access::read_write,
                                  qio::creation::open_existing, options);
  if (!opened) {
    not_available_ = opened.error().message();
    return;
  }
  auto& file = opened.value();
  (note_features(context), ...);
  std::optional<qio::aligned_buffer> own;
  std::span<std::byte> blocks;
  ((blocks = context.registered_memory()), ...);
  if (blocks.empty()) blocks = own.emplace(blocks_for(duty_.work, file.alignment()));
  fill(blocks, duty_.work.block);
  worker_loop loop{ledger_, mixture(duty_.reads, duty_.share.draws), offsets_of(duty_), stamps(duty_.share.draws)};
  if (duty_.once) loop.left = duty_.work.working_set / duty_.work.block;
  window_.arrive();
  has_arrived_ = true;
  if (!window_.wait_until_open()) return;
  ledger_.begin();
  const auto waited_before = waited_for_cpu_ns();
  const std::uint64_t begin = clock_.after();
  const auto block = static_cast<std::size_t>(duty_.work.block);
  if constexpr (sizeof...(Context) == 0) {
    transfer_one_by_one(file, blocks.first(block), loop);
    service_.by_call = ledger_.of(operation::read).started + ledger_.of(operation::write).started;
  } else {
    std::vector<qio::task<>> in_flight;
    for (std::uint64_t each = 0; each < duty_.work.load.depth; ++each)
      in_flight.push_back(keep_one_in_flight(file, blocks.subspan(each * block, block), loop));
    qio::stall_statistics stalls_before;
    ((stalls_before = context.stalls()), ...);
    (context.run(qio::when_all(std::move(in_flight))), ...);
    ((service_.stall = stall_between(stalls_before, context.stalls())), ...);
    const qio::file_statistics& served = file.statistics();
    service_.by_inline = served.served_inline;
    service_.by_ring = served.served_by_ring;
    service_.by_worker = served.served_by_worker;
    if (duty_.engine.polled) note_polling(file);
  }
  note_wait(waited_before, begin);
  if (!ledger_.failure().empty() || duty_.once) window_.close();
}

}  // namespace qd1
