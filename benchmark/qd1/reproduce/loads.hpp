// SPDX-License-Identifier: BSL-1.0
// What the experiments with many transfers in flight have in common.
#pragma once

#include "depth/ladder.hpp"
#include "reproduce/judging.hpp"
#include "reproduce/planned.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduce/resources.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace qd1 {

/// Random direct reads of all targets together, depth 32, three rounds, by one worker for each and by as many as were
/// published, or as there are processors.
ladder_request reads_of(const resources& with, std::uint64_t block, std::uint64_t published_workers, double seconds);

/// The same of the first target only.
ladder_request reads_of_one(const resources& with, std::uint64_t block, std::uint64_t published_workers,
                            double seconds);

/// The first target read through the page cache, from its beginning empty, by large blocks, while less memory is left
/// than it has; nothing where it is too small for that.
std::vector<planned> buffered_reads(const resources& with, double seconds);

/// The name of that part.
inline constexpr std::string_view buffered = "one drive, 1 MiB through the page cache, memory full";

/// The name of the same reads where the kernel reads nothing ahead of them.
inline constexpr std::string_view without_read_ahead =
    "one drive, 1 MiB through the page cache, memory full, read-ahead off";

/// Whether those reads became slower once memory was full of their pages.
shape decayed(const reproduction& of, claim claim);

/// 1 and `most`, or what there is for it.
std::vector<std::uint64_t> workers_up_to(std::uint64_t most, const resources& with);

/// Whether every direct transfer of the parts was one operation of the devices, or as many as their largest transfer
/// makes of it: no figure stands that the devices do not confirm.
shape reconciled(const reproduction& of);

/// Whether large transfers were split according to max_sectors_kb.
shape split_at_most(const reproduction& of, std::string_view part);

/// Whether all targets together had a part of the sum of each alone that lies within the bounds; and what they share.
shape scaled(const reproduction& of, std::string_view part, claim claim, double low, double high);

/// One sentence for each thing of which the machine has less than the publication: drives, processors.
std::vector<std::string> lacking(const resources& with, std::uint64_t drives, std::uint64_t workers);

}  // namespace qd1
