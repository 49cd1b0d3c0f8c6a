#include "scenarios/reading/lifetimes_file.hpp"
#include "tests/fuzz/read_text.hpp"

/// Any profile of lifetimes, a zero byte between its tensors and its kernels, is either refused or
/// written as it is read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  const auto [tensors, kernels] = fuzz::halves(fuzz::text_of(data, size));
  fuzz::read_or_refuse([&] {
    const auto once =
        scenarios::write_lifetimes(scenarios::parse_lifetimes({tensors, kernels}, "p.csv"));
    const auto twice = scenarios::write_lifetimes(scenarios::parse_lifetimes(once, "p.csv"));
    ENSURE(once.tensors == twice.tensors, "tensors that were written read as others");
    ENSURE(once.kernels == twice.kernels, "kernels that were written read as others");
  });
  return 0;
}
