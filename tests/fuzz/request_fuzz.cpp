#include "explore/workers/request.hpp"
#include "tests/fuzz/read_text.hpp"

/// Any line to a worker is a request that is the same when it is written and read again, or says
/// what is wrong with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spillway;
  const std::string line = fuzz::text_of(data, size);
  const explore::Request once = explore::read_request(line);
  for (const description::Complaint& one : once.complaints)
    ENSURE(!one.message.empty(), "a complaint without words");
  if (!once.complaints.empty() || once.cancel) return 0;
  const explore::Request twice = explore::read_request(explore::line_of(once));
  ENSURE(twice.complaints.empty(), "a request that was written is refused");
  ENSURE(once.id == twice.id && once.scenario == twice.scenario, "it asks of another scenario");
  ENSURE(once.want == twice.want && once.limit_s == twice.limit_s, "it asks for something else");
  ENSURE(once.when_full == twice.when_full && once.today == twice.today, "it asks otherwise");
  return 0;
}
