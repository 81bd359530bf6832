#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bulksim {

/// The ranks of a run. Collectives are called by all ranks in the same order. They are polled with
/// a short sleep, so a waiting rank leaves its core to others, and they end with an Error (69) that
/// names the call when a peer does not answer within the deadline.
///
/// Lengths of any size work: what MPI counts in 32 bits is split.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void barrier() = 0;
  /// Bytes of rank 0 at every rank; the length is rank 0's.
  virtual void broadcast(std::vector<std::byte>& bytes) = 0;
  /// The bytes of every rank, in order of rank, at rank 0; nothing elsewhere.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;
  /// Element-wise sum, in place. Every rank has the same number of values.
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
  /// Element-wise maximum, in place.
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
};

/// A world of one.
std::unique_ptr<Communicator> make_self_communicator();

/// Text of rank 0 at every rank.
std::string broadcast_text(Communicator& comm, std::string text);

}  // namespace bulksim
