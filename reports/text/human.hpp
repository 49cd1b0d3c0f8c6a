#pragma once

#include <cstdint>
#include <string>

namespace spillway::text {

// Numbers as people say them. Memory is in binary units, as memory is sold (GiB); traffic and
// drives are in decimal ones (GB), so that bytes divided by a rate are seconds.

/// "91.1 GiB", "9.53 MiB", "512 B".
std::string human_memory(std::uint64_t bytes);
/// "3.84 TB", "512 B".
std::string human_bytes(double bytes);
/// "12.4 GB/s".
std::string human_rate(double bytes_per_s);
/// "42.7 s", "850 ms", "9.53 us"; from ten minutes on "12.5 min", "3.2 h", "4.1 days".
std::string human_time(double seconds);
/// "3.2 years", below one "212 days", below two days "31.5 hours"; "over 1,000 years". A year has
/// 365 days.
std::string human_years(double years);
/// "1,234", "12.3", "0.52": three digits at least, whole from 100 on.
std::string human_number(double number);
/// "1,234".
std::string human_count(std::uint64_t count);
/// "31.1 %" of 0.311.
std::string human_share(double share);
/// "+3.1 %" of 0.031; "+0.0 %" of what rounds to nothing.
std::string human_change(double share);
/// "$14,098".
std::string human_price(double usd);

}  // namespace spillway::text
