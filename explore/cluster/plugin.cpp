#include "explore/cluster/messenger.hpp"

#define OMPI_SKIP_MPICXX 1  // the C++ bindings of old are a library of their own
#include <mpi.h>

#include <list>
#include <set>
#include <utility>

namespace spillway::explore {

namespace {

constexpr int letters = 1;        ///< the tag of all that is sent
constexpr double patience_s = 5;  ///< with letters that nobody fetches

/// A text on its way; it stays where it is until MPI is done with it.
struct Moving {
  std::size_t peer = 0;
  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;

  bool arrived() {
    int done = 0;
    // a peer that has ended is whoever listens for signs of life to find out
    return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
  }
};

/// Owns this process's part in MPI. Every send and receive is one that does not wait: the other
/// side may end in the middle of it.
class MpiMessenger final : public Messenger {
 public:
  MpiMessenger() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  MpiMessenger(const MpiMessenger&) = delete;
  MpiMessenger& operator=(const MpiMessenger&) = delete;

  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t ranks() const override { return static_cast<std::size_t>(ranks_); }

  void send(std::size_t to, std::string text) override {
    sent_.remove_if([](Moving& one) { return one.arrived(); });
    Moving& one = sent_.emplace_back(Moving{to, std::move(text), MPI_REQUEST_NULL});
    const int code = MPI_Isend(one.text.data(), static_cast<int>(one.text.size()), MPI_CHAR,
                               static_cast<int>(to), letters, MPI_COMM_WORLD, &one.request);
    if (code != MPI_SUCCESS) sent_.pop_back();
  }

  std::optional<Letter> receive() override {
    while (begin_one()) {
    }
    std::set<std::size_t> earlier;  // senders whose last letter is still on its way
    for (auto one = coming_.begin(); one != coming_.end(); ++one) {
      if (!earlier.contains(one->peer) && one->arrived()) {
        Letter letter{one->peer, std::move(one->text)};
        coming_.erase(one);
        return letter;
      }
      earlier.insert(one->peer);
    }
    return std::nullopt;
  }

  void leave() override {
    const double start = MPI_Wtime();
    while (!sent_.empty() && MPI_Wtime() - start < patience_s)
      sent_.remove_if([](Moving& one) { return one.arrived(); });
    MPI_Finalize();
  }

 private:
  /// Starts to receive a letter, if one is on its way.
  bool begin_one() {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, letters, MPI_COMM_WORLD, &found, &message, &status) !=
            MPI_SUCCESS ||
        found == 0)
      return false;
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    Moving& one = coming_.emplace_back();
    one.peer = static_cast<std::size_t>(status.MPI_SOURCE);
    one.text.resize(static_cast<std::size_t>(size));
    MPI_Imrecv(one.text.data(), size, MPI_CHAR, &message, &one.request);
    return true;
  }

  int rank_ = 0, ranks_ = 1;
  std::list<Moving> sent_, coming_;
};

}  // namespace

}  // namespace spillway::explore

void spillway_join_cluster(std::unique_ptr<spillway::explore::Messenger>& into) {
  into = std::make_unique<spillway::explore::MpiMessenger>();
}
