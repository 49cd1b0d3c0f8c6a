#include "tests/hw_backend/cuda/session.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <future>

namespace spillway::hw_backend {

void wait_for(const std::function<void(Done)>& start) {
  auto promise = std::make_shared<std::promise<void>>();
  start([promise](const JobEnd& end) {
    if (end.error)
      promise->set_exception(end.error);
    else
      promise->set_value();
  });
  promise->get_future().get();
}

void run_on(Device& device, std::function<void(Primitives&)> work) {
  wait_for([&](Done done) { device.run(Stream::compute, 0, std::move(work), std::move(done)); });
}

void copy_now(Device& device, std::byte* into, const std::byte* from, std::uint64_t bytes) {
  wait_for(
      [&](Done done) { device.copy(Stream::to_device, 0, into, from, bytes, std::move(done)); });
}

Operand::Operand(Device& device, std::uint64_t elements, Element type, std::uint32_t seed,
                 float deviation, std::uint64_t shift)
    : device_(device),
      elements_(elements),
      type_(type),
      shift_(shift),
      host_(elements * size_of(type) + 128 + shift),
      memory_(device, elements * size_of(type) + shift) {
  RandomKey key;
  key.seed = seed;
  const RandomStream stream = random_stream(RandomUse::pattern, key);
  for (std::uint64_t i = 0; i < elements; ++i)
    store(array(Side::host), i, initial_value({0, deviation}, stream, i));
  upload();
}

std::byte* Operand::data(Side side) {
  if (side == Side::device) return memory_.data() + shift_;
  const auto address = reinterpret_cast<std::uintptr_t>(host_.data());
  return host_.data() + (64 - address % 64) % 64 + shift_;
}

void Operand::upload() {
  if (bytes() > 0) copy_now(device_, data(Side::device), data(Side::host), bytes());
}

std::vector<std::byte> Operand::download() {
  std::vector<std::byte> values(bytes());
  if (bytes() > 0) copy_now(device_, values.data(), data(Side::device), bytes());
  return values;
}

void Session::both(const std::function<void(Primitives&, Side)>& work) {
  work(host_, Side::host);
  run_on(device, [&](Primitives& primitives) { work(primitives, Side::device); });
}

void Session::near(const std::string& what, Operand& operand, double tolerance, double least) {
  const std::vector<std::byte> values = operand.download();
  const ConstArray on_device(values.data(), operand.type());
  double largest = least, worst = 0;
  std::uint64_t worst_at = 0, not_numbers = 0;
  for (std::uint64_t i = 0; i < operand.elements(); ++i) {
    const double expected = load(operand.array(Side::host), i), got = load(on_device, i);
    largest = std::max(largest, std::abs(expected));
    if (!std::isfinite(got)) ++not_numbers;
    if (std::abs(expected - got) > worst) worst = std::abs(expected - got), worst_at = i;
  }
  report_.expect(not_numbers == 0, what + ": " + std::to_string(not_numbers) + " are no numbers");
  report_.expect(worst <= tolerance * largest,
                 what + ", " + std::string(to_string(operand.type())) + ": element " +
                     std::to_string(worst_at) + " of " + std::to_string(operand.elements()) +
                     " is " + std::to_string(load(on_device, worst_at)) + ", should be " +
                     std::to_string(load(operand.array(Side::host), worst_at)));
}

void Session::equal(const std::string& what, Operand& operand) {
  const std::vector<std::byte> values = operand.download();
  const std::byte* const expected = operand.data(Side::host);
  std::uint64_t different = 0;
  const std::uint64_t width = size_of(operand.type());
  for (std::uint64_t i = 0; i < operand.elements(); ++i)
    different += std::memcmp(values.data() + i * width, expected + i * width, width) != 0;
  report_.expect(different == 0, what + ", " + std::string(to_string(operand.type())) + ": " +
                                     std::to_string(different) + " of " +
                                     std::to_string(operand.elements()) + " have other bits");
}

void Session::repeats(const std::string& what, const std::vector<Operand*>& operands,
                      const std::function<void(Primitives&, Side)>& work) {
  std::vector<std::vector<std::byte>> first;
  for (int time = 0; time < 2; ++time) {
    for (Operand* operand : operands) operand->upload();
    run_on(device, [&](Primitives& primitives) { work(primitives, Side::device); });
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (time == 0)
        first.push_back(operands[i]->download());
      else
        report_.expect(first[i] == operands[i]->download(),
                       what + ": operand " + std::to_string(i) + " has other bits each time");
    }
  }
}

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto& some :
       {matrix_checks(), element_checks(), row_checks(), expert_checks(), attention_checks(),
        state_checks(), training_checks(), device_checks(), rate_checks()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace spillway::hw_backend
