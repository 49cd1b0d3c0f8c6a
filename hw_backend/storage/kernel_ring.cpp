#include "hw_backend/storage/kernel_ring.hpp"

#include "hw_backend/storage/io_error.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <cerrno>
#include <cmath>

namespace spillway::hw_backend {
namespace {

constexpr unsigned submissions = 256;
// More than devices x queue depth in any sensible run; past it the kernel keeps a list of its own.
constexpr unsigned completions = 4096;

std::string_view setup_remedy(int code) {
  switch (code) {
    case ENOSYS:
      return "this kernel has no io_uring; Linux 5.19 or later is needed";
    case EPERM:
    case EACCES:
      return "io_uring is forbidden: as root, sysctl kernel.io_uring_disabled=0; in a container, "
             "allow io_uring_setup, io_uring_enter and io_uring_register in its seccomp profile";
    case ENOMEM:
      return "raise the limit of locked memory: ulimit -l unlimited";
    default:
      return {};
  }
}

}  // namespace

KernelRing::KernelRing() {
  io_uring_params params{};
  params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  params.cq_entries = completions;
  const int code = io_uring_queue_init_params(submissions, &ring_, &params);
  if (code < 0) throw io_error("io_uring_setup", -code, "storage engine", setup_remedy(-code));
  if ((params.features & IORING_FEAT_EXT_ARG) == 0) {
    io_uring_queue_exit(&ring_);
    throw io_error("io_uring_setup", ENOSYS, "storage engine", setup_remedy(ENOSYS));
  }
  wake_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_) {
    io_uring_queue_exit(&ring_);
    throw io_error("eventfd", errno, "storage engine");
  }
}

KernelRing::~KernelRing() { io_uring_queue_exit(&ring_); }

bool KernelRing::push(const Request& request) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (!entry) return false;
  const int file = request.file_slot >= 0 ? request.file_slot : request.fd;
  if (request.buffer_slot < 0) {
    (request.write
         ? io_uring_prep_write(entry, file, request.memory, request.bytes, request.offset)
         : io_uring_prep_read(entry, file, request.memory, request.bytes, request.offset));
  } else {
    (request.write ? io_uring_prep_write_fixed(entry, file, request.memory, request.bytes,
                                               request.offset, request.buffer_slot)
                   : io_uring_prep_read_fixed(entry, file, request.memory, request.bytes,
                                              request.offset, request.buffer_slot));
  }
  if (request.file_slot >= 0) entry->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data(entry, request.tag);
  return true;
}

bool KernelRing::push_cancel(void* tag) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (!entry) return false;
  io_uring_prep_cancel(entry, tag, 0);
  io_uring_sqe_set_data(entry, nullptr);
  return true;
}

void KernelRing::submit() {
  const int code = io_uring_submit(&ring_);
  // Busy: the kernel takes them with the next call, once answers have been collected.
  if (code < 0 && code != -EAGAIN && code != -EBUSY && code != -EINTR) {
    throw io_error("io_uring_enter", -code, "storage engine");
  }
}

KernelRing::Waited KernelRing::wait(std::optional<double> timeout_s) {
  arm_wake();
  int code = 0;
  if (timeout_s && *timeout_s <= 0) {
    submit();
  } else if (timeout_s) {
    double whole = 0;
    const double rest = std::modf(*timeout_s, &whole);
    __kernel_timespec limit{.tv_sec = static_cast<long long>(whole),
                            .tv_nsec = static_cast<long long>(rest * 1e9)};
    io_uring_cqe* first = nullptr;
    code = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
  } else {
    code = io_uring_submit_and_wait(&ring_, 1);
  }
  if (code < 0 && code != -ETIME && code != -EAGAIN && code != -EBUSY && code != -EINTR) {
    throw io_error("io_uring_enter", -code, "storage engine");
  }
  collect();
  if (woken_) return woken_ = false, Waited::wake;
  if (!answers_.empty()) return Waited::answers;
  if (code == -EINTR) return Waited::signal;
  return code == -ETIME || (timeout_s && *timeout_s <= 0) ? Waited::timeout : Waited::answers;
}

std::vector<KernelRing::Answer> KernelRing::take_answers() { return std::exchange(answers_, {}); }

void KernelRing::arm_wake() {
  if (wake_armed_) return;
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (!entry) submit(), entry = io_uring_get_sqe(&ring_);
  if (!entry) return;  // armed with the next call: what fills the queue ends this one
  io_uring_prep_poll_add(entry, wake_.get(), POLLIN);
  io_uring_sqe_set_data(entry, this);
  wake_armed_ = true;
}

void KernelRing::collect() {
  unsigned head = 0;
  unsigned taken = 0;
  io_uring_cqe* entry = nullptr;
  io_uring_for_each_cqe(&ring_, head, entry) {
    ++taken;
    void* tag = io_uring_cqe_get_data(entry);
    if (tag == this) {
      wake_armed_ = false;
      std::uint64_t times = 0;
      if (read(wake_.get(), &times, sizeof times) > 0) woken_ = true;
    } else if (tag && entry->user_data != LIBURING_UDATA_TIMEOUT) {
      answers_.push_back({tag, entry->res});
    }
  }
  io_uring_cq_advance(&ring_, taken);
}

void KernelRing::wake() noexcept {
  const std::uint64_t once = 1;
  // Fails only when the counter is full, which wakes as well.
  [[maybe_unused]] const auto written = write(wake_.get(), &once, sizeof once);
}

int KernelRing::set_buffer(int slot, std::byte* memory, std::uint64_t bytes) {
  const iovec segment{memory, bytes};
  const __u64 tag = 0;
  return io_uring_register_buffers_update_tag(&ring_, static_cast<unsigned>(slot), &segment, &tag,
                                              1);
}

int KernelRing::set_file(int slot, int fd) {
  return io_uring_register_files_update(&ring_, static_cast<unsigned>(slot), &fd, 1);
}

}  // namespace spillway::hw_backend
