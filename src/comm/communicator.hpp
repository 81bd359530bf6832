#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/run/watchdog.hpp"

namespace bulksim {

struct CommunicatorOptions {
  /// How long a call waits for the other ranks.
  double deadline_seconds = 120.0;
  /// Largest number of bytes or elements per message; longer messages are split. MPI counts
  /// elements in 31 bits, and some libraries count bytes in 31 bits: the default leaves room for
  /// elements of 16 bytes.
  std::int64_t largest_message = std::int64_t{1} << 26;
  Watchdog* watchdog = nullptr;  ///< is notified of every call and of lost ranks; may be null
};

/// The ranks of a run. All ranks call collectives in the same order. Each collective waits for all
/// ranks and begins with a collective check, in which every rank sends its call and number of
/// values to rank 0. Mismatched collectives are the same Error (70) on all ranks, before any data
/// moves.
///
/// A waiting rank polls with short sleeps, so that it does not occupy its core. When a peer does
/// not arrive within the deadline, the call throws Error (69) with the call and the ranks; after
/// that the communicator is unusable, and the run must end (`MpiEnvironment::abort`).
///
/// Messages may have any length: longer ones are split.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void barrier() = 0;
  /// A barrier without a deadline, after work that may take longer on some ranks than on others:
  /// computing tiles, or file operations of rank 0.
  virtual void wait_for_all() = 0;
  /// Sends the bytes of rank 0 to every rank; the length is that of rank 0.
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;
  /// Returns the bytes of every rank, in order of rank, on rank 0; an empty list on the others.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;
  /// Sends to every rank the bytes in its place of the list, one per rank; returns what the ranks
  /// sent to this one, in order of rank.
  virtual std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& bytes) = 0;
  /// Element-wise sum, in place. Every rank has the same number of values.
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
  /// The same for values that are nonzero on at most one rank, so that the sum is exact.
  virtual void all_reduce_sum(std::span<double> values) = 0;
  /// Element-wise maximum, in place. Every rank has the same number of values.
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
};

/// A communicator with a single rank.
std::unique_ptr<Communicator> make_self_communicator();

/// Returns the text of rank 0 on every rank.
std::string broadcast_text(Communicator& comm, std::string text);

}  // namespace bulksim
