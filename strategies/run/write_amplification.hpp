#pragma once

#include "scenarios/description/machine_file.hpp"
#include "strategies/machine/write_sizes.hpp"

namespace spillway::strategies {

/// Write amplification of a drive that is overwritten at random places and cleans greedily: it
/// erases the block with the least that is still valid, which it copies first.
///   objects_per_block   of equal size, which become invalid as a whole, >= 1; between whole
///                       numbers the straight line
///   live_share          valid data over all flash, < 1
///   Result  1 where blocks are empty before they are needed, above it the steady state's mean
///   Source  The mean field of Van Houdt (SIGMETRICS 2013) for the greedy choice, solved here: of
///           blocks that lose an object at a rate proportional to those they still hold, 1/j of
///           the flow stay at j objects. For many objects it is random_write_waf, and a simulated
///           drive differs by less than 1 %.
double greedy_waf(double objects_per_block, double live_share);

/// The same for very many objects a block: a / (a + W(-a exp(-a))), a = 1 / live_share, W the
/// principal branch of Lambert's function.
///   Source  Xiang and Kurkoski, "An Improved Analytic Expression for Write Amplification in NAND
///           Flash", arXiv 1110.4245 (ICNC 2012); Desnoyers (SYSTOR 2012) has the same. At 30 % of
///           spare flash they simulate 2.35 and compute 2.36.
double random_write_waf(double live_share);

/// Flash of a drive that holds data, of what it has: the run's part and what others keep there.
/// Where nobody trims, the drive takes its whole capacity for data.
///   live_bytes   of the run, all drives together
double live_share(const description::StorageSpec& storage, double live_bytes);

/// Write amplification of a run's writes on `storage`: what its machine file states, else the mean
/// over the bytes written. A drive sees its part of a write, padded to mapping units. A block that
/// is filled from one end holds 1 + block / part such parts, whole or cut.
///   writes       as the storage took them, all drives together; none: 1
///   live_bytes   of the run at most, all drives together
double workload_waf(const description::StorageSpec& storage, const WriteSizes& writes,
                    double live_bytes);

}  // namespace spillway::strategies
