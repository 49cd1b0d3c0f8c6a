#include "strategies/parts/hand_over.hpp"

namespace spillway::strategies {

Task<> hand_over(Machine& machine, Rank rank, Handovers& board, std::vector<Incoming> in,
                 std::vector<Outgoing> out) {
  for (const Incoming& one : in) board.offer(one.key, one.into);
  std::vector<Op> sent;
  for (Outgoing& one : out) {
    const View into = co_await board.place(one.key);
    sent.push_back(machine.send(rank, one.peer, one.from, into));
    one.from = View();
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    co_await sent[i];
    board.sent(out[i].key);
  }
  for (const Incoming& one : in) co_await board.arrival(one.key);
}

}  // namespace spillway::strategies
