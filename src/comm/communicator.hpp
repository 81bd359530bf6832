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
  /// Bytes or elements of one message; longer ones are split. MPI counts elements in 31 bits, and
  /// libraries have been seen to count bytes so: this leaves room for elements of 16 bytes.
  std::int64_t largest_message = std::int64_t{1} << 26;
  Watchdog* watchdog = nullptr;  ///< learns of every call, and of ranks that are lost
};

/// The ranks of a run. Collectives are called by all ranks in the same order; each waits until all
/// have come, and begins with a roll call in which rank 0 learns who calls what with how many
/// values. Ranks that differ get an Error (70) that names them, all alike and before any data
/// moves.
///
/// Waiting is polling with short sleeps, so a waiting rank leaves its core to others. A peer that
/// does not come within the deadline is an Error (69) that names the call and the ranks; after it
/// the communicator can only be given up (`MpiEnvironment::abort`).
///
/// Lengths of any size work: what MPI counts in 31 bits is split.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void barrier() = 0;
  /// A barrier without a deadline, for the end of work that may last longer at some ranks than at
  /// others: computing tiles, or what rank 0 alone does on disk.
  virtual void wait_for_all() = 0;
  /// Bytes of rank 0 at every rank; the length is rank 0's.
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;
  /// The bytes of every rank, in order of rank, at rank 0; nothing elsewhere.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;
  /// Element-wise sum, in place. Every rank has the same number of values.
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
  /// The same for values of which all ranks but one have 0: then the sum is exact.
  virtual void all_reduce_sum(std::span<double> values) = 0;
  /// Element-wise maximum, in place. Every rank has the same number of values.
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
};

/// A world of one.
std::unique_ptr<Communicator> make_self_communicator();

/// Text of rank 0 at every rank.
std::string broadcast_text(Communicator& comm, std::string text);

}  // namespace bulksim
