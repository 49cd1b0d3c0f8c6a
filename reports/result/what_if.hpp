#pragma once

#include "reports/result/result.hpp"

#include <map>
#include <string>

namespace spillway::result {

/// How the name of a what-if begins that takes drives away: "without sata".
inline constexpr const char* without = "without ";
/// The what-if of one more drive, of a machine that has one array of them; where there are several
/// its name goes on with " of " and the array's: "one more ssd of scratch".
inline constexpr const char* one_more_drive = "one more ssd";
/// How the name of a what-if begins that is about storage without drives of the machine's own:
/// "twice the storage rate of nfs".
inline constexpr const char* twice_the_rate_of = "twice the storage rate of ";

/// What the step is limited by, the one word for it in every answer: the resource that the what-if
/// relieves that shortens the step most for what it adds (as logarithms: a fifth drive is less than
/// twice the GPU), gpu pcie cpu network or the name of a storage. Another thing than
/// Result::bottleneck, the busiest resource: what is busy need not be waited for.
///   Result  "" where none shortens the step by half a percent, or none was tried
std::string limited_by(const Result& result);

/// The resource that a what-if of the result relieves: gpu pcie cpu network or the name of a
/// storage.
std::string relieved_by(const std::string& what_if, const Result& result);

/// Gives a feasible result its what-ifs. More or faster hardware can run the plan of what is there:
/// one that came out slower, or does not fit, takes as long as `result`. Those that change nothing
/// say why. Drives without which a step is shorter get a note. Where steps do not wait for updates
/// neither holds: those that come sooner or later meet other kernels and transfers, so that a step
/// may take longer; it is said that this is why.
void add_what_ifs(Result& result, std::map<std::string, WhatIf> next);

}  // namespace spillway::result
